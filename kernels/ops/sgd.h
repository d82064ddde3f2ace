// A step of stochastic gradient descent with weight decay, as MXNet's sgd_update has it (there
// weights and biases decay alike):
//
//   w[i] = (1 - learning_rate * weight_decay) w[i] - learning_rate * rescale * gradient[i]
//
// `rescale` is 1 / batch where gradients are sums over a batch. gradient must not overlap w.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct SgdCall {
  std::size_t count = 0;
  float learning_rate = 0, weight_decay = 0, rescale = 1;
  const float* gradient = nullptr;
  float* w = nullptr;
  ThreadTeam* team = nullptr;

  [[nodiscard]] float keep() const { return 1 - learning_rate * weight_decay; }
  [[nodiscard]] float rate() const { return learning_rate * rescale; }
};

void sgd_reference(const SgdCall& call);
void sgd_simd(const SgdCall& call);

}  // namespace hwprof
