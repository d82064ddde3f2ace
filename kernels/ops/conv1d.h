// The layers of Kim's text CNN over words: conv1d, max pooling over time, and both in one pass.
#pragma once

#include <cstddef>
#include <span>

namespace hwprof {

class BlasLibrary;
class ThreadTeam;

// conv1d with bias and ReLU over a batch of documents of different length, valid convolution
// (no padding), as in Kim's text CNN:
//
//   h[p, j] = relu(bias[j] + sum_{i<k, d<d_e} w[j, i, d] x[n + i, d])
//
//   x: [rows, d_e]        float32, row-major; document b is rows row_start[b] .. row_start[b+1],
//                         each at least k long
//   w: [d_c, k, d_e]      float32, row-major
//   h: [positions, d_c]   float32, row-major; document b starts at row_start[b] - b (k - 1)
//
// Rows overlap: position n reads x from n d_e on, k d_e long. BLAS refuses that (lda < K), hence
// its two variants: im2col copies k-fold, shifted adds up k products. A hand-written kernel needs
// neither. No argument may alias h. Nothing needs alignment. A NaN in reach gives NaN, as in
// PyTorch's relu.
struct Conv1dShape {
  std::size_t k = 0, d_e = 0, d_c = 0;
};

// What the convolution reads, whatever becomes of its sums.
struct Conv1dInput {
  Conv1dShape shape;
  std::span<const std::size_t> row_start;  // documents + 1
  const float* x = nullptr;
  const float* w = nullptr;       // as above
  const float* packed = nullptr;  // what the variant's pack() made of w; unused if it has none
  const float* bias = nullptr;    // [d_c]
  ThreadTeam* team = nullptr;     // variants without BLAS split the documents over it

  [[nodiscard]] std::size_t documents() const { return row_start.size() - 1; }
  [[nodiscard]] std::size_t positions_before(std::size_t b) const {
    return row_start[b] - b * (shape.k - 1);
  }
  [[nodiscard]] std::size_t positions(std::size_t b) const {
    return positions_before(b + 1) - positions_before(b);
  }
  [[nodiscard]] const float* document(std::size_t b) const { return x + row_start[b] * shape.d_e; }
};

struct Conv1dCall {
  Conv1dInput input;
  float* h = nullptr;
  float* scratch = nullptr;  // scratch_floats() of the variant
  const BlasLibrary* blas = nullptr;

  [[nodiscard]] float* output(std::size_t b) const {
    return h + input.positions_before(b) * input.shape.d_c;
  }
};

void conv1d_reference(const Conv1dCall& call);
void conv1d_blas_im2col(const Conv1dCall& call);
void conv1d_blas_shifted(const Conv1dCall& call);
void conv1d_simd(const Conv1dCall& call);

// The patch matrix of document `b`, [positions, k d_e]: the copy of conv1d_blas_im2col alone.
void conv1d_im2col(const Conv1dInput& input, std::size_t b, float* patches);
// The patch matrix of one document: the longest has `longest` rows.
std::size_t conv1d_im2col_scratch(const Conv1dShape& shape, std::size_t longest);
std::size_t conv1d_simd_packed_floats(const Conv1dShape& shape);
void conv1d_simd_pack(const Conv1dShape& shape, const float* w, float* packed);

// Max pooling over time: g[b, j] = max over the positions p of document b of h[p, j].
//
//   h: [positions, d_c]  float32, row-major; document b is rows start[b] .. start[b+1], at least 1
//   g: [documents, g_stride >= d_c]  row-major: filters of several widths write side by side
//
// A NaN in the window gives NaN, as PyTorch's max_pool1d does. h and g must not overlap.
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

// conv1d + bias + ReLU + max pooling over time in one pass: both of the above without the
// feature map between them.
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
