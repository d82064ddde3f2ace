// The machine's own limits, measured on the CPUs that the kernels run on: FMA rate for each vector
// width, and bandwidth for each cache level.
//
// How a peak goes wrong: accumulators that start equal are merged by the compiler (the "peak" then
// reads 1.5 times too high), too few chains wait for latency (it reads too low). Here every chain
// has its own start value and passes through an empty asm statement on each step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hwprof {

class ThreadTeam;

// One FMA micro-kernel that this CPU can run.
struct FmaKernel {
  std::string isa;        // "scalar", "sse", "avx", "avx2", "avx512", "neon", "sve"
  double flops_per_step;  // FLOP of run(1)
  void (*run)(std::uint64_t steps);
};

// Those that this CPU can run, narrowest first; never empty.
const std::vector<FmaKernel>& fma_kernels();
// The one with the highest measured rate. Measured once (about 20 ms), then remembered.
const FmaKernel& fastest_fma_kernel();

// GFLOP/s over one slice of about `seconds` on the calling thread, by its CPU time.
double fma_slice_gflops(const FmaKernel& kernel, double seconds);
// The same on all threads of the team at once, together.
double team_peak_gflops(ThreadTeam& team, const FmaKernel& kernel, double seconds);

}  // namespace hwprof
