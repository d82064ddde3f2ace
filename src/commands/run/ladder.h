// What comes once the program has ended: its BLAS measured against what this machine could do, and
// the verdict.
#pragma once

#include "src/commands/run/options.h"
#include "src/model/run_record.h"

namespace hwprof {

// Fills record.blas but for its evidence. Ctrl-C skips what is left to measure.
void judge_run_blas(const RunRequest& request, report::Run& record);

}  // namespace hwprof
