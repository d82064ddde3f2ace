// Does the time agree with the complexity analysis? The question of the course project, answered
// from the measured rows. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/measure/statistics.h"
#include "src/model/record.h"

namespace hwprof {

// What takes this many times its ceiling has a cost that the model does not know; what takes this
// many times less has a wrong ceiling.
inline constexpr double kRooflineFactor = 3;

// 95 % interval of the median of this run: rows of one run were measured by turns, in the same
// moods of the machine, so that is what they are held against each other by. The row has a time.
Interval run_interval_ns(const report::Row& row);

// CPU time leaves out what other programs took, but not what they did to the caches.
inline constexpr double kMostlyOnCpu = 0.9;

// What the time of such a row differs by from run to run; an unknown limit may be memory.
inline double between_runs(std::optional<report::Bound> bound,
                           std::optional<double> on_cpu = std::nullopt) {
  const bool compute = bound == report::Bound::kCompute;
  if (on_cpu.value_or(1) < kMostlyOnCpu)
    return compute ? kBetweenRunsBesideLoad : kBetweenRunsOfMemoryBesideLoad;
  return compute ? kBetweenRuns : kBetweenRunsOfMemory;
}

// Of how many rows the blocks of this run say more than what runs differ by anyway: there a longer
// budget or a quieter machine makes the printed interval narrower; elsewhere nothing in this run
// can. `shortage`: "--time-budget 10 is short". "" where it is of none.
std::string wide_rows_text(const std::vector<report::Row>& rows, const std::string& shortage);

// The sum of the layers' medians for each of `passes`, all of whose layers were measured.
std::vector<report::ForwardPass> forward_passes(const std::vector<report::Row>& rows,
                                                const std::vector<report::PassVariants>& passes);

// Sets forward_share of each row that belongs to one of `passes`.
void set_forward_shares(std::vector<report::Row>& rows,
                        const std::vector<report::ForwardPass>& passes);

// The answer is of one pass, the fastest that keeps the layers apart; no other variant and no slow
// BLAS changes it. It agrees where each layer's time, with its whole interval, is within
// kRooflineFactor of its own ceiling, and its cost units are the operations that its model counts.
// Layers of different operations are never put in an order: a comparison is no multiply-add. That
// the time of one operation is proportional to its cost is for a sweep over shapes to say.
// Variants far from their ceiling are listed apart, without a cause.
report::Complexity complexity_agreement(const std::vector<report::Row>& rows,
                                        const std::vector<report::ForwardPass>& passes);

// What was seen of one variant that is far from its ceiling: each cause timed alone.
struct CauseTimes {
  double blas_factor = 1;  // how many times faster the BLAS could be, by the ladder
  double call_ns = 0;      // a call with hardly any work in it
  double copy_ns = 0;      // of im2col, alone
};

// Sentences, for what explains at least a tenth of the time; empty: no cause was measured.
std::vector<std::string> causes_of(const report::FarVariant& variant, const CauseTimes& times);

}  // namespace hwprof
