// ResNet20's layers: every variant against double precision, on every instruction set of this CPU,
// over sizes whose edges, tails and strides all meet.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "kernels/blas_library.h"
#include "kernels/check.h"
#include "kernels/registry.h"
#include "kernels/simd/simd.h"
#include "kernels/thread_team.h"
#include "tests/kernel_data.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

struct Conv2dCase {
  Conv2dCase(Conv2dShape shape, std::size_t images, std::size_t misalignment)
      : shape(shape), images(images) {
    std::mt19937 random(11);
    const std::size_t outputs = images * shape.out_pixels() * shape.c_out;
    x = GuardedFloats::random(images * shape.height * shape.width * shape.c_in, random,
                              misalignment);
    w = GuardedFloats::random(shape.c_out * shape.depth(), random, misalignment + 1);
    addend = GuardedFloats::random(outputs, random, misalignment + 2);
    for (GuardedFloats* channel : {&gamma, &beta, &mean, &variance}) {
      *channel = GuardedFloats::random(shape.c_out, random, 3);
    }
    for (std::size_t j = 0; j < shape.c_out; ++j) variance[j] = std::abs(variance[j]) + 0.1f;
  }

  [[nodiscard]] std::size_t outputs() const { return images * shape.out_pixels() * shape.c_out; }

  double run(const Conv2dVariant& variant, ThreadTeam& team) {
    GuardedFloats y(outputs(), 7);
    GuardedFloats packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    GuardedFloats scratch(variant.scratch_floats == nullptr ? 0 : variant.scratch_floats(shape, 0));
    if (variant.pack != nullptr) variant.pack(shape, w.data(), packed.data());
    const Conv2dCall call{.shape = shape,
                          .images = images,
                          .x = x.data(),
                          .w = w.data(),
                          .packed = packed.data(),
                          .y = y.data(),
                          .scratch = scratch.data(),
                          .blas = blas(),
                          .team = &team};
    variant.run(call);
    EXPECT_TRUE(y.guards_intact() && packed.guards_intact() && scratch.guards_intact());
    return max_relative_error(conv2d_expected(call), y.data());
  }

  double run(const Conv2dBnReluVariant& variant, bool add, bool relu, ThreadTeam& team) {
    GuardedFloats y(outputs(), 9);
    Conv2dBnReluCall call{
        .shape = shape,
        .images = images,
        .x = x.data(),
        .weights = {w.data(), {gamma.data(), beta.data(), mean.data(), variance.data()}},
        .addend = add ? addend.data() : nullptr,
        .relu = relu,
        .y = y.data(),
        .team = &team};
    GuardedFloats packed(variant.pack == nullptr ? 0 : variant.packed_floats(shape));
    if (variant.pack != nullptr) variant.pack(shape, call.weights, packed.data());
    call.packed = packed.data();
    variant.run(call);
    EXPECT_TRUE(y.guards_intact() && packed.guards_intact());
    return max_relative_error(conv2d_bn_relu_expected(call), y.data());
  }

  Conv2dShape shape;
  std::size_t images;
  GuardedFloats x{0}, w{0}, addend{0}, gamma{0}, beta{0}, mean{0}, variance{0};
};

std::string described(const Conv2dShape& s) {
  return std::to_string(s.height) + "x" + std::to_string(s.width) + " " + std::to_string(s.c_in) +
         "->" + std::to_string(s.c_out) + " kernel " + std::to_string(s.kernel) + " stride " +
         std::to_string(s.stride) + " " + simd_target();
}

void expect_all_variants(const Conv2dShape& shape, std::size_t images, ThreadTeam& team) {
  Conv2dCase problem(shape, images, shape.c_out);
  const double bound = tolerance(shape.depth() + 3);
  for (const Conv2dVariant& variant : conv2d_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    EXPECT_LE(problem.run(variant, team), bound) << variant.name << " " << described(shape);
  }
  for (const Conv2dBnReluVariant& variant : conv2d_bn_relu_variants()) {
    for (const bool add : {false, true}) {
      EXPECT_LE(problem.run(variant, add, !add, team), bound)
          << variant.name << " " << described(shape);
      EXPECT_LE(problem.run(variant, add, true, team), bound)
          << variant.name << " " << described(shape);
    }
  }
}

TEST(Conv2d, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t size = 1; size <= 36; ++size) {
      for (const std::size_t kernel : {1, 3, 5}) {
        for (const std::size_t stride : {1, 2}) {
          expect_all_variants({1 + size % 8, 1 + size * 5 % 19, 1 + size % 5, size, kernel, stride},
                              1 + size % 2, team);
        }
      }
    }
  }
}

TEST(Conv2d, TheShapesOfResnet20OnTwoThreads) {
  ThreadTeam team(2, {});
  for (const Conv2dShape& shape :
       {Conv2dShape{32, 32, 3, 16, 3, 1}, Conv2dShape{32, 32, 16, 32, 3, 2},
        Conv2dShape{32, 32, 16, 32, 1, 2}, Conv2dShape{16, 16, 32, 32, 3, 1},
        Conv2dShape{8, 8, 64, 64, 3, 1}}) {
    expect_all_variants(shape, 1, team);
  }
}

TEST(Conv2d, ImagesAndLinesAreSharedOutToAnyNumberOfThreads) {
  for (const std::size_t threads : {2, 3, 7}) {
    ThreadTeam team(threads, {});
    for (const std::size_t images : {1, 2, 5}) {
      expect_all_variants({5, 4, 3, 18, 3, 1}, images, team);
    }
  }
}

TEST(Conv2d, ANanReachesItsNeighboursAndNobodyElse) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const float value : {kNan, kInfinity}) {
      Conv2dCase problem({6, 7, 3, 19, 3, 1}, 1, 0);
      problem.x[(2 * 7 + 3) * 3 + 1] = value;
      for (const Conv2dVariant& variant : conv2d_variants()) {
        if (variant.needs_blas) continue;
        EXPECT_LE(problem.run(variant, team), tolerance(30)) << variant.name;
      }
      for (const Conv2dBnReluVariant& variant : conv2d_bn_relu_variants()) {
        EXPECT_LE(problem.run(variant, true, true, team), tolerance(30)) << variant.name;
      }
    }
  }
}

TEST(Conv2dBnRelu, TheAddendMayBeTheOutput) {
  ThreadTeam team(1, {});
  Conv2dCase problem({4, 5, 3, 20, 3, 1}, 1, 0);
  const Conv2dBnReluVariant& fused = conv2d_bn_relu_variants()[1];
  Conv2dBnReluCall call{.shape = problem.shape,
                        .images = 1,
                        .x = problem.x.data(),
                        .weights = {problem.w.data(),
                                    {problem.gamma.data(), problem.beta.data(), problem.mean.data(),
                                     problem.variance.data()}},
                        .addend = problem.addend.data(),
                        .team = &team};
  const Expected expected = conv2d_bn_relu_expected(call);
  std::vector<float> packed(fused.packed_floats(problem.shape));
  fused.pack(problem.shape, call.weights, packed.data());
  call.packed = packed.data();
  call.y = problem.addend.data();
  fused.run(call);
  EXPECT_LE(max_relative_error(expected, call.y), tolerance(30));
}

TEST(Batchnorm, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t channels = 1; channels <= 40; ++channels) {
      Conv2dCase problem({3, 5, 1, channels, 1, 1}, 1, channels);
      for (const BatchnormVariant& variant : batchnorm_variants()) {
        GuardedFloats y(15 * channels, 1);
        const BatchnormCall call{.pixels = 15,
                                 .channels = channels,
                                 .x = problem.addend.data(),
                                 .bn = {problem.gamma.data(), problem.beta.data(),
                                        problem.mean.data(), problem.variance.data()},
                                 .y = y.data(),
                                 .team = &team};
        variant.run(call);
        EXPECT_TRUE(y.guards_intact());
        EXPECT_LE(max_relative_error(batchnorm_expected(call), y.data()), tolerance(3))
            << variant.name << " channels=" << channels << " " << simd_target();
      }
    }
  }
}

TEST(ReluAndAdd, AreExactForEverySmallSizeAlsoInPlace) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t count = 1; count <= 70; ++count) {
      std::mt19937 random(5);
      GuardedFloats a = GuardedFloats::random(count, random, count);
      const GuardedFloats b = GuardedFloats::random(count, random, 1);
      a[count / 2] = count % 2 == 0 ? kNan : -kInfinity;
      for (std::size_t v = 0; v < relu_variants().size(); ++v) {
        GuardedFloats relu = a, sum = a;
        relu_variants()[v].run({.count = count, .x = relu.data(), .y = relu.data(), .team = &team});
        add_variants()[v].run(
            {.count = count, .a = sum.data(), .b = b.data(), .y = sum.data(), .team = &team});
        EXPECT_TRUE(relu.guards_intact() && sum.guards_intact());
        for (std::size_t i = 0; i < count; ++i) {
          if (std::isnan(a[i])) {
            EXPECT_TRUE(std::isnan(relu[i]) && std::isnan(sum[i])) << simd_target();
          } else {
            EXPECT_EQ(relu[i], std::max(a[i], 0.0f)) << simd_target();
            EXPECT_EQ(sum[i], a[i] + b.data()[i]) << simd_target();
          }
        }
      }
    }
  }
}

TEST(AveragePool, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t channels = 1; channels <= 70; ++channels) {
      std::mt19937 random(5);
      const std::size_t pixels = 1 + channels % 9;
      const GuardedFloats x = GuardedFloats::random(3 * pixels * channels, random, 2);
      for (const AveragePoolVariant& variant : average_pool_variants()) {
        GuardedFloats y(3 * channels, 1);
        const AveragePoolCall call{.images = 3,
                                   .pixels = pixels,
                                   .channels = channels,
                                   .x = x.data(),
                                   .y = y.data(),
                                   .team = &team};
        variant.run(call);
        EXPECT_TRUE(y.guards_intact());
        EXPECT_LE(max_relative_error(average_pool_expected(call), y.data()), tolerance(pixels))
            << variant.name << " channels=" << channels;
      }
    }
  }
}

double softmax_error(const SoftmaxVariant& variant, const GuardedFloats& x, std::size_t rows,
                     std::size_t columns, ThreadTeam& team) {
  GuardedFloats y(rows * columns, 4);
  const SoftmaxCall call{
      .rows = rows, .columns = columns, .x = x.data(), .y = y.data(), .team = &team};
  variant.run(call);
  EXPECT_TRUE(y.guards_intact());
  return max_relative_error(softmax_expected(call), y.data());
}

TEST(Softmax, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t columns = 1; columns <= 70; ++columns) {
      std::mt19937 random(5);
      GuardedFloats x = GuardedFloats::random(3 * columns, random, 2);
      for (std::size_t j = 0; j < columns; ++j) {
        x[columns + j] *= 300;           // most of the row underflows
        x[2 * columns + j] += 1e4f * 3;  // would overflow without the shift
      }
      if (columns > 2) x[1] = -kInfinity;
      for (const SoftmaxVariant& variant : softmax_variants()) {
        EXPECT_LE(softmax_error(variant, x, 3, columns, team), tolerance(columns + 3))
            << variant.name << " columns=" << columns << " " << simd_target();
      }
    }
  }
}

TEST(Softmax, ANanOrInfinityMakesTheRowNanAndNoOther) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (const float value : {kNan, -kNan, kInfinity}) {
      for (const std::size_t where : {0, 3, 20, 22}) {
        std::mt19937 random(5);
        GuardedFloats x = GuardedFloats::random(2 * 23, random, 2);
        x[where] = value;
        for (const SoftmaxVariant& variant : softmax_variants()) {
          std::vector<float> y(2 * 23);
          variant.run({.rows = 2, .columns = 23, .x = x.data(), .y = y.data(), .team = &team});
          for (std::size_t i = 0; i < y.size(); ++i) {
            EXPECT_EQ(std::isnan(y[i]), i < 23) << variant.name << " at " << i << simd_target();
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace hwprof
