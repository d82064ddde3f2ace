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

// 97.5 % quantile of Student's t for 1, 2, ... degrees of freedom; beyond the table that of the
// normal distribution with the first correction (Abramowitz and Stegun 26.7.5).
double student_t(double freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262,
                               2.228,  2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101};
  const auto row = static_cast<std::size_t>(std::max(1.0, std::floor(freedom)));
  if (row <= std::size(kTable)) return kTable[row - 1];
  constexpr double kNormal = 1.95996;
  return kNormal + (kNormal * kNormal * kNormal + kNormal) / 4 / freedom;
}

// Of logarithms: ratios of times are what is of interest.
struct Spread {
  double mean = 0, variance = 0, count = 0;  // the variance of a mean of `count` values
};
Spread spread_of_logs(std::span<const double> values) {
  Spread spread{.count = static_cast<double>(values.size())};
  for (const double value : values) spread.mean += std::log(value) / spread.count;
  for (const double value : values) {
    const double away = std::log(value) - spread.mean;
    spread.variance += away * away / (spread.count - 1) / spread.count;
  }
  return spread;
}

Interval around(double centre, double half_of_log) {
  return {centre * std::exp(-half_of_log), centre * std::exp(half_of_log)};
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

std::vector<double> block_medians(std::span<const double> in_order) {
  constexpr std::size_t kBlocks = 10;
  const std::size_t blocks = std::min(kBlocks, in_order.size());
  std::vector<double> medians;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::size_t first = i * in_order.size() / blocks;
    const std::size_t end = (i + 1) * in_order.size() / blocks;
    const auto block = in_order.subspan(first, end - first);
    medians.push_back(median({block.begin(), block.end()}));
  }
  return medians;
}

Interval median_interval(std::span<const double> in_order) {
  const double centre = median({in_order.begin(), in_order.end()});
  if (in_order.size() < 2) return {centre, centre};
  const Spread spread = spread_of_logs(block_medians(in_order));
  return around(centre, student_t(spread.count - 1) * std::sqrt(spread.variance));
}

Interval median_ratio_interval(std::span<const double> a, std::span<const double> b) {
  const double centre = median({b.begin(), b.end()}) / median({a.begin(), a.end()});
  if (a.size() < 2 || b.size() < 2) return {centre, centre};
  const Spread of_a = spread_of_logs(block_medians(a)), of_b = spread_of_logs(block_medians(b));
  const double variance = of_a.variance + of_b.variance;
  if (variance <= 0) return {centre, centre};
  const double freedom = variance * variance /
                         (of_a.variance * of_a.variance / (of_a.count - 1) +
                          of_b.variance * of_b.variance / (of_b.count - 1));
  return around(centre, student_t(freedom) * std::sqrt(variance));
}

Interval mean_log_interval(std::span<const double> values) {
  const Spread spread = spread_of_logs(values);
  return around(std::exp(spread.mean), student_t(spread.count - 1) * std::sqrt(spread.variance));
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
