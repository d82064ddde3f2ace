// Registers of x86-64 as DWARF numbers them ("System V Application Binary Interface, AMD64
// Architecture Processor Supplement", figure 3.36).
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "src/observe/perf/records.h"

namespace hwprof::observe {

inline constexpr std::size_t kRegisters = 17;  // rax .. r15, and the return address
inline constexpr std::size_t kRbx = 3, kFramePointer = 6, kStackPointer = 7, kRip = 16;
// What a function gives back as it found it: rbx, rbp, r12 .. r15. A caller's are recovered.
inline constexpr std::array<std::size_t, 6> kCalleeSaved = {3, 6, 12, 13, 14, 15};

struct Registers {
  std::array<std::uint64_t, kRegisters> values{};
  std::bitset<kRegisters> known;
  // What a register held before code of which it is not known whether it left it alone.
  std::bitset<kRegisters> doubted;

  [[nodiscard]] bool has(std::size_t number) const { return number < kRegisters && known[number]; }
  [[nodiscard]] bool may_have(std::size_t number) const {
    return has(number) || (number < kRegisters && doubted[number]);
  }
  void set(std::size_t number, std::uint64_t value) {
    values.at(number) = value;
    known.set(number);
    doubted.reset(number);
  }
};

// Of the innermost frame; none where the sample has not all that kUnwindRegisters asks for, or is
// of a 32-bit program.
Registers registers_of(const Sample& sample);

}  // namespace hwprof::observe
