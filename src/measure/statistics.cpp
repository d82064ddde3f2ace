#include "src/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

namespace hwprof {

double median(std::vector<double> samples) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*std::max_element(samples.begin(), middle) + *middle) / 2;
}

namespace {

constexpr std::size_t kMedianResamples = 2000;
constexpr std::size_t kTail = kMedianResamples / 40;  // 2.5 %
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
  medians.reserve(kMedianResamples);
  for (std::size_t i = 0; i < kMedianResamples; ++i) {
    // Modulo instead of uniform_int_distribution, which differs between standard libraries; the
    // bias is below 2^-50 for any real number of samples.
    for (double& value : resample) value = samples[random() % samples.size()];
    medians.push_back(median(resample));
  }
  std::sort(medians.begin(), medians.end());
  return {medians[kTail], medians[kMedianResamples - 1 - kTail]};
}

Interval bootstrap_median_ratio(std::span<const double> a, std::span<const double> b) {
  std::mt19937_64 random(kSeed);
  std::vector<double> ratios, resample;
  ratios.reserve(kMedianResamples);
  for (std::size_t i = 0; i < kMedianResamples; ++i) {
    const double of_a = block_resampled_median(a, random, resample);
    ratios.push_back(block_resampled_median(b, random, resample) / of_a);
  }
  std::sort(ratios.begin(), ratios.end());
  return {ratios[kTail], ratios[kMedianResamples - 1 - kTail]};
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

namespace {

// Counting grows with the fourth power of the values: 40 take a few milliseconds.
constexpr std::size_t kMostExact = 40;

// Of both samples in one order, a's first: twice the rank of each value, which is whole even where
// two values tie; and the sum of t^3 - t over groups of t equal values.
struct Ranks {
  std::vector<std::size_t> twice;
  double ties = 0;
};

Ranks rank(std::span<const double> a, std::span<const double> b) {
  std::vector<double> values(a.begin(), a.end());
  values.insert(values.end(), b.begin(), b.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&values](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  Ranks ranks{std::vector<std::size_t>(values.size()), 0};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks.twice[order[i]] = first + 1 + end;
    const auto tied = static_cast<double>(end - first);
    ranks.ties += tied * tied * tied - tied;
    first = end;
  }
  return ranks;
}

// Share of all choices of `chosen` of the ranks whose sum is as far from its mean as `sum`.
double exact_p(const std::vector<std::size_t>& twice, std::size_t chosen, std::size_t sum) {
  const std::size_t all = std::accumulate(twice.begin(), twice.end(), std::size_t{0});
  // ways[n][s]: choices of n of the ranks so far that add up to s.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(all + 1, 0.0));
  ways[0][0] = 1;
  for (const std::size_t rank : twice) {
    for (std::size_t n = chosen; n > 0; --n) {
      for (std::size_t s = all; s >= rank; --s) ways[n][s] += ways[n - 1][s - rank];
    }
  }
  const double mean = static_cast<double>(all * chosen) / static_cast<double>(twice.size());
  const double distance = std::abs(static_cast<double>(sum) - mean);
  double as_far = 0, total = 0;
  for (std::size_t s = 0; s <= all; ++s) {
    total += ways[chosen][s];
    // Half a step of slack: sums are whole, the mean may not be.
    if (std::abs(static_cast<double>(s) - mean) > distance - 0.25) as_far += ways[chosen][s];
  }
  return as_far / total;
}

double normal_p(const Ranks& ranks, std::size_t in_a, std::size_t twice_sum) {
  const auto n = static_cast<double>(ranks.twice.size());
  const auto a = static_cast<double>(in_a), b = n - a;
  const double variance = a * b / 12 * (n + 1 - ranks.ties / (n * (n - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double distance = std::abs(static_cast<double>(twice_sum) / 2 - a * (n + 1) / 2);
  const double z = std::max(0.0, distance - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

}  // namespace

double mann_whitney_p(std::span<const double> a, std::span<const double> b) {
  const Ranks ranks = rank(a, b);
  const auto a_end = ranks.twice.begin() + static_cast<std::ptrdiff_t>(a.size());
  const std::size_t sum = std::accumulate(ranks.twice.begin(), a_end, std::size_t{0});
  return ranks.twice.size() <= kMostExact ? exact_p(ranks.twice, a.size(), sum)
                                          : normal_p(ranks, a.size(), sum);
}

double least_mann_whitney_p(std::size_t a, std::size_t b) {
  // Two of all choices are extreme: a's values all below b's, or all above.
  double choices = 1;
  for (std::size_t i = 1; i <= a; ++i)
    choices *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / choices);
}

std::vector<std::optional<double>> holm(const std::vector<std::optional<double>>& p) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i]) order.push_back(i);
  std::sort(order.begin(), order.end(),
            [&p](std::size_t i, std::size_t j) { return *p[i] < *p[j]; });
  std::vector<std::optional<double>> corrected(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto left = static_cast<double>(order.size() - i);
    largest = std::max(largest, std::min(1.0, left * *p[order[i]]));
    corrected[order[i]] = largest;
  }
  return corrected;
}

}  // namespace hwprof
