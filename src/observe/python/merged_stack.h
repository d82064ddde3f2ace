// Call stacks through Python: the frames that the processor knows, with the functions of Python in
// the place of the interpreter's own that run them. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "src/observe/python/line_stacks.h"

namespace hwprof::observe {

enum class FrameKind : std::uint8_t {
  kOther,
  kCLibrary,
  kInterpreter,  // the interpreter's own code
  kEvaluates,    // of that, the function that runs Python's
};

struct MergedFrame {
  bool python = false;
  std::size_t index = 0;  // in the stack of its side
};

// All innermost first, as samples have them. What of the interpreter leads to a function of Python
// is left out, and of the C library what starts the interpreter's thread; what a function of Python
// calls stays. Where one side knows more callers than the other, the innermost belong together.
std::vector<MergedFrame> merged_stack(std::span<const FrameKind> native,
                                      std::span<const StackedLine> python);

}  // namespace hwprof::observe
