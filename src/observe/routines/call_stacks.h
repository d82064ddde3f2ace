// Who makes lines of the frames of Python that a call came from: what samples and calls share, so
// that both mean the same by the number of a stack.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/model/stacks.h"

namespace hwprof::observe {

// A function of Python and where it was, as addresses in the process.
struct CalledFunction {
  std::uint64_t code = 0, instruction = 0;
  bool from_c = false;  // as in PythonFrame
};

// Innermost first.
struct CallLines {
  std::vector<report::SourceLine> lines;
  std::size_t user = 0;  // of them, the innermost of the user's own code
};

struct CallStacks {
  // As soon as the call is known: reads the living process. 0: it was gone, or is none of Python.
  std::function<std::uint32_t(pid_t process, std::span<const CalledFunction> functions)> number;
  std::function<CallLines(std::uint32_t stack)> lines;
};

}  // namespace hwprof::observe
