// What the arguments of a call say, in the audit library: they lie as the stub of the architecture
// has saved them.
#pragma once

#include "src/observe/audit/system_call.h"
#include "src/observe/audit/table.h"
#include "src/observe/routines/call_shape.h"

namespace hwprof::observe::audit {

// Where an integer argument stands, behind the first.
constexpr u32 place_of(signed char position) {
  const auto place = static_cast<u32>(position);
  return place < kArgumentRegisters ? place : place - kArgumentRegisters + kStackPlace;
}

constexpr u64 page_of(u64 address) { return address >> 12; }

// Pages that could be read once, each at the place that its number gives. What stands there is a
// number of a page, and nothing else: threads that write at the same time do no harm.
inline constexpr u64 kKnownPages = 256;
inline u64 known_pages[kKnownPages];

inline bool is_readable(u64 address) {
  const u64 page = page_of(address);
  u64& known = known_pages[page % kKnownPages];
  if (__atomic_load_n(&known, __ATOMIC_RELAXED) == page) return true;
  if (!is_readable_now(address)) return false;
  __atomic_store_n(&known, page, __ATOMIC_RELAXED);
  return true;
}

// Of most routines more arguments are copied than there are: above them a stack may end. Those that
// are there lie in memory; where nothing may be asked, all are taken to be there. What was memory
// above a stack once need not be now: each call asks anew.
__attribute__((noinline, cold)) inline u32 words_in_two_pages(u32 words, const u64* first,
                                                              u64 left) {
  const bool reads_on =
      load(asks_nothing) != 0 || is_readable_now(reinterpret_cast<u64>(first) + left);
  return reads_on ? words : static_cast<u32>(left / sizeof(*first));
}

inline u32 words_to_copy(u32 words, const u64* first) {
  constexpr u64 kSmallestPage = 4096;
  const u64 left = kSmallestPage - reinterpret_cast<u64>(first) % kSmallestPage;
  return words * sizeof(*first) <= left ? words : words_in_two_pages(words, first, left);
}

// Only a pointer that is one is followed: a function that happens to have a BLAS routine's name and
// other arguments must not crash in our hands.
constexpr bool looks_like_pointer(u64 address, u64 alignment) {
  return address >= 65536 && (address >> 47) == 0 && address % alignment == 0;
}
inline bool may_be_pointer(u64 address, u64 alignment) {
  return looks_like_pointer(address, alignment) && is_readable(address);
}

// False: it cannot be read.
inline bool integer_of(const Routine& routine, const u64* arguments, signed char position,
                       long& value) {
  const u64 argument = arguments[place_of(position)];
  value = routine.wide ? static_cast<long>(argument) : static_cast<int>(argument);
  if (!routine.by_reference) return true;
  if (!may_be_pointer(argument, routine.wide ? 8 : 4)) return false;
  value = routine.wide ? *reinterpret_cast<const long*>(argument)
                       : *reinterpret_cast<const int*>(argument);
  return true;
}

inline bool shape_of(const Routine& routine, const u64* arguments, Shape& shape) {
  const auto letter = [&](signed char position, unsigned char& value) {
    const u64 argument = arguments[place_of(position)];
    if (routine.by_reference && !may_be_pointer(argument, 1)) return false;
    value = routine.by_reference ? *reinterpret_cast<const unsigned char*>(argument)
                                 : static_cast<unsigned char>(argument);
    return true;
  };
  const auto dimension = [&](signed char position, long& value) {
    return integer_of(routine, arguments, position, value);
  };
  return read_shape(routine, letter, dimension, shape);
}

}  // namespace hwprof::observe::audit
