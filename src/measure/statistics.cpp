#include "src/measure/statistics.h"

#include <algorithm>
#include <cstdint>
#include <random>

namespace hwprof {

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*std::max_element(samples.begin(), middle) + *middle) / 2;
}

Interval bootstrap_median(std::span<const double> samples) {
  constexpr std::size_t kResamples = 2000;
  constexpr std::size_t kTail = kResamples / 40;  // 2.5 %
  std::mt19937_64 random(20260101);
  std::vector<double> medians, resample(samples.size());
  medians.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    // Modulo instead of uniform_int_distribution, which differs between standard libraries; the
    // bias is below 2^-50 for any real number of samples.
    for (double& value : resample) value = samples[random() % samples.size()];
    medians.push_back(median(resample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[kTail], medians[kResamples - 1 - kTail]};
}

double relative_half_width(const Interval& interval, double centre) {
  return (interval.high - interval.low) / 2 / centre;
}

}  // namespace hwprof
