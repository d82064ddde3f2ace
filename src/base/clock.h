// The two clocks of every measurement. A rate is work over the CPU time of the thread that did it:
// on a machine that others use too, wall time is also the time in which it waited for its CPU.
#pragma once

#include <ctime>

namespace hwprof {

// Nanoseconds on `clock`, since a moment of its own.
inline double ns_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Never steps back, whatever becomes of the date. Some 30 ns a reading.
inline double wall_ns() { return ns_of(CLOCK_MONOTONIC); }

// Of the calling thread, on any CPU. A system call: 0.2 to 0.3 us a reading.
inline double thread_cpu_ns() { return ns_of(CLOCK_THREAD_CPUTIME_ID); }

// Of this process, all of its threads.
inline double process_cpu_ns() { return ns_of(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace hwprof
