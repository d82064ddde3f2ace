// What the hand-written 2-d convolutions share: their arguments, and which taps lie in the image.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/ops/conv2d.h"

namespace hwprof {

struct Conv2dWork {
  Conv2dShape shape;
  std::size_t images;
  const float* x;
  const float* packed;  // panels, then the bias
  const float* addend;  // may be null
  bool relu;
  float* y;
};

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
