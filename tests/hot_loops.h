// Loops of known width, assembled: what the compiler would make of C++ is not known. Each is a
// function `void name(unsigned long rounds)` between labels, with a place inside its loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hwprof {

struct HotLoop {
  const char* name;
  void (*run)(unsigned long rounds);
  std::span<const std::byte> code;
  std::uint64_t address;  // of the code
  std::uint64_t inside;   // an instruction of the loop that does not compute
};

// "loop_scalar_fma", ...; stops the test program for a name that there is not.
const HotLoop& hot_loop(const char* name);

}  // namespace hwprof
