// Is the same work slower in other runs? Two runs of one binary differ by more than the slices
// within either say: each has its pages somewhere else, and finds the machine in another mood. So
// the run is the observation: of several a side, what differs between them is seen; of one, it is
// taken from what was measured once and for all (kBetweenRuns of statistics.h). A row differs only
// where the whole interval lies beyond the threshold and, bound by computing, also in units of the
// FMA peak that was measured beside it. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/measure/statistics.h"
#include "src/model/comparison_record.h"

namespace hwprof {

// One row as one run measured it.
struct RunTimes {
  std::optional<double> median_ns{};  // absent: it was not measured
  std::vector<double> ns{};           // raw; empty: the file does not hold them
  std::vector<double> peak_gflops{};  // beside each of `ns`; empty: not measured, or not its limit
  double between = kBetweenRuns;      // what runs differ by, where this is the only one
  std::string busy{};                 // why the time decides nothing; empty: it does
};

struct RowRuns {
  std::vector<RunTimes> baseline, other;
  bool same_peak = true;  // the peaks of both are of the same machine and number of threads
  // The n-th runs of both were neighbours: what both met falls out of their ratio.
  bool by_turns = false;
};

struct RowChange {
  Change change = Change::kNotComparable;
  std::optional<double> ratio;       // above 1 is slower
  std::optional<Interval> interval;  // 95 % of `ratio`
  std::optional<double> p, p_holm;   // of a ratio of 1; corrected for all rows
  // Time in units of the FMA peak beside: what is left of the ratio without the clock.
  std::optional<RatioTest> beside_peak;
  std::optional<std::size_t> runs_needed;  // a side, where it is undecided
  std::string reason;                      // why not comparable
};

inline constexpr double kSignificance = 0.05;

// Exact counts are the same in every run, so any difference is one: more or fewer beyond the
// threshold, else the same.
Change compare_counts(std::uint64_t baseline, std::uint64_t count, double threshold);

// More runs than these are no advice.
inline constexpr std::size_t kMostRunsNeeded = 100;

// A row each. `threshold`: 0.05 is 5 %.
std::vector<RowChange> compare_rows(const std::vector<RowRuns>& rows, double threshold);

}  // namespace hwprof
