// Python stacks with a number each, so that a sample is a few words. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "src/observe/python/frames.h"
#include "src/observe/python/source_lines.h"

namespace hwprof::observe {

// A line in a stack.
struct StackedLine {
  std::uint32_t line = 0;  // its number
  bool from_c = false;     // as in PythonFrame

  auto operator<=>(const StackedLine&) const = default;  // NOLINT(modernize-use-nullptr)
};

class LineStacks {
 public:
  explicit LineStacks(SourceLines& lines) : lines_(lines) {}

  // 0 where there is no room for another one.
  std::uint32_t number(const std::vector<PythonFrame>& frames);

  // Innermost first. 0: empty.
  [[nodiscard]] const std::vector<StackedLine>& lines_of(std::uint32_t stack) const {
    return stacks_.at(stack);
  }
  [[nodiscard]] const report::SourceLine& line(std::uint32_t number) const {
    return lines_.line(number);
  }

 private:
  SourceLines& lines_;
  std::map<std::vector<StackedLine>, std::uint32_t> stack_numbers_;
  std::vector<std::vector<StackedLine>> stacks_ = {{}};
};

}  // namespace hwprof::observe
