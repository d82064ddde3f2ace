// Counts of the parts of work, such as the layers of a network.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "counters/perf/counting.h"
#include "src/measure/schedule.h"

namespace hwprof {

// Counts of each part by itself: counting is started and stopped around it, in calls of their own,
// since that costs more than a small layer takes. What counting nothing at all counts stands beside
// it.
struct PartCounts {
  std::vector<std::vector<Tally>> work;  // a tally a part
  Tally nothing;                         // between start and stop: nothing
};

// As many calls of each work, interleaved, as fit in `budget_s`, at least one a pass.
PartCounts count_parts(std::span<const Work> work, Counting& counting, double budget_s,
                       const std::atomic<bool>& stop);

}  // namespace hwprof
