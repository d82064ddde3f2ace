// Which events regions count: chosen once a process, the same for every thread. Internal to
// counters/.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "counters/events/selection.h"
#include "counters/machine/machine.h"

namespace hwprof {

// What entering and leaving an empty region costs: the least that was seen, so that no correction
// takes away more than was added.
struct RegionCost {
  double inside_ns = 0;                 // counted as the region's own
  double outside_ns = 0;                // counted as the self of the region around it
  std::vector<double> inside, outside;  // an event each
};

struct RegionSetup {
  Machine machine;
  Selection selection;               // one pass of one group
  std::vector<NativeEvent> natives;  // of that group, in its order; empty: times only
  std::string problem;               // why HWPROF_EVENTS was not followed; may be empty
  RegionCost cost;
};

// Fault::kUsage for an unknown event. What cannot be counted stays in, with its reason. "" asks for
// no event, and then nothing is probed.
Result<RegionSetup> choose_region_events(std::string_view events);

}  // namespace hwprof
