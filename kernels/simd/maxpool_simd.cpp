// Max pooling over time by hand, for the unfused path.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd/maxpool_simd.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/document_split.h"
#include "kernels/ops/maxpool.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

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

HWY_EXPORT(max_rows);

void maxpool_simd(const MaxpoolCall& call) {
  for_each_document(call, [&](std::size_t b) {
    HWY_DYNAMIC_DISPATCH(max_rows)
    (call.h + call.start[b] * call.d_c, call.start[b + 1] - call.start[b], call.d_c,
     call.output(b));
  });
}

}  // namespace hwprof
#endif  // HWY_ONCE
