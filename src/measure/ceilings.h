// The machine's ceilings on the CPUs of a team: FMA rate for each vector width, bandwidth for each
// cache level. What `hwprof peak` prints and what `hwprof profile` holds its rows against.
#pragma once

#include <cstdint>
#include <vector>

#include "counters/machine.h"
#include "kernels/thread_team.h"
#include "src/model/record.h"

namespace hwprof {

// Bandwidth is that of read (sum of an array), copy (c = a) and triad (c = a + s b), after
// McCalpin's STREAM. Bytes are those that the program reads and writes; a cache's write-allocate
// traffic is not counted.
//
// One result a level of `levels` (cache_levels()), each thread working on an array of its own that
// fills half of its share of the level; memory: four times the last cache, at most 256 MiB in all
// and at most an eighth of `memory_bytes`. About 30 ms a level. Levels whose arrays cannot be had
// are left out.
std::vector<report::Bandwidth> measure_bandwidth(const std::vector<report::Bandwidth>& levels,
                                                 std::uint64_t memory_bytes, ThreadTeam& team);

// About 0.2 s.
report::Peak measure_peak(const Machine& machine, ThreadTeam& team);

// Names the fastest kernel's rate as the peak. `slices`, where there are any, are its rates
// beside the work that was measured: their median takes the place of the first look.
void settle_peak(report::Peak& peak, const std::vector<double>& slices);

}  // namespace hwprof
