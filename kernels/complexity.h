// The complexity model: what an operation has to do, whatever the implementation.
//
// Conventions: 1 multiply-add = 2 FLOP; a bias is what a sum starts with, and no FLOP; ReLU and max
// are comparisons, counted apart and never as FLOP; bytes are compulsory traffic, each input,
// weight and output once, float32. Cost units are those of the course analysis (Kim's text CNN):
// multiply-adds of the convolution k d_e d_c (n-k+1), comparisons of the pooling d_c (n-k+1),
// multiply-adds of the linear layer l d_c; bias and ReLU cost nothing there.
#pragma once

#include <cstddef>

#include "kernels/ops/conv2d.h"
#include "src/model/cost.h"

namespace hwprof {

// `rows` embedded words in, `positions` = sum over documents of (n - k + 1) out.
Cost conv1d_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                 std::size_t positions);
// conv1d and max pooling in one pass: both costs, without the feature map's way to memory and back.
Cost conv1d_maxpool_cost(std::size_t k, std::size_t d_e, std::size_t d_c, std::size_t rows,
                         std::size_t positions, std::size_t documents);
// `positions` rows of d_c in, `documents` rows of d_c out.
Cost maxpool_cost(std::size_t d_c, std::size_t positions, std::size_t documents);
// [documents, inputs] x [outputs, inputs]^T + bias. When a variant multiplies one document at a
// time, the weights are compulsory traffic of every product: `weight_passes` = documents, else 1.
Cost linear_cost(std::size_t inputs, std::size_t outputs, std::size_t documents,
                 std::size_t weight_passes);

// Taps in the padding do not count: no result needs them, and a variant may skip them.
Cost conv2d_cost(const Conv2dShape& shape, std::size_t images);
// With the normalisation folded in (a bias), the second summand if there is one, ReLU.
Cost conv2d_bn_relu_cost(const Conv2dShape& shape, std::size_t images, bool addend, bool relu);
// A multiply and an add an element; the four parameters a channel are read once.
Cost batchnorm_cost(std::size_t pixels, std::size_t channels);
Cost relu_cost(std::size_t count);
Cost add_cost(std::size_t count);
// An add an element, and a multiply an output.
Cost average_pool_cost(std::size_t images, std::size_t pixels, std::size_t channels);
// An element: subtract, exp (counted as one), add, multiply; a comparison for the largest.
Cost softmax_cost(std::size_t rows, std::size_t columns);

// Training. Gradients of the linear layer's weights and bias, and of its input.
Cost linear_grad_weights_cost(std::size_t inputs, std::size_t outputs, std::size_t documents);
Cost linear_grad_input_cost(std::size_t inputs, std::size_t outputs, std::size_t documents);
Cost relu_backward_cost(std::size_t count);
// A subtraction a row.
Cost cross_entropy_cost(std::size_t rows, std::size_t columns);
// Two multiplies and a subtraction a parameter.
Cost sgd_cost(std::size_t count);

}  // namespace hwprof
