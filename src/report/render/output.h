// Where a report goes: standard output, or a file that is either whole or not there.
#pragma once

#include <string>

#include "src/base/result.h"

namespace hwprof::report {

// Writes `bytes` to standard output; Fault::kEnvironment when they did not all arrive (full disk,
// closed pipe).
Result<void> write_stdout(const std::string& bytes);

// The same to standard error, where the report on a program goes whose standard output it is not.
Result<void> write_stderr(const std::string& bytes);

// Refuses early what cannot work (a directory, a folder that is missing or not writable), so that
// nobody waits for a measurement that cannot be saved. Creates nothing.
Result<void> check_writable(const std::string& path);

// Regular or new file: a temporary file beside it, fsync, rename (links are followed first). A
// pipe or device is written directly and never replaced.
Result<void> write_file(const std::string& path, const std::string& bytes);

}  // namespace hwprof::report
