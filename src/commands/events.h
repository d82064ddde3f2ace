// `hwprof events`: what this machine can count, and why not the rest; or what a name becomes on
// another CPU.
#pragma once

#include "src/base/result.h"
#include "src/commands/inspect_options.h"

namespace hwprof {

Result<int> run_events(const EventsOptions& options);

}  // namespace hwprof
