#include "src/measure/comparison.h"

#include <fmt/format.h>

#include "src/measure/statistics.h"

namespace hwprof {
namespace {

// Slower and faster by the threshold are each other's mirror: twice the time, half the time.
bool slower(const Interval& ratio, double threshold) { return ratio.low > 1 + threshold; }
bool faster(const Interval& ratio, double threshold) { return ratio.high < 1 / (1 + threshold); }

// How much the FMA units could have done meanwhile, for each value.
std::vector<double> in_peak_units(const TimeSample& sample) {
  std::vector<double> units;
  for (std::size_t i = 0; i < sample.ns.size(); ++i) {
    units.push_back(sample.ns[i] * sample.peak_gflops[i]);
  }
  return units;
}

bool has_peaks(const TimeSample& sample) {
  return !sample.ns.empty() && sample.peak_gflops.size() == sample.ns.size();
}

RatioEstimate ratio_of(const std::vector<double>& baseline, const std::vector<double>& other) {
  return {median(other) / median(baseline), median_ratio_interval(baseline, other)};
}

RowChange estimate(const SamplePair& pair, std::size_t rows) {
  RowChange result;
  const TimeSample &a = pair.baseline, &b = pair.other;
  if (!a.median_ns || !b.median_ns) {
    result.reason = fmt::format("not measured in {}", a.median_ns   ? "this file"
                                                      : b.median_ns ? "the baseline"
                                                                    : "either file");
    return result;
  }
  result.ratio = *b.median_ns / *a.median_ns;
  if (a.ns.empty() || b.ns.empty()) {
    result.reason = "a file without the raw times of the row: no test can be made of medians";
    return result;
  }
  const double least_p = least_mann_whitney_p(a.ns.size(), b.ns.size());
  if (least_p * static_cast<double>(rows) > kSignificance) {
    result.reason =
        fmt::format("too few samples: with {} and {} of them and {} row{} nothing is significant",
                    a.ns.size(), b.ns.size(), rows, rows == 1 ? "" : "s");
    return result;
  }
  const RatioEstimate times = ratio_of(a.ns, b.ns);
  result.ratio = times.ratio;
  result.interval = times.interval;
  result.p = mann_whitney_p(a.ns, b.ns);
  if (pair.same_peak && has_peaks(a) && has_peaks(b)) {
    result.beside_peak = ratio_of(in_peak_units(a), in_peak_units(b));
  }
  return result;
}

Change judge(const RowChange& row, double threshold) {
  if (!row.p_holm) return Change::kNotComparable;
  const bool is_slower = slower(*row.interval, threshold);
  if (*row.p_holm >= kSignificance || (!is_slower && !faster(*row.interval, threshold))) {
    return Change::kSame;
  }
  if (row.beside_peak) {
    const Interval& left = row.beside_peak->interval;
    const bool stays = is_slower ? slower(left, threshold) : faster(left, threshold);
    // Where it is only less certain in units of the peak, the clock is no cause, and nothing shown.
    if (!stays) return left.low <= 1 && left.high >= 1 ? Change::kClock : Change::kSame;
  }
  return is_slower ? Change::kSlower : Change::kFaster;
}

}  // namespace

std::vector<RowChange> compare_rows(const std::vector<SamplePair>& rows, double threshold) {
  std::vector<RowChange> changes;
  std::vector<std::optional<double>> p;
  for (const SamplePair& pair : rows) {
    changes.push_back(estimate(pair, rows.size()));
    p.push_back(changes.back().p);
  }
  const std::vector<std::optional<double>> corrected = holm(p);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    changes[i].p_holm = corrected[i];
    changes[i].change = judge(changes[i], threshold);
  }
  return changes;
}

}  // namespace hwprof
