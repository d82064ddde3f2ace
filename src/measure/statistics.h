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

// Half the width of the interval, as a fraction of `centre`.
double relative_half_width(const Interval& interval, double centre);

}  // namespace hwprof
