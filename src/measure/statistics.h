// Robust statistics of repeated measurements, and whether one sample is larger than another,
// whatever their distribution: pure functions.
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

// 95 % interval of the median: Student's t over the logarithms of the blocks' medians, around the
// median of all. One sample: it is its own interval.
Interval median_interval(std::span<const double> in_order);

// 95 % interval of the median of `b` over that of `a`, by Welch's test (1947) on the logarithms of
// their blocks' medians.
Interval median_ratio_interval(std::span<const double> a, std::span<const double> b);

// The same where the values are the observations: a run each, or a pair of neighbouring runs.
Interval mean_log_interval(std::span<const double> values);

// What a sample must exceed to stand out: the median and three standard deviations, estimated from
// the median absolute deviation, which outliers do not move, or `least_fraction` of the median and
// `least_step`, whichever is more. `samples` must not be empty.
double upper_fence(std::span<const double> samples, double least_fraction, double least_step);

// Half the width of the interval, as a fraction of `centre`.
double relative_half_width(const Interval& interval, double centre);

// Two-sided p of the Mann-Whitney U test (Mann and Whitney 1947): the chance that two samples of
// one distribution differ in their ranks as much as `a` and `b` do. Ties share their mean rank.
// Exact by counting all ways to choose a's ranks where there are few values in all, else by the
// normal approximation with corrections for ties and continuity. Neither may be empty.
double mann_whitney_p(std::span<const double> a, std::span<const double> b);

// The least p that samples of these sizes can have.
double least_mann_whitney_p(std::size_t a, std::size_t b);

// Holm's correction (1979) for having asked many times: each p as it is to be held against the
// level of a single test. Absent ones stay absent and do not count.
std::vector<std::optional<double>> holm(const std::vector<std::optional<double>>& p);

}  // namespace hwprof
