// conv1d + bias + ReLU + max pooling over time in one pass: the two operations of conv1d.h and
// maxpool.h without the feature map between them.
//
//   g[b, j] = max over n of relu(bias[j] + sum_{i<k, d<d_e} w[j, i, d] x[n + i, d])
//
//   x: [rows, d_e]                    float32, row-major; document b is rows row_start[b] ..
//                                     row_start[b+1], each at least k long
//   w: [d_c, k, d_e]                  float32, row-major
//   g: [documents, g_stride >= d_c]   row-major: filters of several widths write side by side
//
// No argument may alias g. Nothing needs alignment (packed weights on a 64-byte boundary are
// faster). A NaN at any position gives NaN, as PyTorch's relu and max_pool1d do.
#pragma once

#include <cstddef>
#include <span>

#include "kernels/conv1d.h"
#include "kernels/thread_team.h"

namespace hwprof {

struct Conv1dMaxpoolCall {
  Conv1dShape shape;
  std::span<const std::size_t> row_start;  // documents + 1
  const float* x = nullptr;
  const float* w = nullptr;       // as above
  const float* packed = nullptr;  // what the variant's pack() made of w; unused if it has none
  const float* bias = nullptr;    // [d_c]
  float* g = nullptr;
  std::size_t g_stride = 0;
  ThreadTeam* team = nullptr;

  [[nodiscard]] std::size_t documents() const { return row_start.size() - 1; }
  [[nodiscard]] std::size_t positions(std::size_t b) const {
    return row_start[b + 1] - row_start[b] - shape.k + 1;
  }
  [[nodiscard]] const float* document(std::size_t b) const { return x + row_start[b] * shape.d_e; }
};

void conv1d_maxpool_reference(const Conv1dMaxpoolCall& call);
// Packed by conv1d_simd_pack(). Splits the work over documents and filters.
void conv1d_maxpool_fused(const Conv1dMaxpoolCall& call);

}  // namespace hwprof
