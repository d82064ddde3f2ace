// Work whose events are known, to hold a PMU against: loops of one instruction for each operation,
// width and precision that FLOP events tell apart, loads, calls, and two kernels of kernels/. What
// is exact about them is not written here: src/exact counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hwprof {

struct KnownWork {
  std::string name;
  std::function<void(std::uint64_t rounds)> run;
  std::uint64_t rounds = 0;  // some 0.1 to 1 ms
  // Bytes of each load that a round makes, where all are alike: bytes / this = loads. 0: not alike.
  unsigned load_bytes = 0;
  bool tells_flops = false;         // FLOP events are held against it, also where it has none
  bool tells_instructions = false;  // and `instructions`
};

// What this CPU can run; empty elsewhere than on x86-64.
std::vector<KnownWork> known_work();

}  // namespace hwprof
