// A whole product over the panels of kernels/product/panel-inl.h: which block serves which columns,
// and what becomes of the sums.
//
// Every block is compiled once a target, as a function of its own: what differs between the
// operations (where the sums go, whether rows and weights are prefetched) is decided once a block,
// at run time, outside of its loop. Compiled into each operation with a sink as its template
// argument the blocks took a quarter of the time of a whole build.
#if defined(HWPROF_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_PRODUCT_INL_H_
#undef HWPROF_KERNELS_PRODUCT_INL_H_
#else
#define HWPROF_KERNELS_PRODUCT_INL_H_
#endif

#include <cstddef>
#include <utility>

#include "kernels/product/dots-inl.h"
#include "kernels/product/panel-inl.h"
#include "kernels/product/sink-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

// Rows first .. first + kBlock of the product, times kPanels panels of kVectors, given to the sink.
template <bool kPrefetch, std::size_t kBlock, std::size_t kVectors, std::size_t kPanels>
HWY_NOINLINE void block(const Rows& rows, std::size_t first, const Panels& panels,
                        const float* ahead, std::size_t ahead_bytes, Sink& sink) {
  const Tag tag;
  Vec sum[kBlock][kPanels * kVectors];
  HWPROF_UNROLL
  for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
    const Vec start = hn::LoadU(tag, panels.bias + v * kLanes);
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) sum[r][v] = start;
  }
  for (std::size_t s = 0; s < rows.segments; ++s) {
    accumulate<kPrefetch, kBlock, kVectors, kPanels>(
        rows, rows.x + first * rows.row_stride + s * rows.x_step,
        panels.weights + (rows.first_weight + s * rows.weight_step) * kVectors * kLanes, panels,
        ahead, ahead_bytes, sum);
  }
  sink.take(first, 0, sum);
}

// The blocks of 1 .. `most` rows.
struct Blocks {
  using Block = void (*)(const Rows&, std::size_t, const Panels&, const float*, std::size_t, Sink&);
  std::size_t most;
  const Block* of;  // of[rows - 1]
};

// Where all rows fit a small block nothing streams, and a block of few sums never prefetches.
constexpr bool prefetches(std::size_t rows, std::size_t vectors, std::size_t most) {
  return rows > most / 2 && rows * vectors >= kChains;
}

template <bool kPrefetch, std::size_t kVectors, std::size_t kPanels, class RowsBut1>
struct BlockTable;
template <bool kPrefetch, std::size_t kVectors, std::size_t kPanels, std::size_t... kRowsBut1>
struct BlockTable<kPrefetch, kVectors, kPanels, std::index_sequence<kRowsBut1...>> {
  static constexpr std::size_t kMost = sizeof...(kRowsBut1);
  static constexpr Blocks::Block kOf[] = {
      block < kPrefetch && prefetches(kRowsBut1 + 1, kVectors, kMost), kRowsBut1 + 1, kVectors,
      kPanels > ...};
};
template <bool kPrefetch, std::size_t kMost, std::size_t kVectors, std::size_t kPanels>
HWY_INLINE Blocks blocks() {
  using Table = BlockTable<kPrefetch, kVectors, kPanels, std::make_index_sequence<kMost>>;
  return {kMost, Table::kOf};
}

// All rows, in equal blocks.
HWY_INLINE void all_rows(const Blocks& blocks, std::size_t count, const Rows& rows,
                         const Panels& panels, Sink& sink) {
  const std::size_t parts = (count + blocks.most - 1) / blocks.most;
  const std::size_t share = panels.ahead_floats / parts;
  for (std::size_t q = 0; q < parts; ++q) {
    const auto [first, end] = share_of(count, q, parts);
    blocks.of[end - first - 1](rows, first, panels, panels.ahead + q * share, share * sizeof(float),
                               sink);
  }
}

// How many panels of a product of `count` rows are taken at once: one row and one panel would be
// two chains of sums, where the latency of FMA wants eight.
HWY_INLINE std::size_t panels_at_once(std::size_t count) {
  return count == 1 ? kMaxPanels : count <= kPairRows ? 2 : 1;
}

HWY_INLINE Blocks full_blocks(std::size_t panels, bool prefetch) {
  switch (panels) {
    case 4:
      return blocks<false, 1, kPanelVectors, 4>();
    case 3:
      return blocks<false, 1, kPanelVectors, 3>();
    case 2:
      return blocks<false, kPairRows, kPanelVectors, 2>();
    default:
      return prefetch ? blocks<true, kRows[kPanelVectors], kPanelVectors, 1>()
                      : blocks<false, kRows[kPanelVectors], kPanelVectors, 1>();
  }
}

HWY_INLINE Blocks rest_blocks(std::size_t vectors, bool prefetch) {
  if (vectors == kPanelVectors) return full_blocks(1, prefetch);
  return prefetch ? blocks<true, kRows[1], 1, 1>() : blocks<false, kRows[1], 1, 1>();
}

// Parts first_part .. last_part of the product of `count` rows with the packed weights, each
// announced to the sink. `prefetch`: rows and weights stream from beyond the L2 cache.
HWY_NOINLINE void multiply(bool prefetch, std::size_t count, const Rows& rows, const Layout& layout,
                           const float* packed, const float* bias, std::size_t first_part,
                           std::size_t last_part, Sink& sink) {
  const std::size_t panel_floats = kPanelColumns * layout.depth;
  // The bias of columns that do not fill their vectors.
  HWY_ALIGN float padded[kPanelColumns];
  const auto pad = [&](std::size_t column, std::size_t columns) {
    for (std::size_t j = 0; j < kPanelColumns; ++j) padded[j] = j < columns ? bias[column + j] : 0;
  };
  for (std::size_t part = first_part; part < last_part;) {
    if (part < layout.full) {
      const std::size_t left = HWY_MIN(last_part, layout.full) - part;
      const std::size_t taken = HWY_MIN(left, panels_at_once(count));
      const float* weights = packed + part * panel_floats;
      // After the last panel comes the first one again, for the next document.
      const bool last = part + taken == last_part;
      const Panels panels{
          .weights = weights,
          .stride = panel_floats,
          .bias = bias + part * kPanelColumns,
          .ahead = last ? packed + first_part * panel_floats : weights + panel_floats,
          .ahead_floats = panel_floats};
      sink.begin(part * kPanelColumns, taken * kPanelColumns);
      all_rows(full_blocks(taken, prefetch), count, rows, panels, sink);
      part += taken;
    } else if (part == layout.full && layout.rest_vectors != 0) {
      const Panels panels{
          .weights = packed + layout.rest_offset(), .bias = padded, .ahead = packed};
      const std::size_t columns = layout.dot_column() - layout.rest_column();
      pad(layout.rest_column(), columns);
      sink.begin(layout.rest_column(), columns);
      all_rows(rest_blocks(layout.rest_vectors, prefetch), count, rows, panels, sink);
      ++part;
    } else {
#if HWPROF_HAS_DOTS
      pad(layout.dot_column(), layout.dot_columns);
      sink.begin(layout.dot_column(), layout.dot_columns);
      all_dots(count, rows, layout, packed + layout.dot_offset(), padded, sink);
#endif
      sink.end();
      return;
    }
    sink.end();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
