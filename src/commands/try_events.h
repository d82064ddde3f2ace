// What really counts on a CPU: each event is opened, run over a little work, and read. What opens
// need not count.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "counters/machine.h"
#include "counters/perf/reading.h"
#include "src/base/result.h"

namespace hwprof {

// In the order of `names`; the caller is pinned to `cpu`. Fault::kUsage for an unknown name.
Result<std::vector<EventCount>> try_events(const Machine& machine, unsigned cpu,
                                           std::span<const std::string> names);

}  // namespace hwprof
