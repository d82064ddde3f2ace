// `hwprof peak`: what these CPUs can do at most.
#pragma once

#include "src/base/result.h"
#include "src/commands/inspect_options.h"

namespace hwprof {

Result<int> run_peak(const PeakOptions& options);

}  // namespace hwprof
