// The layers around the products by hand: batch normalisation, ReLU, add, average pool, softmax,
// and max pooling over time for the unfused path. All are bound by memory or by the length of the
// row, not by arithmetic: what they show is what fusing them into the convolution saves.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/layers_simd.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/contrib/math/math-inl.h"  // in quotes: must come after foreach_target.h
#include "kernels/ops/classifier.h"
#include "kernels/ops/conv1d.h"
#include "kernels/ops/elementwise.h"
#include "kernels/thread_team.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());

HWY_INLINE Vec load_part(const float* from, std::size_t count, float filler) {
  HWY_ALIGN float part[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) part[i] = i < count ? from[i] : filler;
  return hn::Load(Tag(), part);
}

HWY_INLINE void store_part(Vec v, float* to, std::size_t count) {
  HWY_ALIGN float part[kLanes];
  hn::Store(v, Tag(), part);
  for (std::size_t i = 0; i < count; ++i) to[i] = part[i];
}

// y[i] = f(a[i], b[i])
template <class F>
HWY_INLINE void map(const float* a, const float* b, float* y, std::size_t count, const F& f) {
  const Tag tag;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    hn::StoreU(f(hn::LoadU(tag, a + i), hn::LoadU(tag, b + i)), tag, y + i);
  }
  const std::size_t rest = count - i;
  if (rest != 0) store_part(f(load_part(a + i, rest, 0), load_part(b + i, rest, 0)), y + i, rest);
}

void relu_share(const float* x, float* y, std::size_t count) {
  const Vec zero = hn::Zero(Tag());
  // Not Max: that would lose a NaN on x86.
  map(x, x, y, count,
      [&](Vec v, Vec) HWY_ATTR { return hn::IfThenElse(hn::Lt(v, zero), zero, v); });
}

void add_share(const float* a, const float* b, float* y, std::size_t count) {
  map(a, b, y, count, [](Vec v, Vec w) HWY_ATTR { return hn::Add(v, w); });
}

void batchnorm_share(const BatchnormCall& call, std::size_t first, std::size_t last) {
  const Tag tag;
  for (std::size_t c = 0; c < call.channels; c += kLanes) {
    const std::size_t count = HWY_MIN(kLanes, call.channels - c);
    HWY_ALIGN float scales[kLanes] = {};
    HWY_ALIGN float shifts[kLanes] = {};
    for (std::size_t i = 0; i < count; ++i) {
      const Affine affine = batchnorm_affine(call.bn, c + i);
      scales[i] = affine.scale;
      shifts[i] = affine.shift;
    }
    const Vec scale = hn::Load(tag, scales), shift = hn::Load(tag, shifts);
    for (std::size_t p = first; p < last; ++p) {
      const float* from = call.x + p * call.channels + c;
      float* to = call.y + p * call.channels + c;
      if (HWY_LIKELY(count == kLanes)) {
        hn::StoreU(hn::MulAdd(hn::LoadU(tag, from), scale, shift), tag, to);
      } else {
        store_part(hn::MulAdd(load_part(from, count, 0), scale, shift), to, count);
      }
    }
  }
}

void average_pool_share(const AveragePoolCall& call, std::size_t first, std::size_t last) {
  const Tag tag;
  const Vec factor = hn::Set(tag, 1.0f / static_cast<float>(call.pixels));
  for (std::size_t i = first; i < last; ++i) {
    for (std::size_t c = 0; c < call.channels; c += kLanes) {
      const std::size_t count = HWY_MIN(kLanes, call.channels - c);
      const float* x = call.x + i * call.pixels * call.channels + c;
      float* y = call.y + i * call.channels + c;
      Vec sum[2] = {hn::Zero(tag), hn::Zero(tag)};
      for (std::size_t p = 0; p < call.pixels; ++p) {
        const float* from = x + p * call.channels;
        const Vec v = count == kLanes ? hn::LoadU(tag, from) : load_part(from, count, 0);
        sum[p % 2] = hn::Add(sum[p % 2], v);
      }
      const Vec mean = hn::Mul(hn::Add(sum[0], sum[1]), factor);
      if (count == kLanes) {
        hn::StoreU(mean, tag, y);
      } else {
        store_part(mean, y, count);
      }
    }
  }
}

// f(vector, index, count) over a row, the last one filled up.
template <class F>
HWY_INLINE void for_vectors(const float* x, std::size_t columns, float filler, const F& f) {
  std::size_t j = 0;
  for (; j + kLanes <= columns; j += kLanes) f(hn::LoadU(Tag(), x + j), j, kLanes);
  if (j < columns) f(load_part(x + j, columns - j, filler), j, columns - j);
}

void softmax_share(const SoftmaxCall& call, std::size_t first, std::size_t last) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Tag tag;
  for (std::size_t r = first; r < last; ++r) {
    const float* x = call.x + r * call.columns;
    float* y = call.y + r * call.columns;
    Vec highest = hn::Set(tag, kLowest), poison = hn::Zero(tag);
    for_vectors(x, call.columns, kLowest, [&](Vec v, std::size_t, std::size_t) HWY_ATTR {
      highest = hn::Max(highest, v);
      poison = hn::Or(poison, hn::VecFromMask(tag, hn::IsNaN(v)));  // Max drops it on x86
    });
    const float largest = hn::GetLane(hn::MaxOfLanes(tag, highest));
    // Infinity - infinity is NaN by the rules; highway's Exp() promises nothing for it.
    if (!hn::AllFalse(tag, hn::IsNaN(poison)) || !std::isfinite(largest)) {
      std::fill_n(y, call.columns, std::numeric_limits<float>::quiet_NaN());
      continue;
    }
    const Vec offset = hn::Set(tag, largest);
    Vec sum = hn::Zero(tag);
    for_vectors(x, call.columns, kLowest, [&](Vec v, std::size_t j, std::size_t count) HWY_ATTR {
      // Exp() is exact 0 only from -104 on; lower arguments, the filler's -infinity among them,
      // must not reach it.
      const Vec argument = hn::Sub(v, offset);
      const Vec e = hn::IfThenZeroElse(hn::Lt(argument, hn::Set(tag, -104.0f)),
                                       hn::Exp(tag, hn::Max(argument, hn::Set(tag, -104.0f))));
      sum = hn::Add(sum, e);
      store_part(e, y + j, count);
    });
    const Vec factor = hn::Set(tag, 1.0f / hn::GetLane(hn::SumOfLanes(tag, sum)));
    map(y, y, y, call.columns, [&](Vec v, Vec) HWY_ATTR { return hn::Mul(v, factor); });
  }
}

// kVectors vectors of columns from h on: the largest of each over all rows. Several chains hide the
// latency of max, and each row is read in whole cache lines.
template <std::size_t kVectors>
HWY_INLINE void max_columns(const float* HWY_RESTRICT h, std::size_t rows, std::size_t d_c,
                            float* HWY_RESTRICT g) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  Vec best[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(tag, h + v * lanes);
  for (std::size_t p = 1; p < rows; ++p) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Vec value = hn::LoadU(tag, h + p * d_c + v * lanes);
      best[v] = hn::IfThenElse(hn::Or(hn::Gt(value, best[v]), hn::IsNaN(value)), value, best[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], tag, g + v * lanes);
}

// All columns from `j` on, kVectors at a time. The last step goes back over columns that have
// their result: one by one they took ten times as long (d_c = 111 against 64). Returns the first
// column that it left, for want of kVectors.
template <std::size_t kVectors>
HWY_INLINE std::size_t max_from(std::size_t j, const float* h, std::size_t rows, std::size_t d_c,
                                float* g) {
  const std::size_t width = kVectors * hn::Lanes(Tag());
  if (d_c < width) return j;
  for (; j < d_c; j += width) {
    const std::size_t at = HWY_MIN(j, d_c - width);
    max_columns<kVectors>(h + at, rows, d_c, g + at);
  }
  return d_c;
}

// g[0 .. d_c) = max over rows of h: [rows, d_c].
void max_rows(const float* HWY_RESTRICT h, std::size_t rows, std::size_t d_c,
              float* HWY_RESTRICT g) {
  std::size_t j = max_from<4>(0, h, rows, d_c, g);
  j = max_from<2>(j, h, rows, d_c, g);
  j = max_from<1>(j, h, rows, d_c, g);
  for (; j < d_c; ++j) {
    float best = h[j];
    for (std::size_t p = 1; p < rows; ++p) {
      const float value = h[p * d_c + j];
      if (value > best || value != value) best = value;
    }
    g[j] = best;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hwprof {
namespace {

HWY_EXPORT(relu_share);
HWY_EXPORT(add_share);
HWY_EXPORT(batchnorm_share);
HWY_EXPORT(average_pool_share);
HWY_EXPORT(softmax_share);
HWY_EXPORT(max_rows);

}  // namespace

void relu_simd(const ReluCall& call) {
  split(call.team, call.count, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(relu_share)(call.x + first, call.y + first, last - first);
  });
}

void add_simd(const AddCall& call) {
  split(call.team, call.count, [&](std::size_t first, std::size_t last) {
    HWY_DYNAMIC_DISPATCH(add_share)
    (call.a + first, call.b + first, call.y + first, last - first);
  });
}

void batchnorm_simd(const BatchnormCall& call) {
  split(call.pixels, call, HWY_DYNAMIC_DISPATCH(batchnorm_share));
}

void average_pool_simd(const AveragePoolCall& call) {
  split(call.images, call, HWY_DYNAMIC_DISPATCH(average_pool_share));
}

void softmax_simd(const SoftmaxCall& call) {
  split(call.rows, call, HWY_DYNAMIC_DISPATCH(softmax_share));
}

void maxpool_simd(const MaxpoolCall& call) {
  for_each_document(call, [&](std::size_t b) {
    HWY_DYNAMIC_DISPATCH(max_rows)
    (call.h + call.start[b] * call.d_c, call.start[b + 1] - call.start[b], call.d_c,
     call.output(b));
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
