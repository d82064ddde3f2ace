// What the arithmetic of one call met, by the flags that the CPU sets and nobody clears: in the
// audit library and, for what it can tell, in hwprof. A flag that was set before the call says
// nothing of it, so it is cleared for its time and set again when the call returns: the program has
// the flags that it would have alone. Nothing traps here: where the program has any exception trap,
// its flags are left as they are, and the call is not looked at.
//
// On x86-64 alone, and of SSE and AVX: the flag of a denormal operand says so there. On arm64 it
// says that one was taken for zero, and is silent where it cost time.
#pragma once

#include "src/observe/audit/table.h"

namespace hwprof::observe::audit {

enum FloatFlag : unsigned { kInvalid = 1, kDenormal = 2, kUnderflow = 16 };

#if defined(__x86_64__)
inline constexpr bool kTellsFloatFlags = true;
// Of the MXCSR: Intel SDM, volume 1, 10.2.3.
inline constexpr unsigned kWatchedFlags = kInvalid | kDenormal | kUnderflow;
inline constexpr unsigned kTrapMasks = 0x3fU << 7;  // of all six exceptions; set: no trap
inline constexpr unsigned kOperandsToZero = 1U << 6, kResultsToZero = 1U << 15;

inline unsigned read_float_state() {
  unsigned state;
  asm volatile("stmxcsr %0" : "=m"(state));
  return state;
}
inline void write_float_state(unsigned state) { asm volatile("ldmxcsr %0" : : "m"(state)); }
#else
inline constexpr bool kTellsFloatFlags = false;
#endif

// Of one open call, in the frame of its stub.
struct FloatFlags {
  unsigned before = 0;  // that were set already
  bool known = false;
};

struct FloatReport {
  bool known = false;
  bool denormal = false;  // numbers that were computed with as such: operands, or results
  bool invalid = false;   // no number came of numbers: inf - inf, 0 x inf; or a signalling NaN
  bool flushed = false;   // operands and results alike were taken for zero
};

#if defined(__x86_64__)
inline FloatFlags begin_float_flags() {
  const unsigned state = read_float_state();
  const unsigned before = state & kWatchedFlags;
  if ((state & kTrapMasks) != kTrapMasks) return {};
  if (before != 0) write_float_state(state & ~kWatchedFlags);
  return {before, true};
}

// The state is the routine's, but for the flags.
inline FloatReport end_float_flags(const FloatFlags& flags) {
  if (!flags.known) return {};
  const unsigned state = read_float_state();
  if ((flags.before & ~state) != 0) write_float_state(state | flags.before);
  const bool small_results = (state & kUnderflow) != 0 && (state & kResultsToZero) == 0;
  return {.known = true,
          .denormal = (state & kDenormal) != 0 || small_results,
          .invalid = (state & kInvalid) != 0,
          .flushed = (state & kOperandsToZero) != 0 && (state & kResultsToZero) != 0};
}
#else
inline FloatFlags begin_float_flags() { return {}; }
inline FloatReport end_float_flags(const FloatFlags& /*flags*/) { return {}; }
#endif

inline void count_numbers(const FloatReport& report, u64 lasted, MetNumbers& met) {
  if (!kTellsFloatFlags) return;
  if (!report.known) return add(met.untold);
  if (report.denormal) {
    add(met.denormal);
    add(met.denormal_ticks, lasted);
    add(met.denormal_log_ticks, log_of(lasted));
  } else {
    add(met.usual_log_ticks, log_of(lasted));
  }
  if (report.invalid) add(met.invalid);
  if (report.flushed) add(met.flushed);
}

}  // namespace hwprof::observe::audit
