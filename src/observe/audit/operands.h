// A few elements of the operands of some calls, in the audit library: what raises no flag, since it
// is computed with in silence (a quiet NaN), is found where it lies.
//
// Only elements that the call itself will read, and each page of them is asked of the kernel before
// it is touched: a function with a BLAS routine's name need be none.
#pragma once

#include "src/observe/audit/arguments.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/call_operand.h"

namespace hwprof::observe::audit {

struct Found {
  bool looked_at = false, nan = false, infinite = false, denormal = false;
};

// The first call of a shape, and then one of so many; of a large one more, which cost it less.
constexpr bool is_sampled(u64 number, const Shape& shape) {
  constexpr u64 kSmall = 64, kLarge = 8;
  constexpr u64 kLargeProducts = 1'000'000;  // half of a millisecond of scalar code
  const bool large = shape.m != 0 && shape.n != 0 && shape.k >= kLargeProducts / shape.m / shape.n;
  return number % (large ? kLarge : kSmall) == 0;
}

// The number with these bits: an exponent of all ones or all zeros tells.
template <class Bits>
void classify(Bits bits, Bits exponent, Found& found) {
  const Bits fraction = bits & (((exponent & -exponent) - 1));
  if ((bits & exponent) == exponent) (fraction != 0 ? found.nan : found.infinite) = true;
  if ((bits & exponent) == 0 && fraction != 0) found.denormal = true;
}

inline void classify_at(u64 address, u32 number_bytes, Found& found) {
  if (number_bytes == 4) {
    classify<u32>(*reinterpret_cast<const u32*>(address), 0x7f80'0000, found);
  } else {
    classify<u64>(*reinterpret_cast<const u64*>(address), 0x7ff0'0000'0000'0000, found);
  }
}

// At most kPieces columns, spread evenly, and of each at most kElements that follow each other.
inline Found look_at(u64 address, const Operand& operand, u32 number_bytes, u32 numbers) {
  constexpr u64 kPieces = 4, kElements = 16;
  Found found;
  const u64 bytes = u64{number_bytes} * numbers;
  if (operand.rows == 0 || operand.columns == 0 || !looks_like_pointer(address, number_bytes))
    return found;
  const u64 pieces = operand.columns < kPieces ? operand.columns : kPieces;
  const u64 elements = operand.rows < kElements ? operand.rows : kElements;
  u64 known_page = 0;
  for (u64 piece = 0; piece < pieces; ++piece) {
    // Of all rows, too, a part each.
    const u64 column = pieces > 1 ? (operand.columns - 1) * piece / (pieces - 1) : 0;
    const u64 row = pieces > 1 ? (operand.rows - elements) * piece / (pieces - 1) : 0;
    u64 at = address + (column * operand.step + row) * bytes;
    for (u64 number = 0; number < elements * numbers; ++number, at += number_bytes) {
      if (page_of(at) != known_page) {
        if (!looks_like_pointer(at, number_bytes) || !is_readable_now(at)) return found;
        known_page = page_of(at);
      }
      classify_at(at, number_bytes, found);
      found.looked_at = true;
    }
  }
  return found;
}

inline void count_in(const Found& found, OperandSamples& samples) {
  if (!found.looked_at) return;
  add(samples.looked_at);
  if (found.nan) add(samples.nan);
  if (found.infinite) add(samples.infinite);
  if (found.denormal) add(samples.denormal);
}

// True: NaN is among them.
inline bool sample_operands(const Routine& routine, const u64* arguments, CountedShape& counted) {
  bool nan = false;
  const signed char positions[] = {routine.a, routine.b};
  for (int i = 0; i < 2; ++i) {
    long step = 0;
    const signed char at = positions[i];
    if (at < 0 || !integer_of(routine, arguments, static_cast<signed char>(at + 1), step)) continue;
    const Found found =
        look_at(arguments[place_of(at)], operand_of(routine, counted.shape, i == 1, step),
                routine.number_bytes, routine.complex ? 2 : 1);
    count_in(found, counted.operands);
    nan = nan || found.nan;
  }
  return nan;
}

inline void note_nan(Table& in, const Site& site) {
  if (load(in.first_nan) != 0) return;
  u64 none = 0;
  __atomic_compare_exchange_n(&in.first_nan, &none, static_cast<u64>(&site - in.sites) + 1, false,
                              __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

}  // namespace hwprof::observe::audit
