// oneDNN's primitives for the same work, prepared once: weights in the layout that it asks for, the
// arguments of the C interface made ready, so that a call is dnnl_primitive_execute and no more.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/ops/conv1d.h"
#include "kernels/ops/conv2d.h"
#include "kernels/ops/linear.h"
#include "src/base/result.h"
#include "src/workloads/networks/layer_net.h"
#include "src/workloads/operations/operation.h"

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
// A conv2d-bn-relu of one image: the normalisation folded into the weights, ReLU as a post-op.
Result<OnednnWork> onednn_conv2d(const Sizes& sizes, const LayerMemory& memory);
// A network in its fused form, of one image; `memory` as LayerNet::create() filled it. Activations
// between the primitives lie as nhwc: with nChw16c it was 7 times slower (2.6.3, AVX-512). Sums and
// ReLU are post-ops.
Result<OnednnWork> onednn_network(const LayerNet& net, std::span<const float> input,
                                  const std::deque<LayerMemory>& memory);

// Of a conv2d or conv2d-bn-relu.
Conv2dShape conv2d_shape(const Sizes& sizes);

}  // namespace hwprof::bench
