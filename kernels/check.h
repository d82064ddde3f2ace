// The operations in double precision, straight from their definitions: what every variant's result
// is held against. Slow; callers check a sample of the documents.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/ops/classifier.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/elementwise.h"
#include "kernels/ops/linear.h"

namespace hwprof {

// One document's result, and for each element the sum of the absolute values of its terms: the
// scale against which rounding errors are judged (a sum that cancels to nearly 0 has a large
// relative error in every order of summation).
struct Expected {
  std::vector<double> value, magnitude;
};

Expected conv1d_expected(const Conv1dInput& input, std::size_t document);  // [positions, d_c]
Expected conv1d_maxpool_expected(const Conv1dInput& input, std::size_t document);  // [d_c]
Expected maxpool_expected(const MaxpoolCall& call, std::size_t document);          // [d_c]
Expected linear_expected(const LinearCall& call, std::size_t document);            // [outputs]

// The layers of ResNet20, the whole batch at once. ReLU and add need no such check: they are exact.
Expected conv2d_expected(const Conv2dCall& call);
Expected conv2d_bn_relu_expected(const Conv2dBnReluCall& call);
Expected batchnorm_expected(const BatchnormCall& call);
Expected average_pool_expected(const AveragePoolCall& call);
Expected softmax_expected(const SoftmaxCall& call);

// Gradients of the linear layer, the whole batch at once.
Expected linear_grad_weights_expected(const LinearGradWeightsCall& call);  // [outputs, inputs]
Expected linear_grad_bias_expected(const LinearGradWeightsCall& call);     // [outputs]
Expected linear_grad_input_expected(const LinearGradInputCall& call);      // [documents, inputs]

// Largest |got - value| / magnitude. Infinite when one side is NaN and the other is not.
double max_relative_error(const Expected& expected, const float* got);

}  // namespace hwprof
