// Opening a file that the user named, with the errors that all readers have in common.
#pragma once

#include <string>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

// "-" is standard input, as a descriptor of its own. Fault::kUsage when the file cannot be opened,
// or is a directory.
Result<UniqueFd> open_input(const std::string& path);

// "standard input" for "-", else the path: what a message calls it.
std::string display_name(const std::string& path);

}  // namespace hwprof
