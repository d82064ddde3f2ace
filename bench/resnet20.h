// ResNet20 for CIFAR-10 as the layer table of the homework report has it: conv 3->16, three stages
// of three blocks with 16, 32, 64 channels, average pool, linear 64->10. A block is conv bn relu
// conv bn relu; only the two whose stride is 2 add a shortcut, a 1x1 convolution with bn. So 21
// convolutions and 2 adds.
#pragma once

#include <optional>
#include <vector>

#include "kernels/ops/conv2d.h"
#include "kernels/tensor.h"
#include "src/base/result.h"

namespace hwprof::bench {

// A convolution with its batch normalisation, apart and folded into weights and a bias.
struct ConvLayer {
  Conv2dShape shape;
  bool relu = true;
  FloatBuffer w, gamma, beta, mean, variance;  // w: [c_out, kernel, kernel, c_in]
  FloatBuffer folded_w, folded_bias;

  [[nodiscard]] Conv2dWeights weights() const {
    return {w.data(), {gamma.data(), beta.data(), mean.data(), variance.data()}};
  }
  [[nodiscard]] std::size_t outputs() const { return shape.out_pixels() * shape.c_out; }
};

Result<ConvLayer> make_conv_layer(const Conv2dShape& shape, bool relu);

struct Block {
  ConvLayer first, second;            // second.relu: after the add
  std::optional<ConvLayer> shortcut;  // without ReLU
};

struct Resnet20 {
  ConvLayer stem;
  std::vector<Block> blocks;
  FloatBuffer image;               // [32, 32, 3]
  FloatBuffer linear_w, linear_c;  // [10, 64], [10]

  [[nodiscard]] double flops() const;  // convolutions and the linear layer
};

inline constexpr std::size_t kClasses = 10, kFeatures = 64, kLastPixels = 64;

Result<Resnet20> make_resnet20();

}  // namespace hwprof::bench
