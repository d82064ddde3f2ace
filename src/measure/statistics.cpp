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

constexpr std::size_t kMedianResamples = 2000;
constexpr std::size_t kTail = kMedianResamples / 40;  // 2.5 %
constexpr std::uint64_t kSeed = 20260101;

Interval around(double centre, double half_of_log) {
  return {centre * std::exp(-half_of_log), centre * std::exp(half_of_log)};
}

}  // namespace

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

// With t = sqrt(v) tan(a) the density is that of cos(a)^(v - 1): Simpson's rule over what is left
// of a quarter of a circle, over all of it.
double student_p(double t, double freedom) {
  const auto integral = [freedom](double from) {
    constexpr int kSteps = 2000;
    const double quarter = std::acos(0.0), step = (quarter - from) / kSteps;
    double sum = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double weight = i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * std::pow(std::max(0.0, std::cos(from + i * step)), freedom - 1);
    }
    return sum * step;
  };
  return integral(std::atan(std::abs(t) / std::sqrt(freedom))) / integral(0);
}

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

LogMean mean_of_logs(std::span<const double> observations) {
  const auto count = static_cast<double>(observations.size());
  LogMean known{.freedom = count - 1};
  for (const double value : observations) known.mean += std::log(value) / count;
  for (const double value : observations) {
    const double away = std::log(value) - known.mean;
    known.variance += away * away / (count - 1) / count;
  }
  return known;
}

LogMean trimmed_mean_of_logs(std::span<const double> observations) {
  const std::size_t cut = observations.size() / 5;
  if (cut == 0) return mean_of_logs(observations);
  std::vector<double> winsorised(observations.begin(), observations.end());
  std::sort(winsorised.begin(), winsorised.end());
  const std::size_t last = winsorised.size() - 1 - cut;
  const auto kept = std::span<const double>(winsorised).subspan(cut, last - cut + 1);
  LogMean known{.mean = mean_of_logs(kept).mean};
  std::fill_n(winsorised.begin(), cut, winsorised[cut]);
  std::fill_n(winsorised.rbegin(), cut, winsorised[last]);
  const auto all = static_cast<double>(winsorised.size()), h = all - 2 * static_cast<double>(cut);
  // mean_of_logs() has the variance of a mean: that of a value is `all` times it.
  known.variance = mean_of_logs(winsorised).variance * all * (all - 1) / (h * (h - 1));
  known.freedom = h - 1;
  return known;
}

RatioTest test_ratio(const LogMean& ratio) {
  const double deviation = std::sqrt(ratio.variance);
  RatioTest test{.ratio = std::exp(ratio.mean)};
  test.interval = around(test.ratio, student_t(ratio.freedom) * deviation);
  if (deviation > 0) {
    test.p = student_p(ratio.mean / deviation, ratio.freedom);
  } else {
    test.p = ratio.mean == 0 ? 1 : 0;
  }
  return test;
}

RatioTest test_ratio(const LogMean& a, const LogMean& b) {
  const double variance = a.variance + b.variance;
  const double parts = a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom;
  return test_ratio({.mean = b.mean - a.mean,
                     .variance = variance,
                     .freedom = parts > 0 ? variance * variance / parts : a.freedom + b.freedom});
}

Interval median_interval(std::span<const double> in_order) {
  const double centre = median({in_order.begin(), in_order.end()});
  if (in_order.size() < 2) return {centre, centre};
  const LogMean blocks = mean_of_logs(block_medians(in_order));
  return around(centre, student_t(blocks.freedom) * std::sqrt(blocks.variance));
}

LogMean log_of_runs(std::span<const double> in_order, double between_runs) {
  LogMean known = mean_of_logs(block_medians(in_order));
  known.mean = std::log(median({in_order.begin(), in_order.end()}));
  known.variance += between_runs * between_runs;
  return known;
}

Interval runs_interval(std::span<const double> in_order, double between_runs) {
  if (in_order.size() < 2) return median_interval(in_order);
  const LogMean known = log_of_runs(in_order, between_runs);
  return around(std::exp(known.mean), student_t(known.freedom) * std::sqrt(known.variance));
}

Interval median_ratio_interval(std::span<const double> a, std::span<const double> b) {
  const double centre = median({b.begin(), b.end()}) / median({a.begin(), a.end()});
  if (a.size() < 2 || b.size() < 2) return {centre, centre};
  const RatioTest blocks =
      test_ratio(mean_of_logs(block_medians(a)), mean_of_logs(block_medians(b)));
  return {centre * blocks.interval.low / blocks.ratio,
          centre * blocks.interval.high / blocks.ratio};
}

Interval mean_log_interval(std::span<const double> values) {
  return test_ratio(mean_of_logs(values)).interval;
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

Interval share_interval(double hits, double samples) {
  constexpr double kZ = 1.96;
  const double share = hits / samples, z2 = kZ * kZ / samples;
  const double centre = (share + z2 / 2) / (1 + z2);
  const double half = kZ / (1 + z2) * std::sqrt(share * (1 - share) / samples + z2 / (4 * samples));
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

double relative_half_width(const Interval& interval, double centre) {
  return (interval.high - interval.low) / 2 / centre;
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
