// What becomes of the sums of a product (kernels/product/product-inl.h).
#if defined(HWPROF_KERNELS_SINK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HWPROF_KERNELS_SINK_INL_H_
#undef HWPROF_KERNELS_SINK_INL_H_
#else
#define HWPROF_KERNELS_SINK_INL_H_
#endif

#include <bit>
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

}  // namespace HWY_NAMESPACE
}  // namespace hwprof
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
