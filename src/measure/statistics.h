// Robust statistics of repeated measurements: pure functions.
#pragma once

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

// Half the width of the interval, as a fraction of `centre`.
double relative_half_width(const Interval& interval, double centre);

}  // namespace hwprof
