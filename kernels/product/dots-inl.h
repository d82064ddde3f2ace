// Columns as dot products (kernels/product/panel-inl.h says which): the depth lies across the
// vector.
//
// A vector of x serves as many multiply-adds as there are columns, and most loads of it straddle
// two lines of the cache: one or two columns are bound by loads. Rows of a convolution overlap, so
// that position j of row n is position j - 1 of row n + 1: a window takes up to four positions at
// once, with their weights in registers, and loads rows + positions - 1 vectors for rows x
// positions multiply-adds of a column.
#if defined(HWPROF_KERNELS_DOTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_DOTS_INL_H_
#undef HWPROF_KERNELS_DOTS_INL_H_
#else
#define HWPROF_KERNELS_DOTS_INL_H_
#endif

#include <cstddef>
#include <iterator>
#include <utility>

#include "kernels/product/panel-inl.h"
#include "kernels/product/sink-inl.h"
#include "kernels/thread_team.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

#if HWPROF_HAS_DOTS
// The sum of the 128-bit blocks of v.
template <class D>
HWY_INLINE hn::Vec<DotTag> add_blocks(D /*d*/, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == kDotColumns) {
    return v;
  } else {
    const hn::Half<D> half;
    return add_blocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The four sums of a row: lane c of the result is the sum of all lanes of sum[c].
HWY_INLINE hn::Vec<DotTag> sums_of_lanes(const Vec (&sum)[kDotColumns]) {
  const Tag tag;
  const hn::Repartition<double, Tag> pairs;
  // Of each 128-bit block: a0 + a2, b0 + b2, a1 + a3, b1 + b3.
  const auto half = [&](Vec a, Vec b) HWY_ATTR {
    return hn::BitCast(pairs,
                       hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b)));
  };
  const auto ab = half(sum[0], sum[1]), cd = half(sum[2], sum[3]);
  const Vec blocks = hn::Add(hn::BitCast(tag, hn::InterleaveLower(pairs, ab, cd)),
                             hn::BitCast(tag, hn::InterleaveUpper(pairs, ab, cd)));
  return add_blocks(tag, blocks);
}

// One step of kLanes channels, kPointerRows rows a pointer: vector i of x is what row i - j
// multiplies by the weights of its position j, for each of kWindow positions. kLast: without the
// lanes of x that `taken` names.
template <bool kLast, std::size_t kBlock, std::size_t kColumns, std::size_t kWindow,
          std::size_t kPointers>
HWY_INLINE void dot_step(const float* (&row)[kPointers], std::size_t row_stride,
                         const float* HWY_RESTRICT& weights, hn::Mask<Tag> taken,
                         Vec (&sum)[kBlock * kColumns]) {
  const Tag tag;
  Vec w[kWindow * kColumns];
  HWPROF_UNROLL
  for (std::size_t i = 0; i < kWindow * kColumns; ++i) w[i] = hn::LoadU(tag, weights + i * kLanes);
  weights += kWindow * kColumns * kLanes;
  HWPROF_UNROLL
  for (std::size_t i = 0; i < kBlock + kWindow - 1; ++i) {
    Vec value = hn::LoadU(tag, row[i / kPointerRows] + i % kPointerRows * row_stride);
    if constexpr (kLast) value = hn::IfThenZeroElse(taken, value);
    // GCC would load x again for each use, and rows that begin anywhere straddle lines.
    if constexpr (kWindow * kColumns > 1) asm volatile("" : "+v"(value.raw));
    HWPROF_UNROLL
    for (std::size_t j = 0; j < kWindow; ++j) {
      if (j > i || i - j >= kBlock) continue;
      HWPROF_UNROLL
      for (std::size_t c = 0; c < kColumns; ++c) {
        Vec& s = sum[(i - j) * kColumns + c];
        s = hn::MulAdd(value, w[j * kColumns + c], s);
      }
    }
  }
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) {
    row[q] += kLanes;
    opaque(row[q]);
  }
}

// sum[r][c] += row r times column c in kWindow positions of `depth` floats. The last step overlaps
// the one before, with those lanes of x cleared that have been taken (their weights are zero, but
// infinity x 0 is NaN).
template <std::size_t kBlock, std::size_t kColumns, std::size_t kWindow>
HWY_INLINE void dot_pass(const float* x, std::size_t row_stride, std::size_t depth,
                         const float* HWY_RESTRICT& weights, Vec (&sum)[kBlock * kColumns]) {
  constexpr std::size_t kSums = kBlock * kColumns;
  constexpr std::size_t kPointers = (kBlock + kWindow - 1 + kPointerRows - 1) / kPointerRows;
  const Tag tag;
  const std::size_t steps = depth / kLanes, rest = depth % kLanes;
  const auto taken = hn::FirstN(tag, kLanes - rest);
  const float* row[kPointers];
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) row[q] = x + q * kPointerRows * row_stride;
  const float* const end = row[0] + steps * kLanes;
  if constexpr (kSums < kChains) {
    // Too few sums to hide the latency of FMA: odd steps get sums of their own.
    Vec odd[kSums];
    HWPROF_UNROLL
    for (std::size_t i = 0; i < kSums; ++i) odd[i] = hn::Zero(tag);
    if (steps % 2 != 0) {
      dot_step<false, kBlock, kColumns, kWindow>(row, row_stride, weights, taken, sum);
    }
    while (row[0] != end) {
      dot_step<false, kBlock, kColumns, kWindow>(row, row_stride, weights, taken, sum);
      dot_step<false, kBlock, kColumns, kWindow>(row, row_stride, weights, taken, odd);
    }
    HWPROF_UNROLL
    for (std::size_t i = 0; i < kSums; ++i) sum[i] = hn::Add(sum[i], odd[i]);
  } else {
    while (row[0] != end) {
      dot_step<false, kBlock, kColumns, kWindow>(row, row_stride, weights, taken, sum);
    }
  }
  if (rest != 0) {
    HWPROF_UNROLL
    for (std::size_t q = 0; q < kPointers; ++q) row[q] -= kLanes - rest;
    dot_step<true, kBlock, kColumns, kWindow>(row, row_stride, weights, taken, sum);
  }
}

// The same in `left` floats from x on: passes of kWindow positions, then one of the rest.
template <std::size_t kBlock, std::size_t kColumns, std::size_t kWindow>
HWY_INLINE void dot_passes(const float* x, std::size_t left, std::size_t depth,
                           const float* HWY_RESTRICT& weights, Vec (&sum)[kBlock * kColumns]) {
  constexpr std::size_t kNext = kWindow - 1;
  for (; left >= kWindow * depth; left -= kWindow * depth) {
    dot_pass<kBlock, kColumns, kWindow>(x, depth, depth, weights, sum);
    x += kWindow * depth;
  }
  if constexpr (kNext != 0) dot_passes<kBlock, kColumns, kNext>(x, left, depth, weights, sum);
}

// kColumns columns as dot products of kBlock rows. kWindow > 1: of rows that overlap, the stride is
// a position.
template <std::size_t kBlock, std::size_t kColumns, std::size_t kWindow>
HWY_NOINLINE void dot_block(const Rows& rows, std::size_t first, const float* HWY_RESTRICT weights,
                            const float* bias, std::size_t column, Sink& sink) {
  constexpr std::size_t kSums = kBlock * kColumns;
  const Tag tag;
  Vec sum[kSums];
  HWPROF_UNROLL
  for (std::size_t i = 0; i < kSums; ++i) sum[i] = hn::Zero(tag);
  const float* x = rows.x + first * rows.row_stride;
  if constexpr (kWindow == 1) {
    dot_pass<kBlock, kColumns, 1>(x, rows.row_stride, rows.depth, weights, sum);
  } else {
    dot_passes<kBlock, kColumns, kWindow>(x, rows.depth, rows.row_stride, weights, sum);
  }
  // Four sums at a time, whichever rows and columns these are.
  constexpr std::size_t kQuads = (kSums + 3) / 4;
  HWY_ALIGN float sums[kQuads * 4];
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kQuads; ++q) {
    Vec four[4];
    HWPROF_UNROLL
    for (std::size_t i = 0; i < 4; ++i) {
      four[i] = q * 4 + i < kSums ? sum[HWY_MIN(q * 4 + i, kSums - 1)] : hn::Zero(tag);
    }
    hn::Store(sums_of_lanes(four), DotTag(), sums + q * 4);
  }
  sink.take_few<kBlock, kColumns>(first, column, sums, bias);
}

// The blocks of 1 .. `most` rows.
struct DotBlocks {
  using Block = void (*)(const Rows&, std::size_t, const float*, const float*, std::size_t, Sink&);
  std::size_t most = 0;
  const Block* of = nullptr;  // of[rows - 1]
};

template <std::size_t kColumns, std::size_t kWindow, class RowsBut1>
struct DotTable;
template <std::size_t kColumns, std::size_t kWindow, std::size_t... kRowsBut1>
struct DotTable<kColumns, kWindow, std::index_sequence<kRowsBut1...>> {
  static constexpr DotBlocks::Block kOf[] = {dot_block<kRowsBut1 + 1, kColumns, kWindow>...};
  static constexpr DotBlocks kBlocks = {sizeof...(kRowsBut1), kOf};
};
template <std::size_t kColumns>
constexpr DotBlocks kDotBlocks =
    DotTable<kColumns, 1, std::make_index_sequence<kDotRows[kColumns]>>::kBlocks;
template <std::size_t kColumns>
constexpr DotBlocks kWindowBlocks =
    DotTable<kColumns, kWindows[kColumns].positions,
             std::make_index_sequence<kWindows[kColumns].rows>>::kBlocks;

// of[columns of a group]
HWY_INLINE void all_groups(const DotBlocks* of, std::size_t count, const Rows& rows,
                           const Layout& layout, const float* weights, const float* bias,
                           Sink& sink) {
  const std::size_t groups = layout.dot_groups();
  const std::size_t largest = (layout.dot_columns + groups - 1) / groups;
  const std::size_t blocks = (count + of[largest].most - 1) / of[largest].most;
  for (std::size_t q = 0; q < blocks; ++q) {
    const auto [first, end] = share_of(count, q, blocks);
    for (std::size_t group = 0; group < groups; ++group) {
      const auto [column, last] = layout.dot_group(group);
      of[last - column].of[end - first - 1](rows, first, weights + column * layout.dot_floats,
                                            bias + column, column, sink);
    }
  }
}

HWY_INLINE void all_dots(std::size_t count, const Rows& rows, const Layout& layout,
                         const float* weights, const float* bias, Sink& sink) {
  static constexpr DotBlocks kPlain[] = {
      {}, kDotBlocks<1>, kDotBlocks<2>, kDotBlocks<3>, kDotBlocks<4>};
  static constexpr DotBlocks kWindowed[] = {
      {}, kWindowBlocks<1>, kWindowBlocks<std::size(kWindows) - 1>};  // of one column or two
  // Not one call with either table: the choice would cost a small linear layer some percent.
  if (HWY_UNLIKELY(layout.window > 1)) {
    all_groups(kWindowed, count, rows, layout, weights, bias, sink);
  } else {
    all_groups(kPlain, count, rows, layout, weights, bias, sink);
  }
}
#endif  // HWPROF_HAS_DOTS

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
