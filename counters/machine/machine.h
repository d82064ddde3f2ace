// What this machine is: probed once, passed on as a plain struct. Nothing here measures speed.
#pragma once

#include "src/model/machine.h"

namespace hwprof {

// Probes the machine as seen from `cpu` (its caches, its kind of core). Never fails: what cannot
// be found out is absent.
Machine probe_machine(unsigned cpu);

}  // namespace hwprof
