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

// 95 % percentile-bootstrap interval of the median of `b` over that of `a`, each drawn anew on its
// own, in blocks of neighbours (Künsch 1989), since slices that were measured one after the other
// resemble each other: single draws would give too narrow an interval.
Interval bootstrap_median_ratio(std::span<const double> a, std::span<const double> b);
// The same from the order of the samples alone (Conover 1999, 3.2: the binomial distribution, by
// its normal approximation): what it costs does not grow with resampling, so for thousands of
// samples.
Interval ordered_median(std::span<const double> samples);

// The bootstrap's interval, or beyond a few hundred samples, where both say the same, the other.
Interval median_interval(std::span<const double> samples);

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
