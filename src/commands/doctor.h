// `hwprof doctor`: what stands between this machine and good numbers, and what mends it.
#pragma once

#include "src/base/result.h"
#include "src/commands/inspect_options.h"

namespace hwprof {

// Exit code 0: nothing to mend; 1: something.
Result<int> run_doctor(const DoctorOptions& options);

}  // namespace hwprof
