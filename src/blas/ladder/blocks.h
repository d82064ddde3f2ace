// What the children of one rung measured, a block each, and what is known of the rung by them.
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "src/model/blas.h"

namespace hwprof::blas {

// Of a rung that decides: three give an interval, five a narrow one. Of the two that the verdict
// compares more where a busy machine leaves theirs wide.
inline constexpr std::size_t kFewestBlocks = 3, kMostBlocks = 5, kMostBlocksOfTheTwo = 15;
// The clock drifts by 10 %; a peak below this share of the others' was not the core's own.
inline constexpr double kUndisturbedPeak = 0.85;

// What one child measured.
struct Block {
  std::optional<double> fraction;  // absent where there is no sgemm_
  double peak_gflops = 0;
  std::optional<double> calls_fraction = {};
};
// The rung's fractions over its blocks; their interval where there are enough. A block whose peak
// is far below `highest_peak` was not alone on its core, and counts only where no other does.
void summarise(std::vector<Block> blocks, double highest_peak, report::LadderRung& rung);

}  // namespace hwprof::blas
