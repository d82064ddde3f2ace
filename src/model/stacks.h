// Where time went, by call stack, by source line and call by call: what flame graphs and timelines
// are drawn from. Plain structs, so that what measures and what draws know nothing of each other.
#pragma once

#include <cstddef>
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

// A call of a region or of a routine.
struct TraceSpan {
  std::string name, thread;
  std::size_t depth = 0;  // in how many others
  double start_ns = 0;    // since the first
  double duration_ns = 0;
};

template <>
const Record& record<FoldedStack>();
template <>
const Record& record<HotLine>();
template <>
const Record& record<TraceSpan>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::FoldedStack, model::HotLine, model::TraceSpan;
}  // namespace hwprof::report
