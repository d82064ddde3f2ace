// `hwprof workloads`: what can be profiled, and a network of layers as a file.
#pragma once

#include "src/base/result.h"
#include "src/commands/inspect_options.h"

namespace hwprof {

Result<int> run_workloads(const WorkloadsOptions& options);

}  // namespace hwprof
