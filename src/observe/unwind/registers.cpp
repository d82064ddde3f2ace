#include "src/observe/unwind/registers.h"

namespace hwprof::observe {

// Linux, arch/x86/include/uapi/asm/perf_regs.h: ax, bx, cx, dx, si, di, bp, sp, ip, r8 .. r15.
Registers registers_of(const Sample& sample) {
  constexpr std::array<std::size_t, kRegisters> kByPerf = {0, 3, 2,  1,  4,  5,  6,  7, 16,
                                                           8, 9, 10, 11, 12, 13, 14, 15};
  Registers registers;
  if (sample.registers.size() != kRegisters) return registers;
  for (std::size_t i = 0; i < kRegisters; ++i) registers.set(kByPerf.at(i), sample.registers[i]);
  return registers;
}

}  // namespace hwprof::observe
