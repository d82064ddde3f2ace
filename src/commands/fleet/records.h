// The folder that hosts write their records into: whoever else may write there decides what lies in
// it, so every file is taken for a stranger's.
#pragma once

#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/fleet/merge.h"

namespace hwprof {

// In the order of their names, but for those that begin with '.', such as records that are being
// written. A record has at most 256 KiB and all have 128 MiB: the others have a problem.
// Fault::kUsage where the folder cannot be read, or has more than 65,536 files.
Result<std::vector<FoundRecord>> read_records(const std::string& folder);

}  // namespace hwprof
