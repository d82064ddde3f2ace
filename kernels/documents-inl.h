// How a batch of documents of different length is shared out to threads: by positions x parts of
// the filters, so that one long document is split over its filters and many over the documents.
// Static, without a table: thread t takes the (document, part) pairs that begin in its share.
#if defined(HWPROF_KERNELS_DOCUMENTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_DOCUMENTS_INL_H_
#undef HWPROF_KERNELS_DOCUMENTS_INL_H_
#else
#define HWPROF_KERNELS_DOCUMENTS_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "kernels/product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// Convolution of this thread's pairs. `sink_of(b)` makes the sink of document b.
template <class Call, class SinkOf>
HWY_INLINE void convolve_share(const Call& call, std::size_t thread, std::size_t threads,
                               const SinkOf& sink_of) {
  const auto [k, d_e, d_c] = call.shape;
  const Layout layout(d_c, k * d_e, true);
  const std::size_t documents = call.documents(), parts = layout.parts();
  const std::size_t positions = call.row_start[documents] - call.row_start[0] - documents * (k - 1);
  const auto [begin, end] = share_of(positions * parts, thread, threads);
  std::size_t before = 0;  // positions x parts of the documents before b
  for (std::size_t b = 0; b < documents; ++b) {
    const std::size_t count = call.positions(b);
    const auto first_from = [&](std::size_t limit) {
      return limit <= before ? 0 : std::min(parts, (limit - before + count - 1) / count);
    };
    const std::size_t first = first_from(begin), last = first_from(end);
    if (first < last) {
      auto sink = sink_of(b);
      multiply<true>(count, Rows{.x = call.document(b), .row_stride = d_e, .depth = k * d_e},
                     layout, call.packed, call.bias, first, last, sink);
    }
    before += count * parts;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
