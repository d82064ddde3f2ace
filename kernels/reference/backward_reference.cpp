// What training adds to the forward pass, as the loops of the definitions, as in
// kernels/reference.cpp.
#include <cmath>

#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/linear_backward.h"
#include "kernels/ops/relu_backward.h"
#include "kernels/ops/sgd.h"
#include "kernels/split.h"

namespace hwprof {

void linear_grad_weights_reference(const LinearGradWeightsCall& call) {
  const auto [inputs, outputs] = call.shape;
  for_each_item(call.team, outputs, [&, inputs = inputs, outputs = outputs](std::size_t j) {
    for (std::size_t d = 0; d < inputs; ++d) {
      float sum = 0;
      for (std::size_t b = 0; b < call.documents; ++b) {
        sum += call.dz[b * outputs + j] * call.g[b * inputs + d];
      }
      call.da[j * inputs + d] = sum;
    }
    float sum = 0;
    for (std::size_t b = 0; b < call.documents; ++b) sum += call.dz[b * outputs + j];
    call.dc[j] = sum;
  });
}

void linear_grad_input_reference(const LinearGradInputCall& call) {
  const auto [inputs, outputs] = call.shape;
  for_each_item(call.team, call.documents, [&, inputs = inputs, outputs = outputs](std::size_t b) {
    for (std::size_t d = 0; d < inputs; ++d) {
      float sum = 0;
      for (std::size_t j = 0; j < outputs; ++j) {
        sum += call.dz[b * outputs + j] * call.a[j * inputs + d];
      }
      call.dg[b * inputs + d] = sum;
    }
  });
}

void relu_backward_reference(const ReluBackwardCall& call) {
  for_each_item(call.team, call.count,
                [&](std::size_t i) { call.dx[i] = call.y[i] > 0 ? call.dy[i] : 0; });
}

double cross_entropy_backward(const CrossEntropyCall& call) {
  double loss = 0;
  for (std::size_t r = 0; r < call.rows; ++r) {
    const float* p = call.p + r * call.columns;
    float* dz = call.dz + r * call.columns;
    loss -= std::log(static_cast<double>(p[call.labels[r]]));
    for (std::size_t j = 0; j < call.columns; ++j) dz[j] = p[j] - (j == call.labels[r] ? 1 : 0);
  }
  return loss;
}

void sgd_reference(const SgdCall& call) {
  for_each_item(call.team, call.count, [&](std::size_t i) {
    call.w[i] = call.keep() * call.w[i] - call.rate() * call.gradient[i];
  });
}

}  // namespace hwprof
