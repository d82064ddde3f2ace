// What `hwprof compare` was asked: plain data, checked by the command line.
#pragma once

#include <string>
#include <vector>

#include "src/model/output.h"

namespace hwprof {

struct CompareOptions {
  std::vector<std::string> files;  // the first one is the baseline
  double threshold = 0.05;
  Output output;
};

}  // namespace hwprof
