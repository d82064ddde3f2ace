// The CPU's own clock, for the audit library and for who reads its records. Needs no system call
// and no library.
#pragma once

namespace hwprof::observe::audit {

#if defined(__x86_64__)
// The time stamp counter: not in order with what stands around it, some ns off.
inline unsigned long counter_ticks() {
  unsigned low, high;
  asm volatile("rdtsc" : "=a"(low), "=d"(high));
  return (static_cast<unsigned long>(high) << 32) | low;
}
#elif defined(__aarch64__)
// The generic timer, which the architecture has tick at one rate on all CPUs.
inline unsigned long counter_ticks() {
  unsigned long ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
}
#endif

}  // namespace hwprof::observe::audit
