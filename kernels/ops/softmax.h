// Softmax of each row: y[r, j] = exp(x[r, j] - m) / sum_i exp(x[r, i] - m), m the largest of the
// row, so that no exponential overflows.
//
//   x, y: [rows, columns]  float32, row-major; y may be x, and must not overlap it otherwise
//
// A row with a NaN or +infinity gives NaN throughout, as in PyTorch.
#pragma once

#include <cstddef>

#include "kernels/thread_team.h"

namespace hwprof {

struct SoftmaxCall {
  std::size_t rows = 0, columns = 0;
  const float* x = nullptr;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void softmax_reference(const SoftmaxCall& call);
void softmax_simd(const SoftmaxCall& call);

}  // namespace hwprof
