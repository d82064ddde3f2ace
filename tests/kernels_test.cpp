// Every variant of every operation against double precision, over sizes that are wrong for any
// vector width and register block, on every instruction set that this CPU has.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <string>

#include "kernels/blas_library.h"
#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "tests/conv1d_data.h"
#include "tests/kernel_data.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

// Largest error over all documents; the guards of what is written must have survived.
double run_conv1d(const Conv1dVariant& variant, const Conv1dData& data, ThreadTeam& team) {
  GuardedFloats h(data.positions() * data.shape.d_c, 3);
  GuardedFloats scratch(
      variant.scratch_floats == nullptr ? 0 : variant.scratch_floats(data.shape, data.longest));
  const GuardedFloats packed = data.packed_for(variant);
  const Conv1dCall call{
      .input = data.input(packed, team), .h = h.data(), .scratch = scratch.data(), .blas = blas()};
  variant.run(call);
  EXPECT_TRUE(h.guards_intact() && packed.guards_intact() && scratch.guards_intact())
      << variant.name << " wrote beyond its output";
  double error = 0;
  for (std::size_t b = 0; b < data.documents(); ++b) {
    error = std::max(error, max_relative_error(conv1d_expected(call.input, b), call.output(b)));
  }
  return error;
}

void expect_all_variants(const Conv1dData& problem, ThreadTeam& team) {
  const auto& shape = problem.shape;
  for (const Conv1dVariant& variant : conv1d_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    EXPECT_LE(run_conv1d(variant, problem, team), tolerance(shape.k * shape.d_e + 1))
        << variant.name << " k=" << shape.k << " d_e=" << shape.d_e << " d_c=" << shape.d_c
        << " documents=" << problem.documents() << " " << simd_target();
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
    Conv1dData problem({k, d_e, d_c}, {k, k + size % 29, k + 26}, size);
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
      Conv1dData problem({k, 1 + size % 11, size}, {k, k + 1, k + size % 40}, size);
      EXPECT_LE(run_conv1d(conv1d_variants()[1], problem, team),
                tolerance(k * problem.shape.d_e + 1))
          << "d_c=" << size;
    }
  }
}

TEST(Conv1d, EveryNumberOfPositionsOfFewFilters) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    SCOPED_TRACE(simd_target());
    for (std::size_t filters = 1; filters <= 18; ++filters) {
      for (std::size_t positions = 1; positions <= 26; ++positions) {
        Conv1dData problem({2, 19, filters}, {positions + 1}, positions);
        EXPECT_LE(run_conv1d(conv1d_variants()[1], problem, team), tolerance(39))
            << filters << " filters, " << positions << " positions";
      }
    }
  }
}

// Windows share what they load of x where filters are few and words long enough; the documents have
// every number of positions up to two blocks.
TEST(Conv1d, EveryWindowOfFewFilters) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    SCOPED_TRACE(simd_target());
    for (std::size_t k = 1; k <= 9; ++k) {
      std::vector<std::size_t> lengths(21);
      std::iota(lengths.begin(), lengths.end(), k);
      for (const std::size_t d_e : {1, 15, 16, 17, 62, 300}) {
        for (std::size_t filters = 1; filters <= 5; ++filters) {
          Conv1dData problem({k, d_e, filters}, lengths, k + d_e);
          EXPECT_LE(run_conv1d(conv1d_variants()[1], problem, team), tolerance(k * d_e + 1))
              << filters << " filters, k " << k << ", words of " << d_e;
        }
      }
    }
  }
}

TEST(Conv1d, TwoHundredDocumentsOfDifferentLengthOnTwoThreads) {
  ThreadTeam team(2, {});
  std::vector<std::size_t> lengths(200);
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = 3 + (i * 37) % 53;
  Conv1dData problem({3, 20, 33}, lengths, 1);
  expect_all_variants(problem, team);
}

TEST(Conv1d, DocumentsOfOnePositionAmongOthers) {
  ThreadTeam team(2, {});
  std::vector<std::size_t> lengths(40, 3);
  for (const std::size_t longer : {2, 3, 17, 39}) lengths[longer] += longer;
  for (const std::size_t d_c : {1, 5, 33, 150}) {
    expect_all_variants(Conv1dData({3, 62, d_c}, lengths, 1), team);
  }
}

TEST(Conv1d, TheSizesOfTheTextCnn) {
  ThreadTeam team(1, {});
  for (const std::size_t k : {2, 4, 8}) {
    Conv1dData problem({k, 300, 128}, {124}, 0);
    expect_all_variants(problem, team);
  }
}

TEST(Conv1d, ANanInReachGivesNanAndNowhereElse) {
  ThreadTeam team(1, {});
  for (const Conv1dVariant& variant : conv1d_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    Conv1dData problem({2, 5, 7}, {9, 4}, 0);
    problem.x[3 * 5 + 1] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_LE(run_conv1d(variant, problem, team), tolerance(11)) << variant.name;
  }
}

TEST(Conv1d, TheCheckSeesOneWrongElement) {
  ThreadTeam team(1, {});
  Conv1dData problem({2, 30, 8}, {10}, 0);
  std::vector<float> h(problem.positions() * 8);
  const GuardedFloats not_packed(0);
  const Conv1dCall call{.input = problem.input(not_packed, team), .h = h.data()};
  conv1d_reference(call);
  const Expected expected = conv1d_expected(call.input, 0);
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
      error = std::max(error, max_relative_error(maxpool_expected(call, b), call.output(b)));
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
