#include "kernels/complexity.h"

#include <gtest/gtest.h>

namespace hwprof {
namespace {

// One document of 124 words in the course's setting: k=2, d_e=300, d_c=128, l=103.
TEST(Complexity, ConvolutionCountsTwoFlopAMultiplyAddAndNoneABias) {
  const Cost cost = conv1d_cost(2, 300, 128, 124, 123);
  EXPECT_EQ(cost.cost_units, 2.0 * 300 * 128 * 123);
  EXPECT_EQ(cost.flops, 2 * 2.0 * 300 * 128 * 123);
  EXPECT_EQ(cost.comparisons, 128.0 * 123);
  EXPECT_EQ(cost.bytes, 4.0 * (124 * 300 + 2 * 300 * 128 + 128 + 123 * 128));
}

TEST(Complexity, PoolingIsComparisonsAndNeverFlop) {
  const Cost cost = maxpool_cost(128, 123, 1);
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.comparisons, 128.0 * 123);
  EXPECT_EQ(cost.cost_units, 128.0 * 123);
  EXPECT_EQ(cost.bytes, 4.0 * (128 * 123 + 128));
}

TEST(Complexity, FusingKeepsTheWorkAndDropsTheFeatureMap) {
  const Cost conv1d = conv1d_cost(2, 300, 128, 124, 123), maxpool = maxpool_cost(128, 123, 1);
  const Cost fused = conv1d_maxpool_cost(2, 300, 128, 124, 123, 1);
  EXPECT_EQ(fused.flops, conv1d.flops);
  EXPECT_EQ(fused.comparisons, conv1d.comparisons + maxpool.comparisons);
  EXPECT_EQ(fused.cost_units, conv1d.cost_units + maxpool.cost_units);
  EXPECT_EQ(fused.bytes, 4.0 * (124 * 300 + 2 * 300 * 128 + 128 + 128));
  EXPECT_EQ(fused.working_set_bytes, fused.bytes) << "else every size would fit the first cache";
}

TEST(Complexity, LinearReadsTheWeightsOnceAPass) {
  const Cost batch = linear_cost(128, 103, 64, 1), one_by_one = linear_cost(128, 103, 64, 64);
  EXPECT_EQ(batch.flops, 64.0 * 2 * 128 * 103);
  EXPECT_EQ(batch.cost_units, 64.0 * 128 * 103);
  EXPECT_EQ(batch.bytes, 4.0 * (64 * 128 + 103 * 129 + 64 * 103));
  EXPECT_EQ(one_by_one.flops, batch.flops);
  EXPECT_EQ(one_by_one.working_set_bytes, batch.bytes) << "the same weights, read again";
  EXPECT_EQ(one_by_one.bytes - batch.bytes, 4.0 * 63 * 103 * 129);
}

// ResNet20's second group begins with 16 -> 32 channels at stride 2 on 32 x 32 pixels.
TEST(Complexity, Conv2dCountsTheTapsInsideTheImage) {
  const Conv2dShape shape{32, 32, 16, 32, 3, 2};
  const Cost cost = conv2d_cost(shape, 1);
  // At stride 2 only the first line and the first column lack a tap of three.
  EXPECT_EQ(cost.flops, 2.0 * 47 * 47 * 16 * 32);
  EXPECT_EQ(cost.cost_units, 47.0 * 47 * 16 * 32);
  EXPECT_EQ(cost.bytes, 4.0 * (32 * 32 * 16 + 9 * 16 * 32 + 16 * 16 * 32));
  const Cost fused = conv2d_bn_relu_cost(shape, 1, true, true);
  EXPECT_EQ(fused.flops - cost.flops, 16.0 * 16 * 32) << "the summand; a bias is none";
  EXPECT_EQ(fused.comparisons, 16.0 * 16 * 32);
  EXPECT_EQ(fused.bytes - cost.bytes, 4.0 * (32 + 16 * 16 * 32));
}

TEST(Complexity, Conv2dTapsAreThoseOfTheDefinition) {
  for (const std::size_t height : {1, 2, 5, 8}) {
    for (const std::size_t kernel : {1, 3, 5}) {
      for (const std::size_t stride : {1, 2, 3}) {
        const Conv2dShape shape{height, 6, 3, 4, kernel, stride};
        std::size_t taps = 0;
        for (std::size_t pixel = 0; pixel < shape.out_pixels(); ++pixel) {
          const std::size_t u = pixel / shape.out_width(), v = pixel % shape.out_width();
          for (std::size_t tap = 0; tap < kernel * kernel; ++tap) {
            // Of the padded image.
            const std::size_t line = u * stride + tap / kernel, column = v * stride + tap % kernel;
            taps += line >= shape.padding() && line < height + shape.padding() &&
                            column >= shape.padding() && column < 6 + shape.padding()
                        ? 1
                        : 0;
          }
        }
        EXPECT_EQ(conv2d_cost(shape, 2).flops, 2.0 * 2 * static_cast<double>(taps * 3 * 4))
            << height << " " << kernel << " " << stride;
      }
    }
  }
}

TEST(Complexity, TheLayersAroundTheConvolutions) {
  EXPECT_EQ(batchnorm_cost(64, 16).flops, 2.0 * 64 * 16);
  EXPECT_EQ(relu_cost(100).comparisons, 100);
  EXPECT_EQ(relu_cost(100).flops, 0);
  EXPECT_EQ(add_cost(100).bytes, 1200);
  EXPECT_EQ(average_pool_cost(1, 64, 64).flops, 64.0 * 64 + 64);
  EXPECT_EQ(softmax_cost(2, 10).comparisons, 20);
}

TEST(Complexity, ATrainingStep) {
  EXPECT_EQ(linear_grad_weights_cost(784, 128, 100).flops, 2.0 * 784 * 128 * 100 + 128 * 100);
  EXPECT_EQ(linear_grad_weights_cost(784, 128, 100).bytes, 4.0 * (912 * 100 + 785 * 128));
  EXPECT_EQ(linear_grad_input_cost(784, 128, 100).flops, 2.0 * 784 * 128 * 100);
  EXPECT_EQ(linear_grad_input_cost(784, 128, 100).bytes, 4.0 * (912 * 100 + 784 * 128));
  EXPECT_EQ(relu_backward_cost(100).comparisons, 100);
  EXPECT_EQ(cross_entropy_cost(100, 10).flops, 100);
  EXPECT_EQ(sgd_cost(100).flops, 300);
}

TEST(Complexity, HugeShapesDoNotOverflow) {
  EXPECT_GT(conv1d_cost(1000, 100000, 100000, 1000000, 1000000).flops, 1e19);
}

}  // namespace
}  // namespace hwprof
