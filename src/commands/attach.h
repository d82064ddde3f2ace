// `hwprof attach PID`: what `hwprof run` does, for a process that already runs.
#pragma once

#include "src/base/result.h"
#include "src/commands/run_options.h"

namespace hwprof {

Result<int> run_attach(const RunOptions& options);

}  // namespace hwprof
