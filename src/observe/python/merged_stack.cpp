#include "src/observe/python/merged_stack.h"

#include <algorithm>
#include <cstddef>

namespace hwprof::observe {
namespace {

bool evaluates(const NativeFrame& frame) { return frame.kind == FrameKind::kEvaluates; }

// Where the functions begin that one frame of the interpreter runs, in `python`.
std::vector<std::size_t> group_begins(std::span<const PythonCall> python) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < python.size(); ++i)
    if (i == 0 || python[i].from_c) begins.push_back(i);
  return begins;
}

}  // namespace

std::vector<std::string> merged_stack(std::span<const NativeFrame> native,
                                      std::span<const PythonCall> python) {
  std::vector<std::string> merged;
  const auto add_python = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) merged.push_back(python[i].name);
  };
  const std::vector<std::size_t> begins = group_begins(python);
  auto evaluations =
      static_cast<std::size_t>(std::count_if(native.begin(), native.end(), evaluates));
  if (evaluations < begins.size())
    add_python(0, evaluations > 0 ? begins[begins.size() - evaluations] : python.size());
  const bool replaces = !python.empty() && evaluations > 0;
  bool outside = true;  // no frame of Python yet
  for (const NativeFrame& frame : native) {
    if (!replaces || evaluations == 0) {
      merged.push_back(frame.name);
    } else if (!evaluates(frame)) {
      const bool leads_to_python =
          frame.kind == FrameKind::kInterpreter || (outside && frame.kind == FrameKind::kCLibrary);
      if (!leads_to_python) merged.push_back(frame.name);
    } else {
      outside = false;
      const std::size_t left = evaluations--;  // this one and those further in
      if (left > begins.size()) {
        merged.push_back(frame.name);
      } else {
        const std::size_t group = begins.size() - left;
        add_python(begins[group], left > 1 ? begins[group + 1] : python.size());
      }
    }
  }
  return merged;
}

}  // namespace hwprof::observe
