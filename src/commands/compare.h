// `hwprof compare`: is the same work slower than it was?
#pragma once

#include "src/base/result.h"
#include "src/commands/compare_options.h"

namespace hwprof {

// Reads the reports, writes the comparison, returns the exit code: 1 when a row is slower than in
// the first report by more than the threshold, else 0.
Result<int> run_compare(const CompareOptions& options);

}  // namespace hwprof
