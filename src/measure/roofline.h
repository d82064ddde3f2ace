// The roofline (Williams, Waterman, Patterson 2009): no kernel is faster than its FLOP at the peak
// rate, nor than its compulsory bytes at the bandwidth of the level where they live. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "counters/machine.h"
#include "kernels/complexity.h"
#include "src/model/record.h"

namespace hwprof {

struct Roofline {
  double compute_ns = 0, memory_ns = 0;
  double ns = 0;  // the larger of the two
  bool compute_bound = false;
  std::string level;     // whose bandwidth counts; empty: none that holds the work was measured,
                         // and there is no roofline
  double intensity = 0;  // FLOP / byte
};

// FLOP / GFLOP/s = ns.
Roofline roofline(const Cost& cost, const report::Peak& peak);

// Of a rate as a fraction of its roofline: why it is over 1. "" up to 1.02, by which two
// measurements one after the other differ. `level` as above.
std::string why_over_roofline(double fraction, std::optional<report::Bound> bound,
                              const std::string& level);

// The first of `levels`, fastest first, that holds so many bytes; empty: none does.
std::string level_of(double working_set_bytes, const std::vector<report::Bandwidth>& levels);

// Of `peak`'s points, the most that any mix of reads and writes reached with arrays as large as
// `working_set_bytes` of all threads together, or larger; absent where none was measured.
std::optional<double> ceiling_gbs(double working_set_bytes, const report::Peak& peak);

// Of each of `levels` the point of `peak` that fills half of it, and of memory the largest. Levels
// that no point falls into are left out.
std::vector<report::Bandwidth> bandwidth_of(const std::vector<report::Bandwidth>& levels,
                                            const report::Peak& peak);

// Bytes of arrays, a thread, that lie in memory: four times the last cache, but not more than 256
// MiB in all, or twice the last cache where that is more, and an eighth of the memory.
std::uint64_t largest_working_set(const std::vector<report::Bandwidth>& levels,
                                  std::uint64_t memory_bytes, int threads);

// Name and capacity of each level, no bandwidth yet, for `threads` threads on cores of their own,
// memory last.
std::vector<report::Bandwidth> cache_levels(const Machine& machine, int threads);

}  // namespace hwprof
