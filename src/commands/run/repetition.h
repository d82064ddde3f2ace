// `hwprof run --repeat`: the command again and again, only to be timed. Observing costs time (the
// record of a call 3 us, a sample 10 us), so these runs are not observed: no probe, no sample, no
// environment of ours, no look at them while they run; but what getrusage(2) and
// /proc/PID/schedstat tell at their end, and the kernel's own count of migrations.
#pragma once

#include <sys/types.h>

#include <optional>

#include "src/base/result.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"
#include "src/observe/monitor/client.h"

namespace hwprof {

class Repetition {
 public:
  // Before the first run, whose standard input each other run shall find again. Fault::kUsage where
  // that cannot be: a pipe is empty after it.
  static Result<Repetition> prepare();
  // After the observed run, which is in `record`. Fills record.repeats, and record.exit anew.
  void run(const RunRequest& request, observe::MonitorClient& monitor, report::Run& record) const;

 private:
  std::optional<off_t> input_begin_;  // of a file; absent: nothing that a run could use up
};

}  // namespace hwprof
