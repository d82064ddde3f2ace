// Max pooling over time by hand, for the unfused path.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/maxpool_simd.cpp"
#include "kernels/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/document_split.h"
#include "kernels/maxpool.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// g[0 .. d_c) = max over rows of h: [rows, d_c]. Four vectors at a time, so that each row is read
// in whole cache lines and four chains hide the latency of max.
void max_rows(const float* HWY_RESTRICT h, std::size_t rows, std::size_t d_c,
              float* HWY_RESTRICT g) {
  const Tag tag;
  const std::size_t lanes = hn::Lanes(tag);
  constexpr std::size_t kVectors = 4;
  const auto larger = [](Vec value, Vec best) HWY_ATTR {
    return hn::IfThenElse(hn::Or(hn::Gt(value, best), hn::IsNaN(value)), value, best);
  };
  std::size_t j = 0;
  for (; j + kVectors * lanes <= d_c; j += kVectors * lanes) {
    Vec best[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) best[v] = hn::LoadU(tag, h + j + v * lanes);
    for (std::size_t p = 1; p < rows; ++p) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        best[v] = larger(hn::LoadU(tag, h + p * d_c + j + v * lanes), best[v]);
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(best[v], tag, g + j + v * lanes);
  }
  for (; j + lanes <= d_c; j += lanes) {
    Vec best = hn::LoadU(tag, h + j);
    for (std::size_t p = 1; p < rows; ++p) best = larger(hn::LoadU(tag, h + p * d_c + j), best);
    hn::StoreU(best, tag, g + j);
  }
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
