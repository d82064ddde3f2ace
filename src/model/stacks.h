// Where CPU time went, by call stack and by source line: what flame graphs are drawn from. Plain
// structs, so that what samples and what draws know nothing of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

// Equal stacks counted together. Names are as the program has them: nothing is escaped.
struct FoldedStack {
  std::vector<std::string> frames;  // outermost first; the first is the name of the process
  std::uint64_t samples = 0;
};

struct HotLine {
  std::string file;
  int line = 0;
  std::string symbol;
  std::uint64_t samples = 0;
  double fraction = 0;  // of all samples
};

template <>
const Record& record<FoldedStack>();
template <>
const Record& record<HotLine>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::FoldedStack, model::HotLine;
}  // namespace hwprof::report
