#include "src/observe/python/line_stacks.h"

#include <cstddef>

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostStacks = 100'000;

}  // namespace

std::uint32_t LineStacks::number(const std::vector<PythonFrame>& frames) {
  std::vector<StackedLine> stack;
  stack.reserve(frames.size());
  for (const PythonFrame& frame : frames) {
    const PythonCode& code = *frame.code;
    const std::uint32_t line =
        lines_.number({code.file, code.function, frame.line, code.first_line});
    if (line == SourceLines::kNone) return 0;
    stack.push_back({line, frame.from_c});
  }
  if (const auto known = stack_numbers_.find(stack); known != stack_numbers_.end())
    return known->second;
  if (stacks_.size() > kMostStacks) return 0;
  const auto number = static_cast<std::uint32_t>(stacks_.size());
  stack_numbers_.emplace(stack, number);
  stacks_.push_back(std::move(stack));
  return number;
}

}  // namespace hwprof::observe
