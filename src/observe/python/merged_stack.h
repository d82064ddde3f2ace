// Call stacks through Python: the frames that the processor knows, with the functions of Python in
// the place of the interpreter's own that run them. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hwprof::observe {

enum class FrameKind : std::uint8_t {
  kOther,
  kCLibrary,
  kInterpreter,  // the interpreter's own code
  kEvaluates,    // of that, the function that runs Python's
};

struct NativeFrame {
  std::string name;
  FrameKind kind = FrameKind::kOther;
};

struct PythonCall {
  std::string name;
  bool from_c = false;  // C called it: it is the outermost that its frame of the interpreter runs
};

// Both outermost first, and so is the result. What of the interpreter leads to a function of Python
// is left out, and of the C library what starts the interpreter's thread; what a function of Python
// calls stays. Where one side knows more callers than the other, the innermost belong together.
std::vector<std::string> merged_stack(std::span<const NativeFrame> native,
                                      std::span<const PythonCall> python);

}  // namespace hwprof::observe
