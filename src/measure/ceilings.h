// The machine's ceilings on the CPUs of a team: FMA rate for each vector width, bandwidth for each
// cache level. What `hwprof peak` prints and what `hwprof profile` holds its rows against.
#pragma once

#include <atomic>
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
// Over working sets from 8 KiB a thread to `largest_bytes`, smallest first, each thread on arrays
// of its own, by its CPU time. What a machine says of its caches decides nothing here: a virtual
// one names the host's, of which it gets a part. Empty where there is no memory for the arrays.
std::vector<report::Bandwidth> measure_bandwidth(std::uint64_t largest_bytes, ThreadTeam& team,
                                                 const std::atomic<bool>* stop = nullptr);

// About 0.6 s.
report::Peak measure_peak(const Machine& machine, ThreadTeam& team);

// Names the fastest kernel's rate as the peak. `slices`, where there are any, are its rates
// beside the work that was measured: their median takes the place of the first look.
void settle_peak(report::Peak& peak, const std::vector<double>& slices);

}  // namespace hwprof
