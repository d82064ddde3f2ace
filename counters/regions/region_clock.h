// The clock of regions. clock_gettime() takes 58 instructions on arm64, most of an edge whose
// counters are read in user space; there, the processor's own counter (CNTVCT, TSC) takes two, and
// the page that the kernel maps for an event says how long a tick of it is. The kernel says so only
// where that counter runs at one rate on all CPUs, and times events by it itself. Elsewhere it is
// clock_gettime(). A thread stays with one clock: only durations are ever made of its times.
// Internal to counters/.
#pragma once

#include <linux/perf_event.h>
#include <time.h>

#include <cstdint>

namespace hwprof {

inline std::uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Not before what precedes it is done, as in the kernel's clock_gettime().
inline std::uint64_t processor_ticks() {
#if defined(__aarch64__)
  std::uint64_t ticks = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks)::"memory");
  return ticks;
#elif defined(__x86_64__)
  __builtin_ia32_lfence();
  return __builtin_ia32_rdtsc();
#else
  return 0;  // never asked: of_page() knows of no such counter
#endif
}

class RegionClock {
 public:
  // clock_gettime().
  RegionClock() = default;
  // The processor's counter, where the page of a hardware event allows it.
  static RegionClock of_page(const volatile perf_event_mmap_page& page) {
    RegionClock clock;
#if defined(__aarch64__) || defined(__x86_64__)
    if (page.cap_user_time && page.time_shift <= kFraction)
      clock.ns_per_tick_ = std::uint64_t{page.time_mult} << (kFraction - page.time_shift);
#else
    static_cast<void>(page);
#endif
    return clock;
  }

  [[nodiscard]] bool counts_ticks() const { return ns_per_tick_ != 0; }
  [[nodiscard]] std::uint64_t now() const {
    return counts_ticks() ? processor_ticks() : monotonic_ns();
  }
  // Never more for the parts than for the whole.
  [[nodiscard]] std::uint64_t ticks_as_ns(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{ticks} * ns_per_tick_) >> kFraction);
  }
  [[nodiscard]] std::uint64_t as_ns(std::uint64_t duration) const {
    return counts_ticks() ? ticks_as_ns(duration) : duration;
  }

 private:
  static constexpr unsigned kFraction = 32;
  std::uint64_t ns_per_tick_ = 0;  // times 2^32; 0: clock_gettime()
};

}  // namespace hwprof
