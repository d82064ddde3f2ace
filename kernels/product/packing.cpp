#include "kernels/product/packing.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/product/packing.cpp"
#include "kernels/simd/simd_targets.h"
// Includes this file again, once a target.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/product/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

std::size_t packed_floats(std::size_t columns, std::size_t depth, bool dots) {
  return Layout(columns, depth, dots).floats();
}

// One panel of `width` columns from `column` on, [depth][width], zeros beyond `columns`.
float* pack_panel(std::size_t column, std::size_t width, std::size_t columns, std::size_t depth,
                  const float* w, float* packed) {
  for (std::size_t d = 0; d < depth; ++d) {
    for (std::size_t j = column; j < column + width; ++j) {
      *packed++ = j < columns ? w[j * depth + d] : 0.0f;
    }
  }
  return packed;
}

// Four columns, [steps][4][kLanes]. The last step ends with the depth and overlaps the one before.
float* pack_dots(std::size_t column, const Layout& layout, const float* w, float* packed) {
  const std::size_t rest = layout.depth % kLanes;
  for (std::size_t step = 0; step < layout.dot_steps(); ++step) {
    const bool overlaps = (step + 1) * kLanes > layout.depth;
    const std::size_t from = overlaps ? layout.depth - kLanes : step * kLanes;
    const std::size_t taken = overlaps ? kLanes - rest : 0;
    for (std::size_t c = column; c < column + kDotColumns; ++c) {
      for (std::size_t i = 0; i < kLanes; ++i) {
        *packed++ = c < layout.columns && i >= taken ? w[c * layout.depth + from + i] : 0.0f;
      }
    }
  }
  return packed;
}

void pack(std::size_t columns, std::size_t depth, bool dots, const float* w, float* packed) {
  const Layout layout(columns, depth, dots);
  for (std::size_t p = 0; p < layout.full; ++p) {
    packed = pack_panel(p * kPanelColumns, kPanelColumns, columns, depth, w, packed);
  }
  packed =
      pack_panel(layout.rest_column(), layout.rest_vectors * kLanes, columns, depth, w, packed);
  for (std::size_t group = 0; group < layout.dot_groups(); ++group) {
    packed = pack_dots(layout.dot_column() + group * kDotColumns, layout, w, packed);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace hwprof {

HWY_EXPORT(packed_floats);
HWY_EXPORT(pack);

std::size_t product_packed_floats(std::size_t columns, std::size_t depth) {
  return HWY_DYNAMIC_DISPATCH(packed_floats)(columns, depth, true);
}

void product_pack(std::size_t columns, std::size_t depth, const float* w, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(columns, depth, true, w, packed);
}

std::size_t segmented_packed_floats(std::size_t columns, std::size_t depth) {
  return HWY_DYNAMIC_DISPATCH(packed_floats)(columns, depth, false);
}

void segmented_pack(std::size_t columns, std::size_t depth, const float* w, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack)(columns, depth, false, w, packed);
}

}  // namespace hwprof
#endif  // HWY_ONCE
