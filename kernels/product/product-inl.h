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

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/product/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

constexpr std::size_t kMaxPanels = 4;  // side by side, where rows are few
constexpr std::size_t kMaxColumns = kMaxPanels * kPanelColumns;

// What becomes of the sums, one of two:
//
//   stored:  out[row][column] = max(sum + addend[row][column], floor); floor 0 is ReLU, -infinity
//            nothing
//   largest: out[column] = max(0, largest sum of all rows), NaN when any of them is NaN
//
// Max of floats drops a NaN on x86, and a test for it costs two more operations a sum. Two maxima
// of integers need none: as signed integers floats are ordered like numbers from +0 on, negative
// ones stay below 0 (so ReLU is the start value), and a positive NaN is above infinity; as
// unsigned integers a negative NaN, which is what x86 makes of inf - inf, is above everything.
class Sink {
 public:
  // Rows of out, and of addend unless that is null, are `stride` floats apart.
  static Sink stored(float* out, const float* addend, std::size_t stride, bool relu) {
    return {out, addend, stride, relu ? 0.0f : -std::numeric_limits<float>::infinity(), false};
  }
  static Sink largest(float* out) { return {out, nullptr, 0, 0.0f, true}; }

  // The next columns of the product; the blocks count theirs from the first of these.
  void begin(std::size_t column, std::size_t columns) {
    column_ = column;
    columns_ = columns;
    if (!takes_largest_) return;
    std::memset(largest_, 0, sizeof largest_);
    std::memset(topmost_, 0, sizeof topmost_);
  }

  // The sums of a block. Whole vectors that are stored go straight from their registers; anything
  // else goes over the stack to a loop, so that only this is unrolled in every block.
  template <std::size_t kBlock, std::size_t kVectors>
  HWY_INLINE void take(std::size_t row, std::size_t column, Vec (&sum)[kBlock][kVectors]) {
    const Tag d;
    constexpr std::size_t kWidth = kVectors * kLanes;
    const bool whole = column + kWidth <= columns_;
    if (HWY_UNLIKELY(takes_largest_ || !whole)) {
      HWY_ALIGN float sums[kBlock * kWidth];
      HWPROF_UNROLL
      for (std::size_t r = 0; r < kBlock; ++r) {
        HWPROF_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          hn::Store(sum[r][v], d, sums + r * kWidth + v * kLanes);
        }
      }
      takes_largest_ ? fold(column, sums, kBlock, kWidth)
                     : store_some(row, column, sums, kBlock, kWidth);
      return;
    }
    const std::size_t at = row * stride_ + column_ + column;
    if (addend_ != nullptr) {
      HWPROF_UNROLL
      for (std::size_t r = 0; r < kBlock; ++r) {
        HWPROF_UNROLL
        for (std::size_t v = 0; v < kVectors; ++v) {
          const float* addend = addend_ + at + r * stride_ + v * kLanes;
          sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, addend));
        }
      }
    }
    const auto floor = hn::Set(d, floor_);
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      HWPROF_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        // Not Max: that would lose a NaN on x86.
        hn::StoreU(hn::IfThenElse(hn::Lt(sum[r][v], floor), floor, sum[r][v]), d,
                   out_ + at + r * stride_ + v * kLanes);
      }
    }
  }

  // The sums of kColumns dot products, [kBlock][kColumns], without their bias: not by way of the
  // blocks of vectors, since a call for so few floats would cost 5 % of a linear layer of 2
  // outputs.
  template <std::size_t kBlock, std::size_t kColumns>
  HWY_INLINE void take_few(std::size_t row, std::size_t column, const float* sums,
                           const float* bias) {
    if (takes_largest_) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        std::int32_t largest = largest_[column + c];
        std::uint32_t topmost = topmost_[column + c];
        for (std::size_t r = 0; r < kBlock; ++r) {
          const float sum = sums[r * kColumns + c] + bias[c];
          largest = HWY_MAX(largest, std::bit_cast<std::int32_t>(sum));
          topmost = HWY_MAX(topmost, std::bit_cast<std::uint32_t>(sum));
        }
        largest_[column + c] = largest;
        topmost_[column + c] = topmost;
      }
      return;
    }
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      const std::size_t at = (row + r) * stride_ + column_ + column;
      if constexpr (kColumns == hn::MaxLanes(DotTag())) {
        // Not store_vector(), whose parts of vectors cost 103 inputs and 4 outputs a tenth.
        const DotTag d;
        auto sum = hn::Add(hn::Load(d, sums + r * kColumns), hn::LoadU(d, bias));
        if (addend_ != nullptr) sum = hn::Add(sum, hn::LoadU(d, addend_ + at));
        const auto floor = hn::Set(d, floor_);
        hn::StoreU(hn::IfThenElse(hn::Lt(sum, floor), floor, sum), d, out_ + at);  // not Max
      } else {
        for (std::size_t c = 0; c < kColumns; ++c) {
          float sum = sums[r * kColumns + c] + bias[c];
          if (addend_ != nullptr) sum += addend_[at + c];
          out_[at + c] = sum < floor_ ? floor_ : sum;
        }
      }
    }
  }

  void end() {
    if (!takes_largest_) return;
    constexpr std::uint32_t kMinusInfinity = 0xff800000U;
    for (std::size_t j = 0; j < columns_; ++j) {
      const void* bits = topmost_[j] > kMinusInfinity ? static_cast<const void*>(&topmost_[j])
                                                      : static_cast<const void*>(&largest_[j]);
      std::memcpy(out_ + column_ + j, bits, sizeof(float));
    }
  }

 private:
  Sink(float* out, const float* addend, std::size_t stride, float floor, bool takes_largest)
      : out_(out), addend_(addend), stride_(stride), floor_(floor), takes_largest_(takes_largest) {}

  // The lanes of one vector that are columns.
  HWY_INLINE void store_vector(std::size_t row, std::size_t column, Vec value) const {
    const Tag d;
    const std::size_t at = row * stride_ + column_ + column;
    const std::size_t count = HWY_MIN(kLanes, columns_ - column);
    HWY_ALIGN float part[kLanes];
    if (addend_ != nullptr) {
      for (std::size_t i = 0; i < kLanes; ++i) part[i] = i < count ? addend_[at + i] : 0;
      value = hn::Add(value, hn::Load(d, part));
    }
    const auto floor = hn::Set(d, floor_);
    value = hn::IfThenElse(hn::Lt(value, floor), floor, value);  // not Max, as above
    if (count == kLanes) return hn::StoreU(value, d, out_ + at);
    hn::Store(value, d, part);
    for (std::size_t i = 0; i < count; ++i) out_[at + i] = part[i];
  }

  // sums: [rows][width], a whole number of vectors, in part beyond the columns.
  HWY_NOINLINE void store_some(std::size_t row, std::size_t column, const float* sums,
                               std::size_t rows, std::size_t width) const {
    const Tag d;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t v = 0; v < width && column + v < columns_; v += kLanes) {
        store_vector(row + r, column + v, hn::Load(d, sums + r * width + v));
      }
    }
  }

  // The same, kept in the maxima.
  HWY_NOINLINE void fold(std::size_t column, const float* sums, std::size_t rows,
                         std::size_t width) {
    const Tag d;
    const hn::RebindToSigned<Tag> as_signed;
    const hn::RebindToUnsigned<Tag> as_unsigned;
    for (std::size_t v = 0; v < width; v += kLanes) {
      auto largest = hn::Load(as_signed, largest_ + column + v);
      auto topmost = hn::Load(as_unsigned, topmost_ + column + v);
      for (std::size_t r = 0; r < rows; ++r) {
        const auto sum = hn::Load(d, sums + r * width + v);
        largest = hn::Max(largest, hn::BitCast(as_signed, sum));
        topmost = hn::Max(topmost, hn::BitCast(as_unsigned, sum));
      }
      hn::Store(largest, as_signed, largest_ + column + v);
      hn::Store(topmost, as_unsigned, topmost_ + column + v);
    }
  }

  HWY_ALIGN std::int32_t largest_[kMaxColumns];  // only where the largest is taken
  HWY_ALIGN std::uint32_t topmost_[kMaxColumns];
  float* out_;
  const float* addend_;
  std::size_t stride_;
  float floor_;
  bool takes_largest_;
  std::size_t column_ = 0, columns_ = 0;
};

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

// One step of kLanes of the depth, kPointerRows rows a pointer. kLast: without the lanes of x that
// `taken` names.
template <bool kLast, std::size_t kBlock, std::size_t kColumns, std::size_t kPointers>
HWY_INLINE void dot_step(const float* (&row)[kPointers], std::size_t row_stride,
                         const float* HWY_RESTRICT& weights, hn::Mask<Tag> taken,
                         Vec (&sum)[kBlock * kColumns]) {
  const Tag tag;
  Vec w[kColumns];
  HWPROF_UNROLL
  for (std::size_t c = 0; c < kColumns; ++c) w[c] = hn::LoadU(tag, weights + c * kLanes);
  weights += kColumns * kLanes;
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) {
    Vec value = hn::LoadU(tag, row[r / kPointerRows] + r % kPointerRows * row_stride);
    if constexpr (kLast) value = hn::IfThenZeroElse(taken, value);
    // GCC would load x again for each column, and rows that begin anywhere straddle lines.
    if constexpr (kColumns > 1) asm volatile("" : "+v"(value.raw));
    HWPROF_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      sum[r * kColumns + c] = hn::MulAdd(value, w[c], sum[r * kColumns + c]);
    }
  }
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) {
    row[q] += kLanes;
    opaque(row[q]);
  }
}

// kColumns columns as dot products of kBlock rows. The last step overlaps the one before, with
// those lanes of x cleared that have been taken (their weights are zero, but infinity x 0 is NaN).
template <std::size_t kBlock, std::size_t kColumns>
HWY_NOINLINE void dot_block(const Rows& rows, std::size_t first, const float* HWY_RESTRICT weights,
                            const float* bias, std::size_t column, Sink& sink) {
  constexpr std::size_t kSums = kBlock * kColumns;
  constexpr std::size_t kPointers = (kBlock + kPointerRows - 1) / kPointerRows;
  const Tag tag;
  const std::size_t row_stride = rows.row_stride;
  const std::size_t steps = rows.depth / kLanes, rest = rows.depth % kLanes;
  const auto taken = hn::FirstN(tag, kLanes - rest);
  Vec sum[kSums];
  HWPROF_UNROLL
  for (std::size_t i = 0; i < kSums; ++i) sum[i] = hn::Zero(tag);
  const float* row[kPointers];
  HWPROF_UNROLL
  for (std::size_t q = 0; q < kPointers; ++q) {
    row[q] = rows.x + (first + q * kPointerRows) * row_stride;
  }
  const float* const end = row[0] + steps * kLanes;
  if constexpr (kSums < kChains) {
    // Too few sums to hide the latency of FMA: odd steps get sums of their own.
    Vec odd[kSums];
    HWPROF_UNROLL
    for (std::size_t i = 0; i < kSums; ++i) odd[i] = hn::Zero(tag);
    if (steps % 2 != 0) {
      dot_step<false, kBlock, kColumns>(row, row_stride, weights, taken, sum);
    }
    while (row[0] != end) {
      dot_step<false, kBlock, kColumns>(row, row_stride, weights, taken, sum);
      dot_step<false, kBlock, kColumns>(row, row_stride, weights, taken, odd);
    }
    HWPROF_UNROLL
    for (std::size_t i = 0; i < kSums; ++i) sum[i] = hn::Add(sum[i], odd[i]);
  } else {
    while (row[0] != end) {
      dot_step<false, kBlock, kColumns>(row, row_stride, weights, taken, sum);
    }
  }
  if (rest != 0) {
    HWPROF_UNROLL
    for (std::size_t q = 0; q < kPointers; ++q) row[q] -= kLanes - rest;
    dot_step<true, kBlock, kColumns>(row, row_stride, weights, taken, sum);
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

using DotBlock = void (*)(const Rows&, std::size_t, const float*, const float*, std::size_t, Sink&);

template <std::size_t kColumns, class RowsBut1>
struct DotTable;
template <std::size_t kColumns, std::size_t... kRowsBut1>
struct DotTable<kColumns, std::index_sequence<kRowsBut1...>> {
  static constexpr DotBlock kOf[] = {dot_block<kRowsBut1 + 1, kColumns>...};
};
template <std::size_t kColumns>
constexpr const DotBlock* kDotBlocks =
    DotTable<kColumns, std::make_index_sequence<kDotRows[kColumns]>>::kOf;  // [rows - 1]

HWY_INLINE void all_dots(std::size_t count, const Rows& rows, const Layout& layout,
                         const float* weights, const float* bias, Sink& sink) {
  constexpr const DotBlock* kOf[] = {nullptr, kDotBlocks<1>, kDotBlocks<2>, kDotBlocks<3>,
                                     kDotBlocks<4>};
  const std::size_t groups = layout.dot_groups();
  const std::size_t largest = (layout.dot_columns + groups - 1) / groups;
  const std::size_t blocks = (count + kDotRows[largest] - 1) / kDotRows[largest];
  for (std::size_t q = 0; q < blocks; ++q) {
    const auto [first, end] = share_of(count, q, blocks);
    for (std::size_t group = 0; group < groups; ++group) {
      const auto [column, last] = layout.dot_group(group);
      kOf[last - column][end - first - 1](rows, first, weights + column * layout.dot_floats(),
                                          bias + column, column, sink);
    }
  }
}
#endif  // HWPROF_HAS_DOTS

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
