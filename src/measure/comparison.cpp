#include "src/measure/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hwprof {
namespace {

using Runs = std::vector<RunTimes>;

// What a run says of a row: a time, or how much the FMA units could have done meanwhile.
using Quantity = std::optional<std::vector<double>> (*)(const RunTimes& run);

std::optional<std::vector<double>> times_of(const RunTimes& run) {
  if (!run.ns.empty()) return run.ns;
  if (run.median_ns) return std::vector{*run.median_ns};
  return std::nullopt;
}

std::optional<std::vector<double>> peak_units_of(const RunTimes& run) {
  if (run.ns.empty() || run.peak_gflops.size() != run.ns.size()) return std::nullopt;
  std::vector<double> units;
  for (std::size_t i = 0; i < run.ns.size(); ++i) units.push_back(run.ns[i] * run.peak_gflops[i]);
  return units;
}

// The observations: one a run. Absent where a run lacks the quantity.
std::optional<std::vector<double>> run_medians(const Runs& runs, Quantity quantity) {
  std::vector<double> medians;
  for (const RunTimes& run : runs) {
    auto values = quantity(run);
    if (!values) return std::nullopt;
    medians.push_back(median(*std::move(values)));
  }
  return medians;
}

std::optional<LogMean> known_of(const Runs& runs, Quantity quantity) {
  if (runs.size() == 1) {
    constexpr std::size_t kLeastSlices = 4;
    const auto values = quantity(runs.front());
    if (!values || values->size() < kLeastSlices) return std::nullopt;
    return log_of_runs(*values, runs.front().between);
  }
  const auto medians = run_medians(runs, quantity);
  if (!medians || medians->empty()) return std::nullopt;
  return trimmed_mean_of_logs(*medians);
}

std::optional<RatioTest> test_of(const RowRuns& row, Quantity quantity) {
  if (!row.by_turns) {
    const auto a = known_of(row.baseline, quantity), b = known_of(row.other, quantity);
    return a && b ? std::optional(test_ratio(*a, *b)) : std::nullopt;
  }
  const auto a = run_medians(row.baseline, quantity), b = run_medians(row.other, quantity);
  if (!a || !b) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a->size(), b->size()); ++i)
    ratios.push_back((*b)[i] / (*a)[i]);
  if (ratios.size() < 2) return std::nullopt;
  return test_ratio(trimmed_mean_of_logs(ratios));
}

std::string busy_run(const RowRuns& row) {
  for (const Runs* side : {&row.baseline, &row.other})
    for (const RunTimes& run : *side)
      if (!run.busy.empty()) return run.busy;
  return "";
}

RowChange estimate(const RowRuns& row) {
  RowChange result;
  const auto a = run_medians(row.baseline, times_of), b = run_medians(row.other, times_of);
  const bool in_a = a && !a->empty(), in_b = b && !b->empty();
  if (!in_a || !in_b) {
    result.reason = fmt::format("not measured in {}", in_a   ? "this file"
                                                      : in_b ? "the baseline"
                                                             : "either file");
    return result;
  }
  result.ratio = median(*b) / median(*a);
  result.reason = busy_run(row);
  if (!result.reason.empty()) return result;
  const std::optional<RatioTest> times = test_of(row, times_of);
  if (!times) {
    result.reason = "a side of one run and no more than its median: compare several runs a side";
    return result;
  }
  result.ratio = times->ratio;
  result.interval = times->interval;
  result.p = times->p;
  if (row.same_peak) result.beside_peak = test_of(row, peak_units_of);
  return result;
}

// Slower and faster by the threshold are each other's mirror: twice the time, half the time.
Change judge(const Interval& ratio, double threshold) {
  if (ratio.low > 1 + threshold) return Change::kSlower;
  if (ratio.high < 1 / (1 + threshold)) return Change::kFaster;
  const bool within = ratio.low >= 1 / (1 + threshold) && ratio.high <= 1 + threshold;
  return within ? Change::kSame : Change::kUndecided;
}

// The time, and what is left of it without the clock.
Change judge(const RowChange& row, double threshold) {
  if (!row.p_holm) return Change::kNotComparable;
  const auto differs = [](Change change) {
    return change == Change::kSlower || change == Change::kFaster;
  };
  Change time = judge(*row.interval, threshold);
  if (differs(time) && *row.p_holm >= kSignificance) time = Change::kUndecided;
  if (!row.beside_peak) return time;
  const Change left = judge(row.beside_peak->interval, threshold);
  if (time == left) return time;
  if (differs(time) && left == Change::kSame) return Change::kClock;
  // One of them is narrow enough to say so; the other says nothing else.
  if (!differs(time) && !differs(left)) return Change::kSame;
  return Change::kUndecided;
}

// Runs a side with which an interval as wide as the present one shrinks to what its centre needs.
std::optional<std::size_t> runs_needed(const RowRuns& row, const Interval& ratio,
                                       double threshold) {
  const double middle = std::abs(std::log(ratio.low * ratio.high)) / 2;
  const double room = std::abs(middle - std::log1p(threshold));
  const auto half = [](double freedom, double deviation) { return student_t(freedom) * deviation; };
  const auto runs = static_cast<double>(std::min(row.baseline.size(), row.other.size()));
  const double freedom = std::max(1.0, row.by_turns ? runs - 1 : 2 * runs - 2);
  const double width = std::log(ratio.high / ratio.low) / 2;
  // Of one run a side the interval is by ten blocks.
  const double one_run = width / student_t(runs > 1 ? freedom : 9) * std::sqrt(runs);
  for (std::size_t n = row.baseline.size() + 1; n <= kMostRunsNeeded; ++n) {
    const auto count = static_cast<double>(n);
    if (half(row.by_turns ? count - 1 : 2 * count - 2, one_run / std::sqrt(count)) < room) return n;
  }
  return std::nullopt;
}

}  // namespace

Change compare_counts(std::uint64_t baseline, std::uint64_t count, double threshold) {
  const auto before = static_cast<double>(baseline), after = static_cast<double>(count);
  if (after > before * (1 + threshold)) return Change::kMore;
  return after < before * (1 - threshold) ? Change::kFewer : Change::kSame;
}

std::vector<RowChange> compare_rows(const std::vector<RowRuns>& rows, double threshold) {
  std::vector<RowChange> changes;
  std::vector<std::optional<double>> p;
  for (const RowRuns& row : rows) {
    changes.push_back(estimate(row));
    p.push_back(changes.back().p);
  }
  const std::vector<std::optional<double>> corrected = holm(p);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    RowChange& change = changes[i];
    change.p_holm = corrected[i];
    change.change = judge(change, threshold);
    if (change.change == Change::kUndecided)
      change.runs_needed = runs_needed(rows[i], *change.interval, threshold);
  }
  return changes;
}

}  // namespace hwprof
