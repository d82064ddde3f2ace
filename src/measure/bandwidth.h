// Bandwidth of each cache level and of memory, on the CPUs that the kernels run on: read (sum of
// an array), copy (c = a) and triad (c = a + s b), after McCalpin's STREAM. Bytes are those that
// the program reads and writes; a cache's write-allocate traffic is not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/thread_team.h"
#include "src/model/record.h"

namespace hwprof {

// One result a level of `levels` (cache_levels()), each thread working on an array of its own that
// fills half of its share of the level; memory: four times the last cache, at most 256 MiB in all
// and at most an eighth of `memory_bytes`. About 30 ms a level. Levels whose arrays cannot be had
// are left out.
std::vector<report::Bandwidth> measure_bandwidth(const std::vector<report::Bandwidth>& levels,
                                                 std::uint64_t memory_bytes, ThreadTeam& team);

}  // namespace hwprof
