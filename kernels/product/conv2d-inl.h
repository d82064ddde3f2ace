// Direct 2-d convolution by hand, without im2col and without a padded copy of the image.
//
// With channels last, the taps of one kernel row are kernel x c_in contiguous floats, and the next
// output pixel's are stride x c_in further on: a product of overlapping rows as in conv1d, in
// `kernel` segments. Padding is never multiplied: output pixels are grouped by which taps lie
// inside the image (the inside, four edges, four corners) and each group has its own segments.
//
// Interleaved with the FMA peak (AVX-512, Zen 5, one image): 16 -> 16 channels reach 0.83, where
// one vector of filters needs a broadcast for each FMA and the load ports are the limit; 32 -> 32
// reach 0.92; 64 -> 64 reach 0.90. Prefetching as conv1d does cost 7 % at 16 channels.
// One sum a filter in the corners cost 2 % at 64 channels, hence the odd steps' sums in
// kernels/product/panel-inl.h.
#if defined(HWPROF_KERNELS_CONV2D_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_CONV2D_INL_H_
#undef HWPROF_KERNELS_CONV2D_INL_H_
#else
#define HWPROF_KERNELS_CONV2D_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "kernels/ops/conv2d.h"
#include "kernels/product/product-inl.h"
#include "kernels/thread_team.h"

#ifndef HWPROF_KERNELS_CONV2D_WORK
#define HWPROF_KERNELS_CONV2D_WORK
namespace hwprof {

// Either call of kernels/ops/conv2d.h.
struct Conv2dWork {
  Conv2dShape shape;
  std::size_t images;
  const float* x;
  const float* packed;  // panels, then the bias
  const float* addend;  // may be null
  bool relu;
  float* y;
};

}  // namespace hwprof
#endif

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// One image: output rows `from` .. `to` of it.
HWY_INLINE void convolve_image(const Conv2dWork& work, const float* x, const float* addend,
                               float* y, std::size_t from, std::size_t to) {
  const Conv2dShape& shape = work.shape;
  const std::size_t s = shape.stride, c_in = shape.c_in, c_out = shape.c_out;
  const Layout layout(c_out, shape.depth(), 0);
  const std::size_t x_line = shape.width * c_in, y_line = shape.out_width() * c_out;
  for (std::size_t u = from; u < to;) {
    const TapSpan down = span_at(u, to, shape.height, shape);
    for (std::size_t v = 0; v < shape.out_width();) {
      const TapSpan across = span_at(v, shape.out_width(), shape.width, shape);
      // Along the longer side of the group, so that a block has many rows.
      const bool horizontal = across.count >= down.count;
      const std::size_t count = horizontal ? across.count : down.count;
      const std::size_t lines = horizontal ? down.count : across.count;
      const std::size_t x_first = (u * s + down.first_tap - shape.padding()) * x_line +
                                  (v * s + across.first_tap - shape.padding()) * c_in;
      for (std::size_t line = 0; line < lines; ++line) {
        const std::size_t out_first =
            horizontal ? (u + line) * y_line + v * c_out : u * y_line + (v + line) * c_out;
        const Rows rows{.x = x + x_first + line * s * (horizontal ? x_line : c_in),
                        .row_stride = s * (horizontal ? c_in : x_line),
                        .depth = across.taps * c_in,
                        .segments = down.taps,
                        .x_step = x_line,
                        .first_weight = (down.first_tap * shape.kernel + across.first_tap) * c_in,
                        .weight_step = shape.kernel * c_in};
        const std::size_t stride = horizontal ? c_out : y_line;
        Sink sink = Sink::stored(y + out_first, addend == nullptr ? nullptr : addend + out_first,
                                 stride, work.relu);
        multiply(false, count, rows, layout, work.packed, work.packed + layout.floats(), 0,
                 layout.parts(), sink);
      }
      v += across.count;
    }
    u += down.count;
  }
}

void conv2d_share(const Conv2dWork& work, std::size_t thread, std::size_t threads) {
  const Conv2dShape& shape = work.shape;
  const std::size_t lines = shape.out_height();
  const auto [first, last] = share_of(work.images * lines, thread, threads);
  for (std::size_t line = first; line < last;) {
    const std::size_t image = line / lines, from = line % lines;
    const std::size_t to = std::min(lines, from + last - line);
    const std::size_t out = image * shape.out_pixels() * shape.c_out;
    convolve_image(work, work.x + image * shape.height * shape.width * shape.c_in,
                   work.addend == nullptr ? nullptr : work.addend + out, work.y + out, from, to);
    line += to - from;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
