// Where a report goes: standard output, or a file that is either whole or not there.
#pragma once

#include <string>

#include "src/base/files.h"
#include "src/base/result.h"

namespace hwprof::report {

// Writes `bytes` to standard output; Fault::kEnvironment when they did not all arrive (full disk,
// closed pipe).
Result<void> write_stdout(const std::string& bytes);

// The same to standard error, where the report on a program goes whose standard output it is not.
Result<void> write_stderr(const std::string& bytes);

using hwprof::check_writable;
using hwprof::write_file;

}  // namespace hwprof::report
