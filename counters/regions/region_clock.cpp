#include "counters/regions/region_clock.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <cmath>

#include "src/base/text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace hwprof {
namespace {

constexpr const char* kClocksource =
    "/sys/devices/system/clocksource/clocksource0/current_clocksource";

// Those by which the kernel, or the host of a virtual machine, reads this counter on every CPU as
// it is. The first is chosen only after the kernel compared the CPUs' counters at their start; the
// second says less, but KVM shows a guest the bit for one rate only where it stays on such a host.
constexpr std::string_view kByCounter[] = {"tsc", "kvm-clock", "arch_sys_counter"};

// NTP slews CLOCK_MONOTONIC by at most 500 ppm, and so does adjtime().
constexpr double kMostSlew = 1e-3;

// No counter is as slow.
constexpr double kLongestTickNs = 1e6;

constexpr int kReadings = 8;

// Not answered: kernels that know of no such way to forbid it.
bool may_be_read() {
  int state = PR_TSC_ENABLE;
  if (prctl(PR_GET_TSC, &state, 0, 0, 0) != 0) {
#if defined(__x86_64__)
    return false;  // they all know it: somebody filters system calls
#endif
  }
  return state == PR_TSC_ENABLE;
}

bool runs_at_one_rate() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d & (1U << 8U)) != 0;
#elif defined(__aarch64__)
  return true;  // the architecture says so
#else
  return false;
#endif
}

}  // namespace

const char* counter_name() {
#if defined(__x86_64__)
  return "TSC";
#elif defined(__aarch64__)
  return "CNTVCT";
#else
  return "";
#endif
}

CounterFacts counter_facts(std::string_view wanted) {
  CounterFacts facts;
  facts.unwanted = wanted == "kernel";
  if (facts.unwanted) return facts;
  facts.readable = may_be_read();
  facts.one_rate = runs_at_one_rate();
  if (facts.readable && facts.one_rate)
    facts.clocksource = trim(read_text_file(kClocksource).value_or(""));
  return facts;
}

std::string why_no_counter(const CounterFacts& facts) {
  if (facts.unwanted) return "HWPROF_CLOCK=kernel";
  if (!facts.one_rate) return "the processor has no counter that runs at one rate";
  if (!facts.readable) return "this process may not read the processor's counter";
  if (facts.clocksource.empty()) return fmt::format("{} cannot be read", kClocksource);
  for (const std::string_view known : kByCounter)
    if (facts.clocksource == known) return "";
  return fmt::format("the kernel's own clock is {}, not the processor's counter",
                     facts.clocksource);
}

bool page_has_counter(const volatile perf_event_mmap_page& page) {
  return *counter_name() != '\0' && page.cap_user_time;
}

// The counter between two readings of the other clock, which wait for what precedes them; the
// closest of some, since a thread may lose its CPU in between.
ClockReading read_both_clocks() {
  ClockReading best;
  for (int i = 0; i < kReadings; ++i) {
    const std::uint64_t before = monotonic_ns();
    const std::uint64_t ticks = processor_ticks();
    const std::uint64_t within_ns = monotonic_ns() - before;
    if (i == 0 || within_ns < best.within_ns) best = {ticks, before + within_ns / 2, within_ns};
  }
  return best;
}

void TickLine::add(const ClockReading& reading) {
  if (!problem_.empty()) return;
  if (!first_) {
    first_ = reading;
    return;
  }
  const ClockReading& before = last_ ? *last_ : *first_;
  const auto counted = static_cast<double>(static_cast<std::int64_t>(reading.ticks - before.ticks));
  const auto passed = static_cast<double>(static_cast<std::int64_t>(reading.ns - before.ns));
  if (counted < 0 || passed < 0 || (counted == 0 && passed > kLongestTickNs)) {
    problem_ = fmt::format("the processor's counter ran {} ticks while the clock ran {} ns",
                           counted, passed);
    return;
  }
  if (last_) {
    const double expected = counted * ns_per_tick();
    const auto apart = [](const ClockReading& a, const ClockReading& b) {
      return static_cast<double>(a.within_ns + b.within_ns);
    };
    const double rate_off = apart(*first_, *last_) / static_cast<double>(last_->ns - first_->ns);
    if (std::abs(expected - passed) > apart(before, reading) + expected * (kMostSlew + rate_off)) {
      problem_ = fmt::format(
          "the processor's counter ran {:.6f} s, at its rate until then, while the clock ran "
          "{:.6f} s",
          expected * 1e-9, passed * 1e-9);
      return;
    }
  }
  if (counted > 0 && reading.ns > first_->ns) last_ = reading;
}

std::uint64_t TickLine::as_ns(std::uint64_t ticks) const {
  __extension__ using Wide = unsigned __int128;
  if (!last_) return 0;
  return static_cast<std::uint64_t>(Wide{ticks} * (last_->ns - first_->ns) /
                                    (last_->ticks - first_->ticks));
}

double TickLine::ns_per_tick() const {
  if (!last_) return 0;
  return static_cast<double>(last_->ns - first_->ns) /
         static_cast<double>(last_->ticks - first_->ticks);
}

}  // namespace hwprof
