// Counts each layer of a chain by itself: counting is started and stopped around it, in runs of
// their own, since that costs more than a small layer takes. What counting nothing at all counts is
// told beside it.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "counters/perf/counting.h"
#include "src/measure/layer_times.h"

namespace hwprof {

struct LayerCounts {
  std::vector<std::vector<Tally>> chains;  // a tally a layer
  Tally nothing;                           // between start and stop: nothing
};

// In turn as many runs of each chain as fit in `budget_s`, at least one a pass.
LayerCounts count_layers(std::span<const LayeredWork> chains, Counting& counting, double budget_s,
                         const std::atomic<bool>& stop);

}  // namespace hwprof
