// The roofline (Williams, Waterman, Patterson 2009): no kernel is faster than its FLOP at the peak
// rate, nor than its compulsory bytes at the bandwidth of the level where they live. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/machine/machine.h"
#include "kernels/complexity.h"

namespace hwprof {

struct LevelBandwidth {
  std::string level;          // "L1", "L2", "L3", "memory"
  double capacity_bytes = 0;  // of all instances that the threads use; 0: unlimited (memory)
  double read_gbs = 0;
};

// The machine's, as measured in this run.
struct Ceilings {
  double f32_gflops = 0;
  std::vector<LevelBandwidth> levels;  // memory last, all measured
};

struct Roofline {
  double compute_ns = 0, memory_ns = 0;
  double ns = 0;  // the larger of the two
  bool compute_bound = false;
  std::string level;     // whose bandwidth counts; empty: none that holds the work was measured,
                         // and there is no roofline
  double intensity = 0;  // FLOP / byte
};

// `levels` fastest first, the last one without limit; peak in GFLOP/s. FLOP / GFLOP/s = ns.
Roofline roofline(const Cost& cost, double peak_gflops, const std::vector<LevelBandwidth>& levels);

// The first of `levels`, fastest first, that holds so many bytes; empty: none does.
std::string level_of(double working_set_bytes, const std::vector<LevelBandwidth>& levels);

// Name and capacity of each level for `threads` threads on cores of their own, memory last.
std::vector<LevelBandwidth> cache_levels(const Machine& machine, int threads);

}  // namespace hwprof
