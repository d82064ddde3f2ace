// The calls that are counted instruction by instruction, in the audit library: which they are, and
// how they reach libhwprof-exact. That one is preloaded, so that it lies in the program's own
// namespace: it needs the C library. The stub calls its function in place of the routine, with the
// registers and the copied arguments that the routine would have, and the routine's own address in
// a register that no call of a BLAS uses.
#pragma once

#include "src/observe/audit/elf_object.h"
#include "src/observe/audit/handover.h"
#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

#if defined(__x86_64__)
inline constexpr bool kCountsExactly = true;
#else
inline constexpr bool kCountsExactly = false;
#endif
// Where the stub keeps r10 among the arguments (stubs_x86.h).
inline constexpr u32 kHandoverPlace = 7;

inline u64 counter_address = 0;  // 0: this process has no libhwprof-exact
inline Handover handover;        // of one call at a time

// Of regions it is told here, before its own code runs.
inline void find_counter(Table& table, const ElfObject& object) {
  if (!kCountsExactly || *table.exact.name == '\0' || counter_address != 0) return;
  counter_address = object.function(kCounterName);
  if (counter_address == 0 || table.exact.of_region == 0) return;
  const auto regions = reinterpret_cast<RegionHandover*>(object.variable(kRegionsName));
  if (regions != nullptr) *regions = {.wanted = &table.exact, .asks_nothing = &asks_nothing};
}

// What to call in place of the routine, with `place` as the handover; nullptr: the routine itself,
// and its call is counted by nobody.
inline const void* hand_over(Table& table, const Site& site, u64 call, const void* routine,
                             u64 stack_words, const Shape* shape, u64& place) {
  // To count takes system calls that the program's filter may end it for.
  if (load(asks_nothing) != 0) return add(table.exact.filtered), nullptr;
  // Another thread's call is being handed over: it takes no longer than to copy it.
  constexpr int kTries = 100'000;
  int tries = 0;
  while (counter_address != 0 && tries < kTries &&
         __atomic_exchange_n(&handover.busy, 1, __ATOMIC_ACQUIRE) != 0)
    ++tries;
  if (counter_address == 0 || tries == kTries) return add(table.exact.without_counter), nullptr;
  handover.routine = routine;
  handover.stack_words = stack_words;
  handover.call = call;
  handover.shape = shape != nullptr ? *shape : Shape{};
  handover.has_shape = shape != nullptr;
  handover.symbol = site.symbol;
  handover.caller = table.files[site.caller].path;
  handover.library = table.files[site.library].path;
  add(table.exact.handed_over);
  place = reinterpret_cast<u64>(&handover);
  return reinterpret_cast<const void*>(counter_address);
}

// Of a call of the routine: what to call in its place; nullptr: it is not chosen, or none can be.
inline const void* counter_of(Table& table, const Site& site, const void* routine, u64 stack_words,
                              const Shape* shape, u64& place) {
  const u64 call = table.exact.choose();
  return call == 0 ? nullptr : hand_over(table, site, call, routine, stack_words, shape, place);
}

}  // namespace hwprof::observe::audit
