// The clock of regions. Reading CLOCK_MONOTONIC takes the vDSO's function 20 to 30 ns, most of an
// edge; the processor's own counter (x86: TSC, arm64: CNTVCT) is one instruction. Where it runs at
// one rate on all CPUs, regions are timed in its ticks. What a tick is in nanoseconds is asked
// last: both clocks are read when the first region begins and again for each report, so a sum over
// the whole run is off by what two readings are off, some 30 ns, however long it ran, and no rate
// has to be measured in advance. What the two clocks say in between has to agree: a counter that
// jumped (a machine that slept, or was moved to another host) is found out and reported.
//
// Calls that are kept for a trace are timed by CLOCK_MONOTONIC itself: they are laid beside samples
// and events that the kernel timed.
#pragma once

#include <linux/perf_event.h>
#include <time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hwprof {

enum class RegionClock : std::uint8_t {
  kKernel,   // CLOCK_MONOTONIC, in ns
  kCounter,  // processor_ticks()
};

inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// In no order with the instructions around it: what stands before it may not be done yet. Good
// enough where a region begins.
inline std::uint64_t processor_ticks() {
#if defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
#elif defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return 0;  // never asked: why_no_counter() knows of no such counter
#endif
}

// Where one ends, loads of its last instructions may still be on their way, some 100 ns from
// memory: not before they are done, as in the kernel's clock_gettime(). On a Zen 5 that adds 6 ns
// to an empty pair, and as the region begins it would add another 8.
inline std::uint64_t processor_ticks_behind() {
#if defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#elif defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
  return processor_ticks();
}

inline std::uint64_t now_of(RegionClock clock) {
  return clock == RegionClock::kCounter ? processor_ticks_behind() : monotonic_ns();
}

// "TSC", "CNTVCT"; "" where this kind of machine has none.
const char* counter_name();

// What is known of the counter before it is used.
struct CounterFacts {
  bool readable = false;    // prctl(PR_SET_TSC) can forbid it
  bool one_rate = false;    // x86: CPUID 0x80000007, EDX bit 8, "invariant TSC"
  std::string clocksource;  // of the kernel, by which it says what it found; "" if not to be read
  bool unwanted = false;    // HWPROF_CLOCK=kernel
};
CounterFacts counter_facts(std::string_view wanted);  // HWPROF_CLOCK
// Empty: regions may be timed by the counter. Pure.
std::string why_no_counter(const CounterFacts& facts);

// The kernel's own word for it, on the page of a hardware event: it times the event by the counter.
bool page_has_counter(const volatile perf_event_mmap_page& page);

// Both clocks at one moment.
struct ClockReading {
  std::uint64_t ticks = 0, ns = 0;
  std::uint64_t within_ns = 0;  // how far apart the two may have been
};
ClockReading read_both_clocks();

// What ticks are in nanoseconds: the line through the first and the last reading. Pure.
class TickLine {
 public:
  // In the order in which they were made. One that does not agree with those before is left out,
  // and so are all that follow it.
  void add(const ClockReading& reading);

  // Of a duration, rounded down: never more for the parts than for the whole. 0 with less than two
  // readings.
  [[nodiscard]] std::uint64_t as_ns(std::uint64_t ticks) const;
  [[nodiscard]] double ns_per_tick() const;
  // What did not agree; empty: all did.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  std::optional<ClockReading> first_, last_;
  std::string problem_;
};

}  // namespace hwprof
