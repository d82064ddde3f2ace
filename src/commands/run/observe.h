// The steps that `hwprof run`, `attach` and `blas -- COMMAND` have in common: a command is run, or
// a process joined, to find out what it did and which BLAS it used; that BLAS is judged; the record
// is written.
//
// Observing must never change the program's result: what fails once the command was accepted is a
// warning in the record.
#pragma once

#include <functional>

#include "src/base/result.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"
#include "src/observe/monitor/monitor.h"
#include "src/report/document.h"

namespace hwprof {

// Fault::kUsage, before anything starts, for CPUs, events, users and processes that are not there.
// A command that does not exist or cannot be run is no Error: Run::not_run says why, Run::exit is
// 127 or 126. Prints nothing.
// `known` gets it as it is before its BLAS is measured.
using KnownSoFar = std::function<void(const report::Run&)>;
Result<report::Run> observe_program(const RunRequest& request, observe::MonitorClient& monitor,
                                    const KnownSoFar& known);
// The same where the worker has died before it had anything to say: what the monitor knows.
Result<report::Run> program_without_worker(const RunRequest& request,
                                           const observe::WorkerDeath& death);

// Once the program has ended: its BLAS measured against what this machine could do, and the
// verdict. Fills record.blas but for its evidence. Ctrl-C skips what is left to measure.
void measure_run_blas(const RunRequest& request, const KnownSoFar& known, report::Run& record);
// The same without measuring a library.
void judge_run_blas(const RunRequest& request, report::Run& record);

// Fault::kUsage where the report or a drawing could not be written: said before anything runs.
Result<void> check_report_output(const RunOptions& options);
// What is written at the end, the whole or the verdict alone.
using RunDocument = report::Document (*)(const report::Run&);
// --flame, --folded, --speedscope, --pprof; a file that fails is a warning.
void write_stacks(const report::Run& record, const RunOptions& options,
                  observe::MonitorClient& monitor);

// Observes in a worker, whose rights are the observed user's, and hands the record to `conclude`,
// whose result is the exit code. The report goes to the file or standard error; a file that fails
// now is a warning, and the report goes to standard error: what was observed is not lost.
using Conclude = Result<int> (*)(const report::Run& record, const RunOptions& options);
Result<int> observe_apart(const RunOptions& options, RunDocument document, bool passes_exit_code,
                          Conclude conclude);

}  // namespace hwprof
