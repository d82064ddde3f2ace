// Which Python frame a thread was in when it was sampled. The interpreter's C function keeps the
// next instruction in a register, which unwinding recovers; what was read of the living frames
// later is true of the sample as far as it agrees with that. Pure.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "src/observe/python/frames.h"
#include "src/observe/python/interpreter.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

// The code object into whose instructions an address points; nullptr: none that is known.
using CodeHolding = std::function<std::shared_ptr<const PythonCode>(std::uint64_t address)>;

// Frames at the moment of the sample, innermost first. Absent: the registers do not tell.
std::optional<std::vector<PythonFrame>> sampled_frames(const PythonInterpreter& interpreter,
                                                       const UnwoundStack& stack,
                                                       StackMemory& memory,
                                                       const std::vector<PythonFrame>& living,
                                                       const CodeHolding& code_holding);

}  // namespace hwprof::observe
