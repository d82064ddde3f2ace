#include "src/measure/exact_excess.h"

#include <gtest/gtest.h>

#include "kernels/complexity.h"

namespace hwprof {
namespace {

model::ExactCount executed(const model::ExactOperations& operations) {
  model::ExactCount count;
  count.operations = operations;
  for (const auto& [name, lanes] : operations) {
    if (name != "compare" && name != "round") count.flops += lanes * (name == "fma" ? 2 : 1);
  }
  return count;
}

const Cost kProduct{.flops = 2000, .multiplications = 1000, .additions = 1000};

TEST(ExactExcess, WhatTheModelHasNeedsNoWords) {
  EXPECT_TRUE(exact_excess(kProduct, executed({{"fma", 1000}, {"compare", 70}}), false).empty());
  EXPECT_TRUE(exact_excess(kProduct, executed({{"multiply", 1000}, {"add", 1000}}), true).empty())
      << "without fused ones, too";
}

TEST(ExactExcess, LanesBeyondTheShapeAndSumsOfLanesAreTold) {
  const auto told = exact_excess(kProduct, executed({{"fma", 1024}, {"add", 8}}), false);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(
      told[0],
      "24 multiply-adds, 8 additions more than the model has: lanes or taps beyond the shape; "
      "partial sums, also those of the lanes of a vector");
}

TEST(ExactExcess, ABlasScalesAndAddsPanels) {
  const auto told =
      exact_excess(kProduct, executed({{"fma", 1000}, {"multiply", 30}, {"add", 15}}), true);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(
      told[0].starts_with("30 multiplications, 15 additions more than the model has: alpha, beta"));
}

TEST(ExactExcess, WhatIsLeftOutIsToldToo) {
  const auto told = exact_excess(kProduct, executed({{"fma", 900}}), false);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0], "100 multiplications, 100 additions fewer than the model has");
}

// All models say how their FLOP divide up: else the sentences would not add up to the difference.
TEST(ExactExcess, AnExponentialIsAPolynomial) {
  const Cost softmax = softmax_cost(2, 10);
  EXPECT_EQ(softmax.flops - softmax.multiplications - softmax.additions, 20);
  const auto told = exact_excess(
      softmax, executed({{"fma", 120}, {"multiply", 20}, {"add", 40}, {"divide", 2}}), false);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_TRUE(
      told[0].starts_with("100 multiply-adds, 20 multiplications, 20 additions, 2 divisions "
                          "more than the model has: exponentials are polynomials"));
  EXPECT_EQ(told[1], "20 exponentials fewer than the model has");
}

TEST(ExactExcess, EveryModelDividesItsFlopUp) {
  for (const Cost& cost :
       {conv1d_cost(2, 300, 128, 124, 123), conv1d_maxpool_cost(2, 300, 128, 124, 123, 1),
        linear_cost(128, 103, 64, 1), maxpool_cost(8, 9, 1), conv2d_cost({32, 32, 16, 32, 3, 2}, 1),
        conv2d_bn_relu_cost({32, 32, 16, 32, 3, 2}, 1, true, true), batchnorm_cost(9, 4),
        relu_cost(7), add_cost(7), average_pool_cost(1, 64, 4), linear_grad_weights_cost(8, 4, 2),
        linear_grad_input_cost(8, 4, 2), relu_backward_cost(5), cross_entropy_cost(4, 3),
        sgd_cost(9)}) {
    EXPECT_EQ(cost.flops, cost.multiplications + cost.additions);
  }
}

}  // namespace
}  // namespace hwprof
