// What comes once the program has ended: its BLAS measured against what this machine could do, and
// the verdict.
#pragma once

#include "src/commands/run_options.h"
#include "src/model/run_record.h"

namespace hwprof {

// Fills record.blas but for its evidence. Ctrl-C skips what is left to measure.
void judge_run_blas(const RunRequest& request, report::Run& record);

// Whether hwprof may load this file into itself to measure it: with root's rights, only what root
// alone can have written; else, what nobody but root and this user can have. Empty: yes.
std::string why_not_to_load(const std::string& path);

}  // namespace hwprof
