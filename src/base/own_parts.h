// Files that hwprof brings along: its audit library, libhwprof, its Python package.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

// The first of `places` that can be read. They are relative to the folder above the program's: as
// hwprof was built, then where it was installed, which the error names. `what` begins that
// sentence.
Result<std::string> find_own_part(const char* what,
                                  const std::vector<std::filesystem::path>& places);

}  // namespace hwprof
