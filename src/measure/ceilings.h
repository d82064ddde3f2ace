// The machine's ceilings on the CPUs of a team: FMA rate for each vector width, bandwidth for each
// cache level. What `hwprof peak` prints and what `hwprof profile` holds its rows against.
#pragma once

#include <vector>

#include "counters/machine/machine.h"
#include "kernels/thread_team.h"
#include "src/model/record.h"

namespace hwprof {

// About 0.2 s.
report::Peak measure_peak(const Machine& machine, ThreadTeam& team);

// Names the fastest kernel's rate as the peak. `slices`, where there are any, are its rates
// beside the work that was measured: their median takes the place of the first look.
void settle_peak(report::Peak& peak, const std::vector<double>& slices);

}  // namespace hwprof
