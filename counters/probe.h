// Opens events for the calling thread, runs a little work under them, and looks whether they
// really counted: a group that can never be scheduled opens without error, and the NMI watchdog
// alone can be the cause (perf_event_open(2), "Reading results"). Internal to counters/.
#pragma once

#include <span>

#include "counters/group.h"
#include "counters/perf_error.h"

namespace hwprof {

struct Probe {
  bool runs = false;
  bool user_only = false;  // the kernel's share may not be counted here
  RawReading reading;      // of a short loop of additions and branches
  Refusal refusal;         // when it does not run
};

Probe probe_events(const Machine& machine, std::span<const NativeEvent> events);

}  // namespace hwprof
