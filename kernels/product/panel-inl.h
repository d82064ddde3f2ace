// The register block of the hand-written products, once for each instruction set: rows of x times
// panels of weights that are packed once. Convolution, linear layer and 2-d convolution differ in
// where the rows start and in what becomes of the sums (product-inl.h); the block is this one.
//
// A block is kRows rows x 2 vectors of columns: each vector of weights is used for every row, each
// float of x for both vectors, and all sums stay in registers:
//
//   32 registers (AVX-512)   13 x 2 sums + 2 weights + 1 of x
//   32 registers (Neon)      12 x 2 sums + 2 weights + 1 of x
//   16 registers              6 x 2 sums + 2 weights + 1 of x
//
// Rows are split in equal blocks: a ragged last block would waste up to a tenth of the time.
//
// Columns beyond the last pair of vectors: a panel of one or two vectors filled up with zeros, or,
// where that would waste more than one column, dot products in groups of 1 to 4 columns: there the
// depth lies across the vector, so that a column costs a column and not a vector of 16.
#if defined(HWPROF_KERNELS_PANEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_PANEL_INL_H_
#undef HWPROF_KERNELS_PANEL_INL_H_
#else
#define HWPROF_KERNELS_PANEL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <iterator>
#include <utility>

#include "kernels/thread_team.h"

// Full unrolling of what runs over an array of sums: an index that is not constant would keep the
// array in memory. Clang 14 gives up at 13 rows without it.
#undef HWPROF_UNROLL
#if defined(__clang__)
#define HWPROF_UNROLL _Pragma("unroll")
#else
#define HWPROF_UNROLL _Pragma("GCC unroll 32")
#endif

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<float>;
using Vec = hn::Vec<Tag>;

// A block of dot products of rows that overlap (dots-inl.h): rows, and positions of the window that
// share what is loaded of x. Each position ends with a step that is padded, a whole window of dot
// products only once: measured, that pays from `per_padding` floats for each of padding on.
struct WindowSizes {
  std::size_t rows, positions, per_padding;
};

// kRows[v]: rows of a block that is v vectors wide. One vector needs as many chains as hide the
// latency of FMA on its own: 4 cycles x 2 pipes on current x86-64, x 4 pipes on wide Arm cores.
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr std::size_t kRows[] = {0, 16, 13};
constexpr std::size_t kPairRows = 6;  // of a block of two panels side by side
// kDotRows[c]: rows of a block of c dot products: sums, c vectors of weights and one of x in the
// registers; for one column more rows gain nothing, since each multiply-add loads its x.
constexpr std::size_t kDotRows[] = {0, 12, 12, 8, 6};
// kWindows[c]: rows x c sums, positions x c vectors of weights and one of x in the registers. More
// columns are not bound by loads (two of 16 registers neither).
constexpr WindowSizes kWindows[] = {{}, {12, 4, 3}, {12, 3, 16}};
#elif HWY_TARGET == HWY_NEON
constexpr std::size_t kRows[] = {0, 16, 12};
constexpr std::size_t kPairRows = 6;
#else
constexpr std::size_t kRows[] = {0, 12, 6};
constexpr std::size_t kPairRows = 2;
constexpr std::size_t kDotRows[] = {0, 12, 6, 4, 2};
constexpr WindowSizes kWindows[] = {{}, {10, 4, 6}};
#endif
constexpr std::size_t kChains = 8;  // latency of FMA x pipes of current x86-64
constexpr std::size_t kPanelVectors = 2;
constexpr std::size_t kLanes = hn::MaxLanes(Tag());  // no target with vectors of unknown size
constexpr std::size_t kPanelColumns = kPanelVectors * kLanes;
constexpr std::size_t kDotColumns = 4;  // of a group, at most
// Four sums: one 128-bit block. Where all vectors are that short dots gain nothing.
using DotTag = hn::CappedTag<float, 4>;
#undef HWPROF_HAS_DOTS
#define HWPROF_HAS_DOTS (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2)

// How the columns of a product are split, and where each part lies in the packed weights:
// [full panels][depth][2 vectors], [depth][rest_vectors vectors],
// [dot groups][passes over the window][steps of kLanes of the depth of a position]
// [positions of the pass][columns of the group][kLanes].
struct Layout {
  // `positions`: how many row strides the depth is: those of the window of a convolution, 1 where
  // rows do not overlap; 0: no dot products, which need rows of one segment.
  Layout(std::size_t columns, std::size_t depth, [[maybe_unused]] std::size_t positions)
      : columns(columns), depth(depth), full(columns / kPanelColumns) {
    const std::size_t rest = columns % kPanelColumns;
    rest_vectors = (rest + kLanes - 1) / kLanes;
#if HWPROF_HAS_DOTS
    const std::size_t tail = rest % kLanes;
    if (positions == 0 || tail == 0 || tail + 2 > kLanes || depth < kLanes) return;
    dot_columns = tail;
    --rest_vectors;
    if (positions == 1 || tail >= std::size(kWindows)) return;
    const std::size_t channels = depth / positions, padding = whole(channels) - channels;
    if (channels < kLanes || padding * kWindows[tail].per_padding > channels) return;
    window = positions;
    dot_depth = channels;
    dot_floats = positions * whole(channels);
#endif
  }

  // Parts that threads can share out: each full panel, the rest, the dot products.
  [[nodiscard]] std::size_t parts() const {
    return full + (rest_vectors != 0 ? 1 : 0) + (dot_columns != 0 ? 1 : 0);
  }
  // Groups of equal size, or one column more: 3 and 2 are faster than 4 and 1.
  [[nodiscard]] std::size_t dot_groups() const {
    return (dot_columns + kDotColumns - 1) / kDotColumns;
  }
  // First column of a group, counted from dot_column(), and the one after its last.
  [[nodiscard]] std::pair<std::size_t, std::size_t> dot_group(std::size_t group) const {
    return share_of(dot_columns, group, dot_groups());
  }
  // Floats of the vectors that hold `floats`.
  static std::size_t whole(std::size_t floats) { return (floats + kLanes - 1) / kLanes * kLanes; }
  [[nodiscard]] std::size_t rest_column() const { return full * kPanelColumns; }
  [[nodiscard]] std::size_t dot_column() const { return columns - dot_columns; }
  [[nodiscard]] std::size_t rest_offset() const { return rest_column() * depth; }
  [[nodiscard]] std::size_t dot_offset() const {
    return rest_offset() + rest_vectors * kLanes * depth;
  }
  [[nodiscard]] std::size_t floats() const { return dot_offset() + dot_columns * dot_floats; }

  std::size_t columns, depth, full, rest_vectors = 0, dot_columns = 0;
  // Of the dot products: positions of a window, the depth of one, and floats of a column.
  std::size_t window = 1, dot_depth = depth, dot_floats = whole(depth);
};

// The rows that a product reads: row r is `segments` pieces of `depth` floats, piece s at
// x + r row_stride + s x_step; its weights begin first_weight + s weight_step deep in the panel.
// Convolution in one dimension and linear layer: one piece.
struct Rows {
  const float* x;
  std::size_t row_stride, depth;
  std::size_t segments = 1, x_step = 0, first_weight = 0, weight_step = 0;
};

// One or more panels side by side, `stride` floats apart, and what will be read after them.
struct Panels {
  const float* weights;
  std::size_t stride = 0;
  const float* bias = nullptr;  // a whole number of vectors
  const float* ahead = nullptr;
  std::size_t ahead_floats = 0;
};

// Keeps GCC from turning kPointerRows rows a pointer into one pointer a row: 13 pointers, the
// counter and the prefetches do not fit 16 registers, and reloading them cost a slot an iteration.
constexpr std::size_t kPointerRows = 3;
HWY_INLINE void opaque(const float*& pointer) { asm volatile("" : "+r"(pointer)); }

// One step of the depth: kBlock floats of x, kPointerRows rows a pointer, and a vector of each
// column.
template <std::size_t kBlock, std::size_t kVectors, std::size_t kPanels, std::size_t kPointers>
HWY_INLINE void step(const float* (&row)[kPointers], std::size_t row_stride,
                     const float* HWY_RESTRICT& weights, std::size_t panel_stride,
                     Vec (&sum)[kBlock][kPanels * kVectors]) {
  const Tag tag;
  Vec w[kPanels * kVectors];
  HWPROF_UNROLL
  for (std::size_t p = 0; p < kPanels; ++p) {
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      w[p * kVectors + v] = hn::LoadU(tag, weights + p * panel_stride + v * kLanes);
    }
  }
  weights += kVectors * kLanes;
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) {
    const Vec value = hn::Set(tag, row[r / kPointerRows][r % kPointerRows * row_stride]);
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
      sum[r][v] = hn::MulAdd(value, w[v], sum[r][v]);
    }
  }
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) {
    ++row[q];
    opaque(row[q]);
  }
}

// sum[r][p kVectors + v] += row r times vector v of panel p.
//
// Two prefetches a step take the place of streams that the hardware follows too late: the rows
// after this block (batch 64, k = 2: 0.93 -> 0.985 of peak), and a share of the next panel (AVX2,
// k = 8, weights larger than the L2 cache: 0.945 -> 0.975). Spread over all steps, since bursts
// every 16 to 64 steps reached 0.96. Tried without gain: prefetching this panel's own weights 256
// or 512 floats ahead (they are one stream), unrolling by 2 and 4 (AVX2: 0.96, 0.95).
// What stays in the L1 and L2 caches (images, one row) does without.
template <bool kPrefetch, std::size_t kBlock, std::size_t kVectors, std::size_t kPanels>
HWY_INLINE void accumulate(const Rows& rows, const float* HWY_RESTRICT x,
                           const float* HWY_RESTRICT weights, const Panels& panels,
                           const float* ahead, std::size_t ahead_bytes,
                           Vec (&sum)[kBlock][kPanels * kVectors]) {
  const std::size_t row_stride = rows.row_stride;
  constexpr std::size_t kPointers = (kBlock + kPointerRows - 1) / kPointerRows;
  const float* row[kPointers];
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) row[q] = x + q * kPointerRows * row_stride;
  const float* const end = x + rows.depth;
  if constexpr (kBlock * kVectors * kPanels < kChains) {
    // Too few sums to hide the latency of FMA: odd steps get sums of their own.
    Vec odd[kBlock][kPanels * kVectors];
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      HWPROF_UNROLL
      for (std::size_t v = 0; v < kPanels * kVectors; ++v) odd[r][v] = hn::Zero(Tag());
    }
    if (rows.depth % 2 != 0) {
      step<kBlock, kVectors, kPanels>(row, row_stride, weights, panels.stride, sum);
    }
    while (row[0] != end) {
      step<kBlock, kVectors, kPanels>(row, row_stride, weights, panels.stride, sum);
      step<kBlock, kVectors, kPanels>(row, row_stride, weights, panels.stride, odd);
    }
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      HWPROF_UNROLL
      for (std::size_t v = 0; v < kPanels * kVectors; ++v) {
        sum[r][v] = hn::Add(sum[r][v], odd[r][v]);
      }
    }
  } else {
    const char* next_rows = reinterpret_cast<const char*>(x + kBlock * row_stride);
    const std::size_t rows_step = kBlock * row_stride * sizeof(float) / rows.depth + 1;
    const char* next_weights = reinterpret_cast<const char*>(ahead);
    const std::size_t weights_step = ahead_bytes / rows.depth + 1;
    while (row[0] != end) {
      if constexpr (kPrefetch) {
        hwy::Prefetch(next_rows);
        next_rows += rows_step;
        hwy::Prefetch(next_weights);
        next_weights += weights_step;
      }
      step<kBlock, kVectors, kPanels>(row, row_stride, weights, panels.stride, sum);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
