// Opens events for the calling thread, runs a little work under them, and looks whether they
// really counted: a group that can never be scheduled opens without error, and the NMI watchdog
// alone can be the cause (perf_event_open(2), "Reading results"). Internal to counters/.
#pragma once

#include <span>

#include "counters/events/perf_error.h"
#include "counters/perf/group.h"

namespace hwprof {

// What runs under the counters.
enum class Trial {
  kShort,  // a loop of 2000 additions: enough to see whether the group is scheduled
  // Arithmetic in both precisions, branches that nobody can predict, new pages, and lines flushed
  // from every cache: about 0.1 ms in which each hardware event that we have a name for happens.
  // An emulated PMU opens encodings that it does not count, and they read 0 for ever.
  kEverything,
};

struct Probe {
  bool runs = false;
  bool user_only = false;  // the kernel's share may not be counted here
  RawReading reading;      // of the trial
  Refusal refusal;         // when it does not run
};

Probe probe_events(const Machine& machine, std::span<const NativeEvent> events, Trial trial);

}  // namespace hwprof
