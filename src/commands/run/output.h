// What becomes of the record of an observed program: the report, the verdict alone, the drawings.
#pragma once

#include "src/base/result.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"

namespace hwprof {

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
