// Gradient of y = relu(x): dx[i] = dy[i] where y[i] > 0, else 0 (at 0 as PyTorch has it). By y, not
// x: a network may run relu in place. dx may be dy, and must not overlap either otherwise.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct ReluBackwardCall {
  std::size_t count = 0;
  const float* y = nullptr;
  const float* dy = nullptr;
  float* dx = nullptr;
  ThreadTeam* team = nullptr;
};

void relu_backward_reference(const ReluBackwardCall& call);
void relu_backward_simd(const ReluBackwardCall& call);

}  // namespace hwprof
