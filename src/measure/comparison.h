// Is the same work slower in another run? The slices of one run resemble each other more than
// those of two runs do, and clocks drift by 10 % on shared machines, so a small p alone says
// little: a row differs only where the rank test, the size of the difference, and the FMA peak
// that was measured beside each slice all say so. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/measure/statistics.h"
#include "src/model/comparison_record.h"

namespace hwprof {

// One row as one run measured it.
struct TimeSample {
  std::optional<double> median_ns;  // absent: it was not measured
  std::vector<double> ns;           // raw; empty: the file does not hold them
  std::vector<double> peak_gflops;  // beside each of `ns`; empty: not measured
};

struct RatioEstimate {
  double ratio = 1;
  Interval interval;  // 95 %
};

struct RowChange {
  Change change = Change::kNotComparable;
  std::optional<double> ratio;       // of the medians: above 1 is slower
  std::optional<Interval> interval;  // 95 % of `ratio`
  std::optional<double> p, p_holm;   // rank test; corrected for all rows
  // Time in units of the FMA peak beside: what is left of the ratio without the clock.
  std::optional<RatioEstimate> beside_peak;
  std::string reason;  // why not comparable
};

struct SamplePair {
  TimeSample baseline, other;
  bool same_peak = true;  // the peaks of both are of the same machine and number of threads
};

inline constexpr double kSignificance = 0.05;

// A row each. `threshold`: 0.05 is 5 %.
std::vector<RowChange> compare_rows(const std::vector<SamplePair>& rows, double threshold);

}  // namespace hwprof
