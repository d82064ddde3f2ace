// conv2d without bias over a batch of images, odd kernel, zero padding of (kernel - 1) / 2 on every
// side, as in ResNet20 (3x3 and 1x1, stride 1 and 2):
//
//   y[i, u, v, j] = sum_{a, b < kernel, c < c_in} w[j, a, b, c] x[i, u s + a - p, v s + b - p, c]
//
//   x: [images, height, width, c_in]           float32, row-major (NHWC)
//   w: [c_out, kernel, kernel, c_in]           float32, row-major
//   y: [images, out_height, out_width, c_out]  float32, row-major
//
// Channels last: a pixel's channels are one vector, and three neighbouring pixels are one
// contiguous row of a product, as three words are in conv1d. No argument may alias y. Nothing needs
// alignment. Taps in the padding contribute nothing, whatever the weight, and are no work
// (kernels/complexity.h): a variant may skip them or multiply zeros.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/ops/elementwise.h"

namespace hwprof {

class BlasLibrary;
class ThreadTeam;

struct Conv2dShape {
  std::size_t height = 0, width = 0, c_in = 0, c_out = 0;
  std::size_t kernel = 3, stride = 1;

  [[nodiscard]] std::size_t padding() const { return (kernel - 1) / 2; }
  [[nodiscard]] std::size_t out_height() const { return (height - 1) / stride + 1; }
  [[nodiscard]] std::size_t out_width() const { return (width - 1) / stride + 1; }
  [[nodiscard]] std::size_t out_pixels() const { return out_height() * out_width(); }
  [[nodiscard]] std::size_t depth() const { return kernel * kernel * c_in; }  // of a product
};

struct Conv2dCall {
  Conv2dShape shape;
  std::size_t images = 0;
  const float* x = nullptr;
  const float* w = nullptr;       // as above
  const float* packed = nullptr;  // what the variant's pack() made of w; unused if it has none
  float* y = nullptr;
  float* scratch = nullptr;  // scratch_floats() of the variant
  const BlasLibrary* blas = nullptr;
  ThreadTeam* team = nullptr;
};

void conv2d_reference(const Conv2dCall& call);
void conv2d_blas_im2col(const Conv2dCall& call);
void conv2d_simd(const Conv2dCall& call);

// The patch matrix of one image; the second argument of the registry's signature is not needed.
std::size_t conv2d_im2col_scratch(const Conv2dShape& shape, std::size_t);
std::size_t conv2d_simd_packed_floats(const Conv2dShape& shape);
void conv2d_simd_pack(const Conv2dShape& shape, const float* w, float* packed);

// conv2d, batch normalisation, an optional second summand (the shortcut of a residual block) and
// optionally ReLU in one pass: y = relu(bn(conv2d(x)) + addend). The addend has the shape of y and
// may be y itself.
struct Conv2dWeights {
  const float* w = nullptr;
  BatchnormParameters bn;  // [c_out] each
};

struct Conv2dBnReluCall {
  Conv2dShape shape;
  std::size_t images = 0;
  const float* x = nullptr;
  Conv2dWeights weights;
  const float* packed = nullptr;
  const float* addend = nullptr;  // null: none
  bool relu = true;
  float* y = nullptr;
  ThreadTeam* team = nullptr;
};

void conv2d_bn_relu_reference(const Conv2dBnReluCall& call);
// The normalisation is folded into the weights and a bias when they are packed.
void conv2d_bn_relu_fused(const Conv2dBnReluCall& call);

std::size_t conv2d_bn_relu_packed_floats(const Conv2dShape& shape);
void conv2d_bn_relu_pack(const Conv2dShape& shape, const Conv2dWeights& weights, float* packed);

// Neighbouring outputs of one axis whose taps first_tap .. first_tap + taps lie in the image.
struct TapSpan {
  std::size_t count, first_tap, taps;
};

// The span that begins with output `first` and ends before `end`; the axis has `extent` inputs.
inline TapSpan span_at(std::size_t first, std::size_t end, std::size_t extent,
                       const Conv2dShape& shape) {
  const auto taps_of = [&](std::size_t output) {
    const std::size_t at = output * shape.stride, padding = shape.padding();
    const std::size_t low = padding - std::min(padding, at);
    return TapSpan{1, low, std::min(shape.kernel, extent + padding - at) - low};
  };
  TapSpan span = taps_of(first);
  for (std::size_t next = first + 1; next < end; ++next) {
    const TapSpan taps = taps_of(next);
    if (taps.first_tap != span.first_tap || taps.taps != span.taps) break;
    ++span.count;
  }
  return span;
}

}  // namespace hwprof
