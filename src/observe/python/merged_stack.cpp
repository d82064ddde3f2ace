#include "src/observe/python/merged_stack.h"

#include <algorithm>

namespace hwprof::observe {
namespace {

bool evaluates(FrameKind kind) { return kind == FrameKind::kEvaluates; }

// Behind the functions that each frame of the interpreter runs, in `python`.
std::vector<std::size_t> group_ends(std::span<const StackedLine> python) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < python.size(); ++i)
    if (i + 1 == python.size() || python[i].from_c) ends.push_back(i + 1);
  return ends;
}

}  // namespace

std::vector<MergedFrame> merged_stack(std::span<const FrameKind> native,
                                      std::span<const StackedLine> python) {
  std::vector<MergedFrame> merged;
  std::size_t taken = 0;  // of `python`
  const auto add_python = [&](std::size_t end) {
    for (; taken < end; ++taken) merged.push_back({true, taken});
  };
  const std::vector<std::size_t> ends = group_ends(python);
  const auto evaluations =
      static_cast<std::size_t>(std::count_if(native.begin(), native.end(), evaluates));
  const bool replaces = !python.empty() && evaluations > 0;
  std::size_t met = 0;  // of them
  for (std::size_t i = 0; i < native.size(); ++i) {
    if (replaces && evaluates(native[i]) && met < ends.size()) {
      add_python(ends[met]);
    } else {
      const bool outside = met == evaluations;  // of all of Python
      const bool leads_to_python =
          replaces && met > 0 &&
          (native[i] == FrameKind::kInterpreter || (outside && native[i] == FrameKind::kCLibrary));
      if (!leads_to_python) merged.push_back({false, i});
    }
    if (evaluates(native[i])) ++met;
  }
  add_python(python.size());
  return merged;
}

}  // namespace hwprof::observe
