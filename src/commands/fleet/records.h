// The folder that hosts write their records into: whoever else may write there decides what lies in
// it, so every file is taken for a stranger's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/commands/fleet/merge.h"

namespace hwprof {

struct RecordsLimits {
  std::uint64_t bytes_of_one = std::uint64_t{256} << 10U;  // a record has some 20 KB
  std::uint64_t bytes_of_all = std::uint64_t{128} << 20U;
};

// In the order of their names, but for those that begin with '.', such as records that are being
// written. What is beyond the limits has a problem; those that are named as the records of the
// `expected` in this run are read first, then the others of this run (of any, where it is ""). What
// merge() does not use is not kept. Fault::kUsage where the folder cannot be read, or has more than
// 65,536 files.
Result<std::vector<FoundRecord>> read_records(const std::string& folder,
                                              const std::vector<ExpectedHost>& expected = {},
                                              const std::string& run_id = "",
                                              const RecordsLimits& limits = {});

}  // namespace hwprof
