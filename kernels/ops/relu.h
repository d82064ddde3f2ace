// y[i] = max(x[i], 0), NaN for NaN. y may be x, and must not overlap it otherwise.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct ReluCall {
  std::size_t count = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void relu_reference(const ReluCall& call);
void relu_simd(const ReluCall& call);

}  // namespace hwprof
