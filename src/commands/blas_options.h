// What `hwprof blas` was asked: plain data, checked by the command line.
#pragma once

#include <string>
#include <vector>

#include "src/commands/run_options.h"

namespace hwprof {

struct BlasOptions {
  std::vector<std::string> paths;  // libraries to measure beside those that are installed
  bool quick = false;              // within 3 s
  Output output;
  RunOptions run;  // where run.request.command is not empty: the BLAS of that command instead
};

}  // namespace hwprof
