// What training adds to the forward pass: every variant against double precision, on every
// instruction set of this CPU.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kernels/blas_library.h"
#include "kernels/check.h"
#include "kernels/ops/classifier.h"
#include "kernels/registry.h"
#include "kernels/thread_team.h"
#include "tests/kernel_data.h"
#include "tests/only_targets.h"

namespace hwprof {
namespace {

const BlasLibrary* blas() {
  static const Result<BlasLibrary> library = BlasLibrary::load("");
  return library ? &*library : nullptr;
}

void expect_gradients(const LinearShape& shape, std::size_t documents, ThreadTeam& team) {
  const auto [inputs, outputs] = shape;
  std::mt19937 random(3);
  const GuardedFloats g = GuardedFloats::random(documents * inputs, random, inputs);
  const GuardedFloats a = GuardedFloats::random(outputs * inputs, random, inputs + 1);
  const GuardedFloats dz = GuardedFloats::random(documents * outputs, random, 2);
  const std::string where = std::to_string(inputs) + "->" + std::to_string(outputs) + " batch " +
                            std::to_string(documents) + " " + simd_target() + " ";
  for (const LinearGradWeightsVariant& variant : linear_grad_weights_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    GuardedFloats da(outputs * inputs, 1), dc(outputs, 5);
    const LinearGradWeightsCall call{.shape = shape,
                                     .documents = documents,
                                     .g = g.data(),
                                     .dz = dz.data(),
                                     .da = da.data(),
                                     .dc = dc.data(),
                                     .blas = blas(),
                                     .team = &team};
    variant.run(call);
    EXPECT_TRUE(da.guards_intact() && dc.guards_intact()) << where << variant.name;
    EXPECT_LE(max_relative_error(linear_grad_weights_expected(call), da.data()),
              tolerance(documents))
        << where << variant.name;
    EXPECT_LE(max_relative_error(linear_grad_bias_expected(call), dc.data()), tolerance(documents))
        << where << variant.name;
  }
  for (const LinearGradInputVariant& variant : linear_grad_input_variants()) {
    if (variant.needs_blas && blas() == nullptr) continue;
    GuardedFloats dg(documents * inputs, 9);
    const LinearGradInputCall call{.shape = shape,
                                   .documents = documents,
                                   .a = a.data(),
                                   .dz = dz.data(),
                                   .dg = dg.data(),
                                   .blas = blas(),
                                   .team = &team};
    variant.run(call);
    EXPECT_TRUE(dg.guards_intact()) << where << variant.name;
    EXPECT_LE(max_relative_error(linear_grad_input_expected(call), dg.data()), tolerance(outputs))
        << where << variant.name;
  }
}

TEST(LinearBackward, EveryVariantIsRightForEverySmallSizeOnEveryInstructionSet) {
  ThreadTeam team(1, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t size = 1; size <= 70; ++size) {
      expect_gradients({size, 1 + size % 17}, 1 + size % 5, team);
      expect_gradients({1 + size % 37, size}, 1 + size * 5 % 29, team);
    }
  }
}

TEST(LinearBackward, TheLayersOfTheMlpOnAnyNumberOfThreads) {
  for (const std::size_t threads : {1, 2, 3}) {
    ThreadTeam team(threads, {});
    expect_gradients({784, 128}, 100, team);
    expect_gradients({128, 64}, 100, team);
    expect_gradients({64, 10}, 100, team);
    expect_gradients({5, 1}, 1, team);
  }
}

TEST(ReluBackward, IsExactForEverySmallSizeAlsoInPlace) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t count = 1; count <= 70; ++count) {
      std::mt19937 random(5);
      GuardedFloats y = GuardedFloats::random(count, random, count);
      const GuardedFloats dy = GuardedFloats::random(count, random, 1);
      y[count / 2] = 0;
      for (const ReluBackwardVariant& variant : relu_backward_variants()) {
        GuardedFloats dx = dy;
        variant.run(
            {.count = count, .y = y.data(), .dy = dx.data(), .dx = dx.data(), .team = &team});
        EXPECT_TRUE(dx.guards_intact());
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_EQ(dx[i], y[i] > 0 ? dy.data()[i] : 0) << variant.name << " " << simd_target();
        }
      }
    }
  }
}

TEST(Sgd, DecaysTheWeightAndFollowsTheScaledGradient) {
  ThreadTeam team(2, {});
  for (const std::int64_t target : single_targets()) {
    const OnlyTargets only(target);
    for (std::size_t count = 1; count <= 70; ++count) {
      std::mt19937 random(5);
      const GuardedFloats w = GuardedFloats::random(count, random, count);
      const GuardedFloats gradient = GuardedFloats::random(count, random, 1);
      for (const SgdVariant& variant : sgd_variants()) {
        GuardedFloats next = w;
        variant.run({.count = count,
                     .learning_rate = 0.1f,
                     .weight_decay = 0.01f,
                     .rescale = 0.25f,
                     .gradient = gradient.data(),
                     .w = next.data(),
                     .team = &team});
        EXPECT_TRUE(next.guards_intact());
        for (std::size_t i = 0; i < count; ++i) {
          const double old = static_cast<double>(w.data()[i]);
          const double slope = 0.25 * static_cast<double>(gradient.data()[i]);
          EXPECT_NEAR(static_cast<double>(next[i]), old - 0.1 * (slope + 0.01 * old), 1e-6)
              << variant.name;
        }
      }
    }
  }
}

TEST(CrossEntropy, IsTheLogarithmOfTheLabelsProbabilityAndItsGradientSumsToZero) {
  const float p[] = {0.5f, 0.25f, 0.25f, 0.125f, 0.75f, 0.125f};
  const std::uint8_t labels[] = {0, 2};
  float dz[6];
  const double loss =
      cross_entropy_backward({.rows = 2, .columns = 3, .p = p, .labels = labels, .dz = dz});
  EXPECT_DOUBLE_EQ(loss, std::log(2.0) + std::log(8.0));
  const float expected[] = {-0.5f, 0.25f, 0.25f, 0.125f, 0.75f, -0.875f};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(dz[i], expected[i]);
}

}  // namespace
}  // namespace hwprof
