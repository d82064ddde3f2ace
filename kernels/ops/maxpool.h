// Max pooling over time: g[b, j] = max over the positions p of document b of h[p, j].
//
//   h: [positions, d_c]  float32, row-major; document b is rows start[b] .. start[b+1], at least 1
//   g: [documents, g_stride >= d_c]  row-major: filters of several widths write side by side
//
// A NaN in the window gives NaN, as PyTorch's max_pool1d does. h and g must not overlap.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/thread_team.h"

namespace hwprof {

struct MaxpoolCall {
  std::size_t d_c = 0;
  std::span<const std::size_t> start;  // documents + 1
  const float* h = nullptr;
  float* g = nullptr;
  std::size_t g_stride = 0;
  ThreadTeam* team = nullptr;

  [[nodiscard]] std::size_t documents() const { return start.size() - 1; }
  [[nodiscard]] std::size_t positions_before(std::size_t b) const { return start[b]; }
  [[nodiscard]] float* output(std::size_t b) const { return g + b * g_stride; }
};

void maxpool_reference(const MaxpoolCall& call);
void maxpool_simd(const MaxpoolCall& call);

}  // namespace hwprof
