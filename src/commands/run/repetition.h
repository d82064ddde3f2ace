// `hwprof run --repeat`: the command again and again, only to be timed.
#pragma once

#include <string>

#include "src/commands/run/options.h"
#include "src/commands/run/timed_command.h"
#include "src/model/run_record.h"
#include "src/observe/monitor/client.h"

namespace hwprof {

// After the observed run, which is in `record`. Fills record.repeats, and record.exit anew.
void repeat_command(const RunRequest& request, const CommandInput& input,
                    observe::MonitorClient& monitor, report::Run& record);

// Why nothing more is run after `what`; empty: more is.
std::string why_to_stop(const std::string& what, int exit, const RunRequest& request,
                        int end_wanted);
// A signal asked for the end of hwprof: its exit code, where the command's is none.
void take_wanted_end(observe::MonitorClient& monitor, report::Run& record);

}  // namespace hwprof
