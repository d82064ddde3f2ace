// How many general counters one group can hold, found by opening groups and running them: CPUID
// tells what the silicon has, not what the hypervisor, the NMI watchdog or a sibling hyper-thread
// left of it. Internal to counters/.
#pragma once

#include "src/model/machine.h"

namespace hwprof {

// Fills machine.pmu.counters, or machine.pmu.reason when the number stays unknown.
void find_capacity(Machine& machine, unsigned cpu);

}  // namespace hwprof
