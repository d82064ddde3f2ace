// Every variant of every operation against double precision, over sizes that are wrong for any
// vector width and register block, on every instruction set that this CPU has.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>

#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/simd.h"
#include "tests/kernel_data.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

// Documents of `lengths` rows, all inputs guarded by NaN.
struct Conv1dCase {
  Conv1dCase(Conv1dShape shape, const std::vector<std::size_t>& lengths, std::size_t misalignment)
      : shape(shape), row_start{0} {
    for (const std::size_t length : lengths) row_start.push_back(row_start.back() + length);
    longest = *std::max_element(lengths.begin(), lengths.end());
    std::mt19937 random(42);
    x = GuardedFloats::random(row_start.back() * shape.d_e, random, misalignment);
    w = GuardedFloats::random(shape.d_c * shape.k * shape.d_e, random, misalignment + 1);
    bias = GuardedFloats::random(shape.d_c, random, misalignment + 2);
    positions = row_start.back() - lengths.size() * (shape.k - 1);
  }

  // Largest error over all documents; the guards of h must have survived.
  double run(const Conv1dVariant& variant, ThreadTeam& team) {
    GuardedFloats h(positions * shape.d_c, 3);
    GuardedFloats packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    GuardedFloats scratch(
        variant.scratch_floats == nullptr ? 0 : variant.scratch_floats(shape, longest));
    if (variant.pack != nullptr) variant.pack(shape, w.data(), packed.data());
    const Conv1dCall call{.shape = shape,
                          .row_start = row_start,
                          .x = x.data(),
                          .w = w.data(),
                          .packed = packed.data(),
                          .bias = bias.data(),
                          .h = h.data(),
                          .scratch = scratch.data(),
                          .blas = blas(),
                          .team = &team};
    variant.run(call);
    EXPECT_TRUE(h.guards_intact() && packed.guards_intact() && scratch.guards_intact())
        << variant.name << " wrote beyond its output";
    double error = 0;
    for (std::size_t b = 0; b + 1 < row_start.size(); ++b) {
      error = std::max(error, max_relative_error(conv1d_expected(call, b), call.output(b)));
    }
    return error;
  }

  Conv1dShape shape;
  std::vector<std::size_t> row_start;
  std::size_t longest = 0, positions = 0;
  GuardedFloats x{0}, w{0}, bias{0};
};

void expect_all_variants(Conv1dCase& problem, ThreadTeam& team) {
  const auto& shape = problem.shape;
  for (const Conv1dVariant& variant : conv1d_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    EXPECT_LE(problem.run(variant, team), tolerance(shape.k * shape.d_e + 1))
        << variant.name << " k=" << shape.k << " d_e=" << shape.d_e << " d_c=" << shape.d_c
        << " documents=" << problem.row_start.size() - 1 << " " << simd_target();
  }
}

TEST(Kernels, TheTestMachineHasABlas) {
  ASSERT_NE(blas(), nullptr) << "scripts/setup installs libopenblas0-pthread";
}

TEST(Conv1d, EveryVariantIsRightForEverySmallSize) {
  ThreadTeam team(1, {});
  for (std::size_t size = 1; size <= 70; ++size) {
    // Sizes run against each other, so that all remainders meet.
    const std::size_t k = 1 + size % 5, d_e = 1 + (size * 7) % 41, d_c = size;
    Conv1dCase problem({k, d_e, d_c}, {k, k + size % 29, k + 26}, size);
    expect_all_variants(problem, team);
  }
}

TEST(Conv1d, SimdIsRightOnEveryInstructionSetOfThisCpu) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    SCOPED_TRACE(simd_target());
    for (std::size_t size = 1; size <= 70; size += 3) {
      const std::size_t k = 1 + size % 4;
      Conv1dCase problem({k, 1 + size % 11, size}, {k, k + 1, k + size % 40}, size);
      EXPECT_LE(problem.run(conv1d_variants()[1], team), tolerance(k * problem.shape.d_e + 1))
          << "d_c=" << size;
    }
  }
}

TEST(Conv1d, TwoHundredDocumentsOfDifferentLengthOnTwoThreads) {
  ThreadTeam team(2, {});
  std::vector<std::size_t> lengths(200);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = 3 + (i * 37) % 53;
  Conv1dCase problem({3, 20, 33}, lengths, 1);
  expect_all_variants(problem, team);
}

TEST(Conv1d, TheSizesOfTheTextCnn) {
  ThreadTeam team(1, {});
  for (const std::size_t k : {2, 4, 8}) {
    Conv1dCase problem({k, 300, 128}, {124}, 0);
    expect_all_variants(problem, team);
  }
}

TEST(Conv1d, ANanInReachGivesNanAndNowhereElse) {
  ThreadTeam team(1, {});
  for (const Conv1dVariant& variant : conv1d_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    Conv1dCase problem({2, 5, 7}, {9, 4}, 0);
    problem.x[3 * 5 + 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_LE(problem.run(variant, team), tolerance(11)) << variant.name;
  }
}

TEST(Conv1d, TheCheckSeesOneWrongElement) {
  ThreadTeam team(1, {});
  Conv1dCase problem({2, 30, 8}, {10}, 0);
  std::vector<float> h(problem.positions * 8);
  Conv1dCall call{.shape = problem.shape,
                  .row_start = problem.row_start,
                  .x = problem.x.data(),
                  .w = problem.w.data(),
                  .bias = problem.bias.data(),
                  .h = h.data(),
                  .team = &team};
  conv1d_reference(call);
  const Expected expected = conv1d_expected(call, 0);
  ASSERT_LE(max_relative_error(expected, h.data()), tolerance(61));
  h[17] += 1e-3f;
  EXPECT_GT(max_relative_error(expected, h.data()), tolerance(61));
  h[17] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(max_relative_error(expected, h.data()), std::numeric_limits<double>::infinity());
}

struct MaxpoolCase {
  MaxpoolCase(std::size_t d_c, const std::vector<std::size_t>& lengths) : d_c(d_c), start{0} {
    for (const std::size_t length : lengths) start.push_back(start.back() + length);
    std::mt19937 random(7);
    h = GuardedFloats::random(start.back() * d_c, random, 5);
  }

  double run(const MaxpoolVariant& variant, ThreadTeam& team) {
    const std::size_t stride = d_c + 3, documents = start.size() - 1;
    GuardedFloats g(documents * stride, 1);
    const MaxpoolCall call{.d_c = d_c,
                           .start = start,
                           .h = h.data(),
                           .g = g.data(),
                           .g_stride = stride,
                           .team = &team};
    variant.run(call);
    EXPECT_TRUE(g.guards_intact());
    double error = 0;
    for (std::size_t b = 0; b < documents; ++b) {
      error = std::max(error, max_relative_error(maxpool_expected(call, b), call.g + b * stride));
      for (std::size_t j = d_c; j < stride; ++j) {
        EXPECT_TRUE(std::isnan(g[b * stride + j])) << "wrote into the gap between rows";
      }
    }
    return error;
  }

  std::size_t d_c;
  std::vector<std::size_t> start;
  GuardedFloats h{0};
};

TEST(Maxpool, EveryVariantIsExactForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t d_c = 1; d_c <= 70; ++d_c) {
      MaxpoolCase problem(d_c, {1, 2, 3, 17, 1 + d_c % 30});
      for (const MaxpoolVariant& variant : maxpool_variants()) {
        EXPECT_EQ(problem.run(variant, team), 0) << variant.name << " d_c=" << d_c;
      }
    }
  }
}

TEST(Maxpool, ANanAnywhereInTheWindowGivesNan) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const std::size_t where : {0, 5, 9}) {
      MaxpoolCase problem(67, {10});
      for (std::size_t j = 0; j < 67; ++j) {
        problem.h[where * 67 + j] = std::numeric_limits<float>::quiet_NaN();
      }
      for (const MaxpoolVariant& variant : maxpool_variants()) {
        EXPECT_EQ(problem.run(variant, team), 0) << variant.name << " at " << where;
      }
    }
  }
}

double run_linear(const LinearVariant& variant, LinearShape shape, std::size_t documents,
                  ThreadTeam& team) {
  std::mt19937 random(3);
  GuardedFloats g = GuardedFloats::random(documents * shape.inputs, random, 1);
  GuardedFloats a = GuardedFloats::random(shape.outputs * shape.inputs, random, 2);
  GuardedFloats c = GuardedFloats::random(shape.outputs, random, 3);
  GuardedFloats z(documents * shape.outputs, 4);
  GuardedFloats packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
  if (variant.pack != nullptr) variant.pack(shape, a.data(), packed.data());
  const LinearCall call{.shape = shape,
                        .documents = documents,
                        .g = g.data(),
                        .a = a.data(),
                        .packed = packed.data(),
                        .c = c.data(),
                        .z = z.data(),
                        .blas = blas(),
                        .team = &team};
  variant.run(call);
  EXPECT_TRUE(z.guards_intact() && packed.guards_intact());
  double error = 0;
  for (std::size_t b = 0; b < documents; ++b) {
    error =
        std::max(error, max_relative_error(linear_expected(call, b), call.z + b * shape.outputs));
  }
  return error;
}

TEST(Linear, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t size = 1; size <= 70; ++size) {
      const LinearShape shape{1 + (size * 13) % 67, size};
      for (const LinearVariant& variant : linear_variants()) {
        if (variant.needs_blas && blas() == nullptr) continue;
        EXPECT_LE(run_linear(variant, shape, 1 + size % 31, team), tolerance(shape.inputs + 1))
            << variant.name << " inputs=" << shape.inputs << " outputs=" << size;
      }
    }
  }
}

TEST(Linear, OneDocumentAndTwoHundred) {
  ThreadTeam team(2, {});
  for (const std::size_t documents : {1, 200}) {
    for (const LinearVariant& variant : linear_variants()) {
      if (variant.needs_blas && blas() == nullptr) continue;
      EXPECT_LE(run_linear(variant, {128, 103}, documents, team), tolerance(129)) << variant.name;
    }
  }
}

TEST(Registry, TheReferenceComesFirstAndNamesAreUnique) {
  EXPECT_EQ(conv1d_variants().front().name, kReferenceName);
  EXPECT_EQ(maxpool_variants().front().name, kReferenceName);
  EXPECT_EQ(linear_variants().front().name, kReferenceName);
  EXPECT_EQ(conv1d_maxpool_variants().front().name, kReferenceName);
  EXPECT_EQ(conv2d_variants().front().name, kReferenceName);
  EXPECT_EQ(conv2d_bn_relu_variants().front().name, kReferenceName);
  const std::vector<std::string_view> names = variant_names();
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"reference", "simd", "blas-im2col", "blas-shifted",
                                           "fused", "blas-gemm", "blas-gemv"}));
}

}  // namespace
}  // namespace hwprof
