// `hwprof run --layers`: the modules of PyTorch in the Python processes of a command.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/blas/evidence/called.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"
#include "src/observe/proc/layer_files.h"

namespace hwprof {

// Absent where they were not asked for, and, with a warning, where that cannot be.
std::optional<LayerFiles> prepare_layers(const RunRequest& request, report::Run& record);
// NAME=value for the command.
std::vector<std::string> layers_environment(const LayerFiles& files, const RunRequest& request);
// Once the command has ended: fills the modules of the record from its regions.
void take_layers(const LayerFiles& files, const std::optional<report::Regions>& regions,
                 blas::CallWatch::ByModule calls, report::Run& record);
// Once the peak has been measured: who computed them.
void add_layer_evidence(const RunRequest& request, report::Run& record);

}  // namespace hwprof
