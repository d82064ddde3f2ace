// One x86-64 instruction, decoded for counting: what it does (Effect) and how it can be moved to
// another address (Form). Pure: bytes in, values out; nothing is allocated after warm_up(), since
// the code that is counted may be malloc itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/exact/counts.h"

namespace hwprof::exact {

enum class Flow : std::uint8_t {
  kNext,
  kBranch,       // conditional, to `target` or on
  kShortBranch,  // loop, jrcxz: conditional, with a distance of 8 bits only
  kJump,
  kCall,
  kIndirectJump,
  kIndirectCall,
  kReturn,
  kSystemCall,
};

struct Form {
  std::uint8_t length = 0;
  Flow flow = Flow::kNext;
  std::uint64_t target = 0;              // of kBranch to kCall
  bool rip_relative = false;             // names memory by its distance from the next instruction
  std::int32_t displacement = 0;         // that distance
  std::uint8_t displacement_offset = 0;  // where in the bytes it stands
  std::uint8_t modrm_offset = 0;         // of kIndirectJump and kIndirectCall
  std::uint8_t condition = 0;            // of kBranch: the code of jcc
  std::uint16_t returns_over = 0;        // ret n
  // Arithmetic flags, as bits of RFLAGS: read, and overwritten whatever the operands are.
  std::uint32_t flags_read = 0, flags_written = 0;
};

inline constexpr std::uint32_t kArithmeticFlags = 0x8d5;  // CF PF AF ZF SF OF

struct Instruction {
  Effect effect;
  Form form;
  // Why it cannot be counted, as the end of a sentence; null where it can.
  const char* refusal = nullptr;
};

// `code` starts at `address`; what follows the instruction is not looked at.
Instruction decode(std::span<const std::byte> code, std::uint64_t address);

// Makes the tables that decode() reads.
void warm_up();

}  // namespace hwprof::exact
