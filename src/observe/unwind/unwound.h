// A sample's stack as its unwind information tells it: what whoever looks into the frames (of an
// interpreter, for one) gets of each sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "src/observe/proc/address_space.h"
#include "src/observe/unwind/registers.h"

namespace hwprof::observe {

struct UnwoundFrame {
  std::uint64_t pc = 0;   // the next instruction of this frame
  std::uint64_t cfa = 0;  // what the stack pointer was before the call of this frame; 0: not known
  // As they are while the frame is the innermost: of the first all, of its callers the stack
  // pointer and what is recovered of kCalleeSaved.
  Registers registers;
  // It was interrupted at `pc`: the innermost, and what a signal came upon. Else `pc` is where a
  // call returns to, which may already belong to what follows the calling function.
  bool interrupted = false;
  bool guessed = false;  // `pc` was found by scanning the stack, or by a frame pointer

  // An address within the instruction that is executed.
  [[nodiscard]] std::uint64_t executed() const { return interrupted || pc == 0 ? pc : pc - 1; }
};

enum class StackEnd {
  kWhole,    // the entry of the program, or where its thread started
  kNoRule,   // code without unwind information, or with some that says nothing: no caller was found
  kMemory,   // a part of the stack could not be read
  kBroken,   // what was recovered cannot be a caller
  kTooDeep,  // more frames than are followed
};

struct UnwoundStack {
  std::vector<UnwoundFrame> frames;  // innermost first; empty: no registers came with the sample
  StackEnd end = StackEnd::kNoRule;
};

// The stack of a sample, and what else of its process can still be read. Valid during the call.
class StackMemory {
 public:
  virtual ~StackMemory() = default;
  // A word of the stack: of the copy that came with the sample, or else as it is by now, which for
  // a caller that waits is the same. False: neither is there.
  virtual bool word(std::uint64_t address, std::uint64_t& value) = 0;
  // Any memory of the process, as it is by now.
  virtual bool read(std::uint64_t address, std::span<std::byte> to) = 0;
};

struct UnwoundSample {
  std::uint64_t time_ns = 0;  // CLOCK_MONOTONIC
  int pid = 0, tid = 0;
  bool in_kernel = false;  // the registers are those of the program that called it
  const UnwoundStack& stack;
  const AddressSpaces& spaces;
  StackMemory& memory;
};
using UnwoundHook = std::function<void(const UnwoundSample& sample)>;

}  // namespace hwprof::observe
