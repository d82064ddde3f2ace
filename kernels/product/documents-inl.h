// What conv1d does to the documents of a batch, fused or not: a product for each unit of work that
// falls to a thread (kernels/document_split.h).
#if defined(HWPROF_KERNELS_DOCUMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_DOCUMENTS_INL_H_
#undef HWPROF_KERNELS_DOCUMENTS_INL_H_
#else
#define HWPROF_KERNELS_DOCUMENTS_INL_H_
#endif

#include <cstddef>

#include "kernels/document_split.h"
#include "kernels/ops/conv1d.h"
#include "kernels/product/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// Columns that the parts before `part` work on, zeros that fill them up included.
HWY_INLINE std::size_t cost_before(const Layout& layout, std::size_t part) {
  if (part <= layout.full) return part * kPanelColumns;
  const bool dots_too = layout.dot_columns != 0 && part == layout.parts();
  return layout.rest_column() + layout.rest_vectors * kLanes +
         (dots_too ? layout.dot_groups() * kDotColumns : 0);
}

// Convolution of this thread's units. `sink_of(b)` makes the sink of document b.
template <class SinkOf>
HWY_INLINE void convolve_share(const Conv1dInput& input, std::size_t thread,
                               const SinkOf& sink_of) {
  const auto [k, d_e, d_c] = input.shape;
  const Layout layout(d_c, k * d_e, true);
  for_each_share(
      input, layout.parts(), [&](std::size_t part) HWY_ATTR { return cost_before(layout, part); },
      thread, input.team->size(),
      [&, depth = k * d_e, d_e = d_e](std::size_t b, std::size_t first, std::size_t last) HWY_ATTR {
        auto sink = sink_of(b);
        multiply<true>(input.positions(b),
                       Rows{.x = input.document(b), .row_stride = d_e, .depth = depth}, layout,
                       input.packed, input.bias, first, last, sink);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
