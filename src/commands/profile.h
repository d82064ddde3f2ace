// `hwprof profile`: the forward pass of the text CNN, layer by layer and variant by variant, on
// pinned CPUs; which BLAS served it, and whether the time agrees with the complexity analysis.
#pragma once

#include "src/base/result.h"
#include "src/commands/profile_options.h"

namespace hwprof {

// Measures, writes the report, returns the exit code: 0, 1 (a --require says no), 3 (nothing could
// be measured), 128 + signal (partial report).
Result<int> run_profile(const ProfileOptions& options);

}  // namespace hwprof
