// What watching costs: the same work unwatched, counted in regions, sampled and traced, by turns.
#pragma once

#include <atomic>
#include <vector>

#include "src/commands/profile_regions.h"
#include "src/model/regions_record.h"

namespace hwprof {

// After start_regions() with a trace, by the thread that ran `work.pass` before.
std::vector<report::OverheadRow> measure_overhead(const RegionPasses& work,
                                                  const std::atomic<bool>& stop);

}  // namespace hwprof
