// Runs a command, or joins a process, and finds out what it did and which BLAS it used: what
// `hwprof run`, `attach` and `blas -- COMMAND` have in common. Prints nothing.
//
// Observing must never change the program's result: what fails once the command was accepted is a
// warning in the record.
#pragma once

#include "src/base/result.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"

namespace hwprof {

// Fault::kUsage, before anything starts, for CPUs, events, users and processes that are not there.
// A command that does not exist or cannot be run is no Error: Run::not_run says why, Run::exit is
// 127 or 126.
Result<report::Run> observe_program(const RunRequest& request);

}  // namespace hwprof
