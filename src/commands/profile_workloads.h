// The workloads of `hwprof profile`, one file each: from its options to the report. The exit codes
// are those of run_profile().
#pragma once

#include "src/base/result.h"
#include "src/commands/profile_options.h"
#include "src/commands/profile_session.h"

namespace hwprof {

Result<int> profile_text_cnn(const ProfileOptions& options);
Result<int> profile_layers(const ProfileOptions& options);  // resnet20, FILE.json
Result<int> profile_mlp(const ProfileOptions& options);

}  // namespace hwprof
