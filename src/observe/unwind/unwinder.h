// From the registers of a sample to its callers, frame by frame. Pure: what is known of code, and
// memory, come from outside.
//
// Assembly without unwind information: many kernels keep the stack pointer of their caller in rbx
// (OpenBLAS's, which align the stack for their buffers), others push little; what lies there and
// looks like a return address, and whose own caller does too, is the caller, and marked as guessed.
#pragma once

#include <cstdint>

#include "src/observe/unwind/row.h"
#include "src/observe/unwind/unwound.h"

namespace hwprof::observe {

// Of one process.
class UnwindCode {
 public:
  virtual ~UnwindCode() = default;
  // Of the instruction around it; nullptr: none is known. Stays where it is.
  virtual const UnwindRow* row(std::uint64_t address) = 0;
  // Code may return to it: the instruction before it is a call.
  virtual bool follows_call(std::uint64_t address) = 0;
  virtual bool is_entry(std::uint64_t address) = 0;      // of a program: nothing called it
  virtual bool is_generated(std::uint64_t address) = 0;  // code that lies in no file
  // Where the kernel lets a function return to that has a return probe; it keeps the address of the
  // caller to itself.
  virtual bool is_return_probe(std::uint64_t address) = 0;
};

UnwoundStack unwind(const Registers& hit, UnwindCode& code, StackMemory& memory);

}  // namespace hwprof::observe
