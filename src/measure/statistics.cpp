#include "src/measure/statistics.h"

#include <algorithm>
#include <cmath>
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

Interval ordered_median(std::span<const double> samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double reach = 1.96 * std::sqrt(n) / 2;
  const auto rank = [&](double at) { return static_cast<std::size_t>(std::clamp(at, 0.0, n - 1)); };
  return {sorted[rank(std::floor(n / 2 - reach) - 1)], sorted[rank(std::ceil(n / 2 + reach))]};
}

Interval median_interval(std::span<const double> samples) {
  constexpr std::size_t kMany = 500;
  return samples.size() > kMany ? ordered_median(samples) : bootstrap_median(samples);
}

double relative_half_width(const Interval& interval, double centre) {
  return (interval.high - interval.low) / 2 / centre;
}

}  // namespace hwprof
