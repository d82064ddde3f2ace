#include "src/commands/attach.h"

#include "src/commands/observe.h"
#include "src/commands/run.h"

namespace hwprof {

Result<int> run_attach(const RunOptions& options) {
  if (auto done = check_report_output(options); !done) return error_of(done);
  const Result<report::Run> record = observe_program(options.request);
  if (!record) return error_of(record);
  write_run_report(*record, options);
  write_stacks(*record, options);
  return 0;  // of a process that is not our child the kernel tells no exit code
}

}  // namespace hwprof
