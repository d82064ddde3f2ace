// CPU lists as users write them ("0", "0,2-3"), pinning, and the proof that it worked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"
#include "src/model/machine.h"

namespace hwprof {

// "0,2-3" -> {0,2,3}. Fault::kUsage for anything else.
Result<CpuList> parse_cpu_list(std::string_view text);
// {0,2,3} -> "0,2-3".
std::string format_cpu_list(const CpuList& cpus);

// CPUs that this process may use now (sched_getaffinity).
CpuList allowed_cpus();

// CPUs that are up. Absent where /sys is not mounted.
std::optional<CpuList> online_cpus();

// Pins the calling thread (and the threads that it will start) to `cpus`, then checks with
// sched_getcpu that it runs there. Fault::kUsage names a CPU that does not exist, is offline, or
// that the cpuset forbids.
Result<void> pin_to(const CpuList& cpus);

// CPU on which the calling thread runs at this moment.
unsigned current_cpu();

}  // namespace hwprof
