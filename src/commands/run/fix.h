// `hwprof run --try-fix` and `--try`: the program as it is and with other settings, interleaved,
// only to be timed. What decides is src/measure/tried.h.
#pragma once

#include <string>
#include <vector>

#include "src/cli/options.h"
#include "src/commands/run/options.h"
#include "src/commands/run/timed_command.h"
#include "src/model/run_record.h"
#include "src/observe/monitor/client.h"

namespace hwprof {

// --try-fix, --try, --budget.
void declare_fix(cli::Options& options, FixRequest& to);
// "OMP_NUM_THREADS=1,2,,OMP_WAIT_POLICY=passive": a list of changes each, an empty value unsets.
Result<std::vector<std::vector<std::string>>> parse_settings(const std::string& option,
                                                             const std::string& text);

// Of the whole: a limit for the monitor. And what the names of variables begin with that are
// changed.
unsigned most_runs(const FixRequest& request);
std::vector<std::string> variables_of(const FixRequest& request);

// Once the program is judged: what it says names the fix. Fills record.fix.
void try_settings(const RunRequest& request, const CommandInput& input,
                  observe::MonitorClient& monitor, report::Run& record);

}  // namespace hwprof
