// A whole product over the panels of kernels/panel-inl.h: which block serves which columns, and
// what becomes of the sums. Two sinks: store (with ReLU and a second summand), and the largest of
// all rows.
#if defined(HWPROF_KERNELS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_PRODUCT_INL_H_
#undef HWPROF_KERNELS_PRODUCT_INL_H_
#else
#define HWPROF_KERNELS_PRODUCT_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/product/panel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hwprof {
namespace HWY_NAMESPACE {

constexpr std::size_t kMaxPanels = 4;  // side by side, where rows are few
constexpr std::size_t kMaxColumns = kMaxPanels * kPanelColumns;

// out[row][column] = max(sum + addend[row][column], floor); floor 0 is ReLU, -infinity nothing.
class StoreSink {
 public:
  // Rows of out, and of addend unless that is null, are `stride` floats apart.
  StoreSink(float* out, const float* addend, std::size_t stride, bool relu)
      : out_(out),
        addend_(addend),
        stride_(stride),
        floor_(relu ? 0.0f : -std::numeric_limits<float>::infinity()) {}

  void begin(std::size_t column, std::size_t columns) {
    column_ = column;
    columns_ = columns;
  }

  template <class D, std::size_t kBlock, std::size_t kVectors>
  HWY_INLINE void take(D d, std::size_t row, std::size_t column,
                       hn::Vec<D> (&sum)[kBlock][kVectors]) {
    constexpr std::size_t kWidth = hn::MaxLanes(D());
    const auto floor = hn::Set(d, floor_);
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      HWPROF_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t from = column + v * kWidth;
        if (from >= columns_) continue;
        const std::size_t at = (row + r) * stride_ + column_ + from;
        const std::size_t count = HWY_MIN(kWidth, columns_ - from);
        HWY_ALIGN float part[kWidth];
        auto value = sum[r][v];
        if (addend_ != nullptr) {
          if (HWY_LIKELY(count == kWidth)) {
            value = hn::Add(value, hn::LoadU(d, addend_ + at));
          } else {
            for (std::size_t i = 0; i < kWidth; ++i) part[i] = i < count ? addend_[at + i] : 0;
            value = hn::Add(value, hn::Load(d, part));
          }
        }
        // Not Max: that would lose a NaN on x86.
        value = hn::IfThenElse(hn::Lt(value, floor), floor, value);
        if (HWY_LIKELY(count == kWidth)) {
          hn::StoreU(value, d, out_ + at);
        } else {
          hn::Store(value, d, part);
          for (std::size_t i = 0; i < count; ++i) out_[at + i] = part[i];
        }
      }
    }
  }

  void end() {}

 private:
  float* out_;
  const float* addend_;
  std::size_t stride_;
  float floor_;
  std::size_t column_ = 0, columns_ = 0;
};

// out[column] = max(0, largest sum of all rows), NaN when any of them is NaN.
//
// Max of floats drops a NaN on x86, and a test for it costs two more operations a sum. Two maxima
// of integers need none: as signed integers floats are ordered like numbers from +0 on, negative
// ones stay below 0 (so ReLU is the start value), and a positive NaN is above infinity; as
// unsigned integers a negative NaN, which is what x86 makes of inf - inf, is above everything.
class MaxSink {
 public:
  explicit MaxSink(float* out) : out_(out) {}

  void begin(std::size_t column, std::size_t columns) {
    column_ = column;
    columns_ = columns;
    std::memset(largest_, 0, sizeof largest_);
    std::memset(topmost_, 0, sizeof topmost_);
  }

  template <class D, std::size_t kBlock, std::size_t kVectors>
  HWY_INLINE void take(D /*d*/, std::size_t /*row*/, std::size_t column,
                       hn::Vec<D> (&sum)[kBlock][kVectors]) {
    const hn::RebindToSigned<D> as_signed;
    const hn::RebindToUnsigned<D> as_unsigned;
    HWPROF_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = column + v * hn::MaxLanes(D());
      auto largest = hn::Load(as_signed, largest_ + at);
      auto topmost = hn::Load(as_unsigned, topmost_ + at);
      HWPROF_UNROLL
      for (std::size_t r = 0; r < kBlock; ++r) {
        largest = hn::Max(largest, hn::BitCast(as_signed, sum[r][v]));
        topmost = hn::Max(topmost, hn::BitCast(as_unsigned, sum[r][v]));
      }
      hn::Store(largest, as_signed, largest_ + at);
      hn::Store(topmost, as_unsigned, topmost_ + at);
    }
  }

  void end() {
    constexpr std::uint32_t kMinusInfinity = 0xff800000U;
    for (std::size_t j = 0; j < columns_; ++j) {
      const void* bits = topmost_[j] > kMinusInfinity ? static_cast<const void*>(&topmost_[j])
                                                      : static_cast<const void*>(&largest_[j]);
      std::memcpy(out_ + column_ + j, bits, sizeof(float));
    }
  }

 private:
  HWY_ALIGN std::int32_t largest_[kMaxColumns];
  HWY_ALIGN std::uint32_t topmost_[kMaxColumns];
  float* out_;
  std::size_t column_ = 0, columns_ = 0;
};

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

// Four columns as dot products of kBlock rows. The last step overlaps the one before, with those
// lanes of x cleared that have been taken (their weights are zero, but infinity x 0 is NaN).
template <std::size_t kBlock, class Sink>
HWY_INLINE void dot_block(const Rows& rows, std::size_t first, const float* HWY_RESTRICT weights,
                          const float* bias, std::size_t column, Sink& sink) {
  const Tag tag;
  Vec sum[kBlock][kDotColumns];
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) {
    HWPROF_UNROLL
    for (std::size_t c = 0; c < kDotColumns; ++c) sum[r][c] = hn::Zero(tag);
  }
  const float* HWY_RESTRICT x = rows.x + first * rows.row_stride;
  const std::size_t whole = rows.depth / kLanes, rest = rows.depth % kLanes;
  for (std::size_t step = 0; step < whole; ++step) {
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      const Vec value = hn::LoadU(tag, x + r * rows.row_stride + step * kLanes);
      HWPROF_UNROLL
      for (std::size_t c = 0; c < kDotColumns; ++c) {
        sum[r][c] = hn::MulAdd(value, hn::LoadU(tag, weights + c * kLanes), sum[r][c]);
      }
    }
    weights += kDotColumns * kLanes;
  }
  if (rest != 0) {
    const auto taken = hn::FirstN(tag, kLanes - rest);
    HWPROF_UNROLL
    for (std::size_t r = 0; r < kBlock; ++r) {
      const Vec value =
          hn::IfThenZeroElse(taken, hn::LoadU(tag, x + r * rows.row_stride + rows.depth - kLanes));
      HWPROF_UNROLL
      for (std::size_t c = 0; c < kDotColumns; ++c) {
        sum[r][c] = hn::MulAdd(value, hn::LoadU(tag, weights + c * kLanes), sum[r][c]);
      }
    }
  }
  const DotTag dot_tag;
  const auto start = hn::LoadU(dot_tag, bias);
  hn::Vec<DotTag> result[kBlock][1];
  HWPROF_UNROLL
  for (std::size_t r = 0; r < kBlock; ++r) result[r][0] = hn::Add(start, sums_of_lanes(sum[r]));
  sink.take(dot_tag, first, column, result);
}

template <std::size_t kBlock, class... Args>
HWY_INLINE void dot_block_of(std::size_t count, Args&&... args) {
  if constexpr (kBlock > 0) {
    if (count == kBlock) {
      dot_block<kBlock>(args...);
    } else {
      dot_block_of<kBlock - 1>(count, args...);
    }
  }
}

template <class Sink>
HWY_NOINLINE void all_dots(std::size_t count, const Rows& rows, const Layout& layout,
                           const float* weights, const float* bias, Sink& sink) {
  const std::size_t blocks = (count + kDotRows - 1) / kDotRows;
  for (std::size_t q = 0; q < blocks; ++q) {
    const auto [first, end] = share_of(count, q, blocks);
    for (std::size_t group = 0; group < layout.dot_groups(); ++group) {
      const std::size_t column = group * kDotColumns;
      dot_block_of<kDotRows>(end - first, rows, first, weights + group * layout.dot_group_floats(),
                             bias + column, column, sink);
    }
  }
}
#endif  // HWPROF_HAS_DOTS

// `count` rows times `panels_taken` full panels side by side: more than two for one row only.
template <bool kPrefetch, class Sink>
HWY_INLINE void full_panels(std::size_t count, const Rows& rows, std::size_t panels_taken,
                            const Panels& panels, Sink& sink) {
  switch (panels_taken) {
    case 4:
      return all_rows<false, 1, kPanelVectors, 4>(count, rows, panels, sink);
    case 3:
      return all_rows<false, 1, kPanelVectors, 3>(count, rows, panels, sink);
    case 2:
      return all_rows<false, kPairRows, kPanelVectors, 2>(count, rows, panels, sink);
    default:
      return all_rows<kPrefetch, kRows[kPanelVectors], kPanelVectors, 1>(count, rows, panels, sink);
  }
}

// Parts first_part .. last_part of the product of `count` rows with the packed weights, each
// announced to the sink. kPrefetch: rows and weights stream from beyond the L2 cache. Few rows take
// several panels at once: one row and one panel would be two chains of sums, where the latency of
// FMA wants eight.
template <bool kPrefetch, class Sink>
HWY_INLINE void multiply(std::size_t count, const Rows& rows, const Layout& layout,
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
      const std::size_t wide = count == 1 ? kMaxPanels : count <= kPairRows ? 2 : 1;
      const std::size_t taken = HWY_MIN(left, wide);
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
      full_panels<kPrefetch>(count, rows, taken, panels, sink);
      part += taken;
    } else if (part == layout.full && layout.rest_vectors != 0) {
      const Panels panels{
          .weights = packed + layout.rest_offset(), .bias = padded, .ahead = packed};
      const std::size_t columns = layout.dot_column() - layout.rest_column();
      pad(layout.rest_column(), columns);
      sink.begin(layout.rest_column(), columns);
      if (layout.rest_vectors == 1) {
        all_rows<kPrefetch, kRows[1], 1, 1>(count, rows, panels, sink);
      } else {
        all_rows<kPrefetch, kRows[2], 2, 1>(count, rows, panels, sink);
      }
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
