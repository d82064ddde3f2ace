#include "src/observe/python/line_stacks.h"

namespace hwprof::observe {
namespace {

constexpr std::size_t kMostStacks = 100'000, kMostLines = 200'000;

}  // namespace

std::uint32_t LineStacks::number(const std::vector<PythonFrame>& frames) {
  std::vector<StackedLine> stack;
  stack.reserve(frames.size());
  for (const PythonFrame& frame : frames) {
    const auto [known, added] =
        line_numbers_.try_emplace({frame.code->file, frame.code->function, frame.line},
                                  static_cast<std::uint32_t>(lines_.size()));
    if (added && lines_.size() >= kMostLines) {
      line_numbers_.erase(known);
      return 0;
    }
    if (added) lines_.push_back(&known->first);
    stack.push_back({known->second, frame.from_c});
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
