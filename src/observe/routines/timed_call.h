// One call of a routine of which the begin and the end are known, on the clock of the samples.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace hwprof::observe {

struct TimedCall {
  pid_t thread = 0;
  std::uint64_t began_ns = 0, ended_ns = 0;  // CLOCK_MONOTONIC
  std::uint64_t kind = 0;                    // the number of its routine and shape
  std::uint32_t python = 0;                  // the whole stack that it came from; 0: not known
};

// What a thread called of one library, in calls that were recorded one by one.
struct CallingThread {
  pid_t thread = 0;
  std::string library;
  std::uint64_t calls = 0;
  double time_ns = 0;
};

}  // namespace hwprof::observe
