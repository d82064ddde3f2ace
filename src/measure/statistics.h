// Robust statistics of repeated measurements, and whether one quantity is larger than another: pure
// functions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace hwprof {

// Middle value; mean of the two middle ones for an even count. `samples` must not be empty.
double median(std::vector<double> samples);

struct Interval {
  double low = 0, high = 0;
};

// 95 % percentile-bootstrap interval of the median (Efron 1979): 2,000 resamples from a fixed seed,
// so that the same samples always give the same interval. One sample: it is its own interval.
Interval bootstrap_median(std::span<const double> samples);

// Slices that were measured one after the other resemble each other: a mood of a shared machine
// lasts seconds. So they are taken in blocks of neighbours, ten over the whole measurement where
// there are enough, and a block counts as one observation (batch means: Conway 1963). The values
// are positive, in the order of measuring; two at least.
std::vector<double> block_medians(std::span<const double> in_order);

// 95 % interval of the median of this run: Student's t over the logarithms of the blocks' medians,
// around the median of all. One sample: it is its own interval. For what was measured by turns in
// one run, and is held against each other.
Interval median_interval(std::span<const double> in_order);

// What is known of the logarithm of a quantity: its mean, the variance of that mean, and the
// degrees of freedom behind it.
struct LogMean {
  double mean = 0, variance = 0, freedom = 0;
};

// Standard deviation of the logarithm of a row's median between runs of one binary, beyond what the
// slices of a run show: neighbours on the host slow a core for seconds, and where they do so for as
// long as a run lasts, no slice of it tells (docs/trust.md has the measurement).
// What lives from shared caches and memory suffers more than what computes.
inline constexpr double kBetweenRuns = 0.03, kBetweenRunsOfMemory = 0.08;
// The same of its time where other programs had its CPU meanwhile: its caches are then cold as
// often as their time slices end, which differs from run to run. Its fraction of the peak, which is
// by turns with it, stays as above.
inline constexpr double kBetweenRunsBesideLoad = 0.09, kBetweenRunsOfMemoryBesideLoad = 0.2;

// The logarithm of the median of runs like this one, from this one: its blocks, and what runs
// differ by. Two values at least.
LogMean log_of_runs(std::span<const double> in_order, double between_runs);

// 95 % interval of the median of runs like this one: what is printed, and what another run is held
// against. One sample: it is its own interval.
Interval runs_interval(std::span<const double> in_order, double between_runs);

// Of observations, two at least.
LogMean mean_of_logs(std::span<const double> observations);
// The same of the middle three fifths (Yuen 1974), from five observations on: of runs on a shared
// machine a few are far off, in either direction.
LogMean trimmed_mean_of_logs(std::span<const double> observations);

struct RatioTest {
  double ratio = 1;
  Interval interval{};  // 95 %
  double p = 1;         // two-sided, of the ratio being 1
};
// Of `b` over `a`, by Welch's test (1947).
RatioTest test_ratio(const LogMean& a, const LogMean& b);
// Of ratios that were observed, as of pairs of neighbouring runs, by Student's test.
RatioTest test_ratio(const LogMean& ratio);

// 95 % interval of the median of `b` over that of `a`, from their blocks.
Interval median_ratio_interval(std::span<const double> a, std::span<const double> b);

// Where the values are the observations: a run each, or a pair of neighbouring runs.
Interval mean_log_interval(std::span<const double> values);

// 97.5 % quantile of Student's t, and the two-sided p of a value of it.
double student_t(double freedom);
double student_p(double t, double freedom);

// What a sample must exceed to stand out: the median and three standard deviations, estimated from
// the median absolute deviation, which outliers do not move, or `least_fraction` of the median and
// `least_step`, whichever is more. `samples` must not be empty.
double upper_fence(std::span<const double> samples, double least_fraction, double least_step);

// 95 % interval of a share of which `hits` of `samples` are (Wilson 1927): also of 0 and of all.
Interval share_interval(double hits, double samples);

// Half the width of the interval, as a fraction of `centre`.
double relative_half_width(const Interval& interval, double centre);

// Holm's correction (1979) for having asked many times: each p as it is to be held against the
// level of a single test. Absent ones stay absent and do not count.
std::vector<std::optional<double>> holm(const std::vector<std::optional<double>>& p);

}  // namespace hwprof
