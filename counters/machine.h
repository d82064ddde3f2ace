// The floor of counting. Rooms, each on those before it: machine/ (CPUs, affinity, PMU devices),
// events/ (names as tables of data, what each becomes on a PMU, what an errno means), perf/
// (groups, passes, the arithmetic on counts), regions/ (the library that users link). Nothing here
// knows a kernel, a BLAS or a report: kernels/ stands beside, and what both fill is src/model.
//
// This header: what this machine is, probed once, passed on as a plain struct. Nothing here
// measures speed.
#pragma once

#include "src/model/machine.h"

namespace hwprof {

// Probes the machine as seen from `cpu` (its caches, its kind of core). Never fails: what cannot
// be found out is absent.
Machine probe_machine(unsigned cpu);

}  // namespace hwprof
