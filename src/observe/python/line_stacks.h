// Python stacks with a number each, so that a sample is a few words. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "src/observe/python/frames.h"

namespace hwprof::observe {

struct PythonLine {
  std::string file, function;
  std::int32_t line = 0;

  auto operator<=>(const PythonLine&) const = default;  // NOLINT(modernize-use-nullptr)
};

// A line in a stack.
struct StackedLine {
  std::uint32_t line = 0;  // its number
  bool from_c = false;     // as in PythonFrame

  auto operator<=>(const StackedLine&) const = default;  // NOLINT(modernize-use-nullptr)
};

class LineStacks {
 public:
  // 0 where there is no room for another one.
  std::uint32_t number(const std::vector<PythonFrame>& frames);

  // Innermost first. 0: empty.
  [[nodiscard]] const std::vector<StackedLine>& lines_of(std::uint32_t stack) const {
    return stacks_.at(stack);
  }
  [[nodiscard]] const PythonLine& line(std::uint32_t number) const { return *lines_.at(number); }

 private:
  std::map<PythonLine, std::uint32_t> line_numbers_;
  std::vector<const PythonLine*> lines_;
  std::map<std::vector<StackedLine>, std::uint32_t> stack_numbers_;
  std::vector<std::vector<StackedLine>> stacks_ = {{}};
};

}  // namespace hwprof::observe
