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

#include "kernels/ops/conv1d.h"

namespace hwprof {

struct Conv1dMaxpoolCall {
  Conv1dInput input;
  float* g = nullptr;
  std::size_t g_stride = 0;

  [[nodiscard]] float* output(std::size_t b) const { return g + b * g_stride; }
};

void conv1d_maxpool_reference(const Conv1dMaxpoolCall& call);
// Packed by conv1d_simd_pack(). Splits the work over documents and filters.
void conv1d_maxpool_fused(const Conv1dMaxpoolCall& call);

}  // namespace hwprof
