// The log: for people, on standard error, so that reports on standard output stay whole.
#pragma once

namespace hwprof::cli {

enum class Verbosity {
  kQuiet,    // errors
  kNormal,   // and warnings
  kVerbose,  // and each step
};

// Sets spdlog's default logger; until then it would write to standard output.
void start_log(Verbosity verbosity);

}  // namespace hwprof::cli
