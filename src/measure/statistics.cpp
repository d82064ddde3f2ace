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

namespace {

constexpr std::size_t kResamples = 2000;
constexpr std::size_t kTail = kResamples / 40;  // 2.5 %
constexpr std::uint64_t kSeed = 20260101;

// The median of as many values as `samples` has, drawn as runs of neighbours; the last goes on at
// the first.
double block_resampled_median(std::span<const double> samples, std::mt19937_64& random,
                              std::vector<double>& resample) {
  const auto block = static_cast<std::size_t>(std::ceil(std::cbrt(samples.size())));
  resample.clear();
  while (resample.size() < samples.size()) {
    const std::size_t first = random() % samples.size();
    for (std::size_t i = 0; i < block && resample.size() < samples.size(); ++i) {
      resample.push_back(samples[(first + i) % samples.size()]);
    }
  }
  return median(resample);
}

}  // namespace

Interval bootstrap_median(std::span<const double> samples) {
  std::mt19937_64 random(kSeed);
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

Interval bootstrap_median_ratio(std::span<const double> a, std::span<const double> b) {
  std::mt19937_64 random(kSeed);
  std::vector<double> ratios, resample;
  ratios.reserve(kResamples);
  for (std::size_t i = 0; i < kResamples; ++i) {
    const double of_a = block_resampled_median(a, random, resample);
    ratios.push_back(block_resampled_median(b, random, resample) / of_a);
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kTail], ratios[kResamples - 1 - kTail]};
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

double upper_fence(std::span<const double> samples, double least_fraction, double least_step) {
  constexpr double kSigmasPerDeviation = 1.4826;  // of a normal distribution
  constexpr double kSigmas = 3;
  const double middle = median({samples.begin(), samples.end()});
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::abs(sample - middle));
  const double spread = kSigmas * kSigmasPerDeviation * median(std::move(deviations));
  return middle + std::max({spread, least_fraction * std::abs(middle), least_step});
}

double relative_half_width(const Interval& interval, double centre) {
  return (interval.high - interval.low) / 2 / centre;
}

}  // namespace hwprof
