// oneDNN's primitives for the same work, prepared once: weights in the layout that it asks for, the
// arguments of the C interface made ready, so that a call is dnnl_primitive_execute and no more.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/resnet20.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/linear.h"
#include "src/base/result.h"

namespace hwprof::bench {

struct OnednnWork {
  std::function<void()> run;
  std::function<std::vector<float>()> output;  // of the last run, in our layout
};

// "2.6.3"; an error where the build has none.
Result<std::string> onednn_version();

// Convolution with ReLU as a post-op, then its max-pooling primitive. Documents all of one length.
Result<OnednnWork> onednn_conv1d_maxpool(const Conv1dInput& input);
Result<OnednnWork> onednn_linear(const LinearCall& call);
// Batch normalisation folded into the weights, ReLU as a post-op.
Result<OnednnWork> onednn_conv2d(const ConvLayer& layer, const float* x);
// Activations between the primitives lie as nhwc: with nChw16c it was 7 times slower (2.6.3,
// AVX-512). Sums and ReLU are post-ops.
Result<OnednnWork> onednn_resnet20(const Resnet20& net);

}  // namespace hwprof::bench
