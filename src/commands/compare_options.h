// What `hwprof compare` was asked: plain data, checked by the command line.
#pragma once

#include <string>
#include <vector>

#include "src/commands/profile_options.h"

namespace hwprof {

struct CompareOptions {
  std::vector<std::string> files;  // the first one is the baseline
  double threshold = 0.05;
  Format format = Format::kText;
  std::string output;  // empty: standard output
};

}  // namespace hwprof
