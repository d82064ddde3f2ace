// The steps that `hwprof run`, `attach` and `blas -- COMMAND` have in common: a command is run, or
// a process joined, to find out what it did and which BLAS it used; that BLAS is judged; the record
// is written.
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
// 127 or 126. Prints nothing.
Result<report::Run> observe_program(const RunRequest& request);

// Once the program has ended: its BLAS measured against what this machine could do, and the
// verdict. Fills record.blas but for its evidence. Ctrl-C skips what is left to measure.
void judge_run_blas(const RunRequest& request, report::Run& record);

// Fault::kUsage where the report or a drawing could not be written: said before anything runs.
Result<void> check_report_output(const RunOptions& options);
// To the file or standard error. A file that fails now is a warning, and the report goes to
// standard error: what was observed is not lost.
void write_run_report(const report::Run& record, const RunOptions& options);
// The same with the verdict alone as text.
void write_verdict(const report::Run& record, const RunOptions& options);
// --flame, --folded, --speedscope; a file that fails is a warning.
void write_stacks(const report::Run& record, const RunOptions& options);

}  // namespace hwprof
