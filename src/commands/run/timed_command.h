// One more run of the command, only to be timed. Observing costs time (the record of a call 3 us, a
// sample 10 us), so such a run is not observed: no probe, no sample, no environment of ours, no
// look at it while it runs; but what getrusage(2) and /proc/PID/schedstat tell at its end, and the
// kernel's own count of migrations.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/model/run_record.h"
#include "src/observe/monitor/client.h"

namespace hwprof {

// What a program wrote, to be held against what it writes another time.
struct WrittenBytes {
  std::uint64_t count = 0, hash = 0;
  bool operator==(const WrittenBytes&) const = default;
};

struct TimedStart {
  std::vector<std::string> changes = {};  // of the environment: NAME=value; NAME alone: unset
  bool quiet = false;                     // its output is read, not shown
  std::string no_migrations = {};         // why they are not counted; empty: they are
};

struct TimedEnd {
  report::TimedRun run;
  int exit = 0;
  std::string migrations_reason;  // why they are absent
  bool goes_on = false;           // a process that it started does
  WrittenBytes written;           // where it was quiet: to standard output
};

Result<TimedEnd> time_command(const TimedStart& start, const Machine& machine,
                              observe::MonitorClient& monitor);

// Standard input, which each run shall find as the first one did.
class CommandInput {
 public:
  // Before the first run. Fault::kUsage where that cannot be: a pipe is empty after it. `option`
  // asks for more runs.
  static Result<CommandInput> prepare(const std::string& option);
  void rewind() const;

 private:
  std::optional<off_t> begin_;  // of a file; absent: nothing that a run could use up
};

}  // namespace hwprof
