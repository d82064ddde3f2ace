// Bandwidth of each cache level and of memory, on the CPUs that the kernels run on: read (sum of
// an array), copy (c = a) and triad (c = a + s b), after McCalpin's STREAM. Bytes are those that
// the program reads and writes; a cache's write-allocate traffic is not counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/thread_team.h"
#include "src/measure/roofline.h"

namespace hwprof {

struct BandwidthResult {
  std::string level;
  std::uint64_t working_set_bytes = 0;               // a thread
  double read_gbs = 0, copy_gbs = 0, triad_gbs = 0;  // all threads together, 1e9 bytes/s
};

// One result a level of `levels` (cache_levels()), each thread working on an array of its own that
// fills half of its share of the level; memory: four times the last cache, at most 256 MiB in all
// and at most an eighth of `memory_bytes`. About 30 ms a level. Levels whose arrays cannot be had
// are left out.
std::vector<BandwidthResult> measure_bandwidth(const std::vector<LevelBandwidth>& levels,
                                               std::uint64_t memory_bytes, ThreadTeam& team);

}  // namespace hwprof
