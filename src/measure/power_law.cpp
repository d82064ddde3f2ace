#include "src/measure/power_law.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

namespace hwprof {
namespace {

constexpr std::size_t kExponentResamples = 1000;
constexpr std::uint64_t kExponentSeed = 20260101;

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> logs(values.size());
  std::transform(values.begin(), values.end(), logs.begin(), [](double v) { return std::log(v); });
  return logs;
}

// Sums of squares and products about the means.
double product_sum(std::span<const double> a, std::span<const double> b) {
  double mean_a = 0, mean_b = 0, sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    mean_a += a[i] / static_cast<double>(a.size());
    mean_b += b[i] / static_cast<double>(a.size());
  }
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}

// As many points as there are, each any of them. Modulo, for the reason in bootstrap_median().
std::vector<std::size_t> draw_points(std::size_t points, std::mt19937_64& random) {
  constexpr std::size_t kLeastDistinct = 3;
  std::vector<std::size_t> drawn(points);
  do {
    for (std::size_t& point : drawn) point = random() % points;
  } while (std::set<std::size_t>(drawn.begin(), drawn.end()).size() < kLeastDistinct);
  return drawn;
}

double block_median(std::span<const double> samples, std::mt19937_64& random) {
  const auto block =
      static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(samples.size()))));
  std::vector<double> drawn;
  drawn.reserve(samples.size());
  while (drawn.size() < samples.size()) {
    const std::size_t first = random() % samples.size();
    for (std::size_t i = 0; i < block && drawn.size() < samples.size(); ++i)
      drawn.push_back(samples[(first + i) % samples.size()]);
  }
  return median(std::move(drawn));
}

Interval middle_95_percent(std::vector<double> values) {
  constexpr std::size_t kTail = kExponentResamples / 40;  // 2.5 %
  std::sort(values.begin(), values.end());
  return {values[kTail], values[kExponentResamples - 1 - kTail]};
}

}  // namespace

double power_exponent(std::span<const double> sizes, std::span<const double> values) {
  const std::vector<double> x = logarithms(sizes), y = logarithms(values);
  std::vector<double> slopes;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = i + 1; j < x.size(); ++j) {
      if (sizes[i] != sizes[j]) slopes.push_back((y[j] - y[i]) / (x[j] - x[i]));
    }
  }
  return median(std::move(slopes));
}

JointExponents joint_exponents(std::span<const double> first, std::span<const double> second,
                               std::span<const double> values) {
  const std::vector<double> a = logarithms(first), b = logarithms(second), y = logarithms(values);
  const double aa = product_sum(a, a), ab = product_sum(a, b), bb = product_sum(b, b);
  const double ay = product_sum(a, y), by = product_sum(b, y);
  const double determinant = aa * bb - ab * ab;
  constexpr double kOneLine = 1e-9;  // what rounding leaves of 0
  if (determinant <= kOneLine * aa * bb) return {std::nan(""), std::nan("")};
  return {(ay * bb - by * ab) / determinant, (by * aa - ay * ab) / determinant};
}

ResampledMedians resample_medians(SamplesBySize samples) {
  std::mt19937_64 random(kExponentSeed);
  ResampledMedians medians;
  for (const std::vector<double>& of_point : samples) {
    std::vector<double>& resampled = medians.emplace_back(kExponentResamples);
    for (double& value : resampled) value = block_median(of_point, random);
  }
  return medians;
}

Interval bootstrap_exponent(std::span<const double> sizes,
                            std::span<const std::vector<double>> resampled) {
  std::mt19937_64 random(kExponentSeed);
  std::vector<double> exponents, x(sizes.size()), y(sizes.size());
  for (std::size_t i = 0; i < kExponentResamples; ++i) {
    const std::vector<std::size_t> drawn = draw_points(sizes.size(), random);
    for (std::size_t j = 0; j < drawn.size(); ++j) {
      x[j] = sizes[drawn[j]];
      y[j] = resampled[drawn[j]][random() % kExponentResamples];
    }
    exponents.push_back(power_exponent(x, y));
  }
  return middle_95_percent(std::move(exponents));
}

Interval noise_of_exponent(std::span<const double> sizes,
                           std::span<const std::vector<double>> resampled) {
  std::vector<double> exponents, y(sizes.size());
  for (std::size_t i = 0; i < kExponentResamples; ++i) {
    for (std::size_t j = 0; j < y.size(); ++j) y[j] = resampled[j][i];
    exponents.push_back(power_exponent(sizes, y));
  }
  return middle_95_percent(std::move(exponents));
}

std::vector<Interval> distances_from_power(std::span<const double> sizes,
                                           std::span<const double> values,
                                           std::span<const std::vector<double>> resampled,
                                           double exponent) {
  std::vector<double> offsets;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    offsets.push_back(std::log(values[i]) - exponent * std::log(sizes[i]));
  const double middle = median(std::move(offsets));
  const auto tail =
      static_cast<std::size_t>(0.025 * kExponentResamples / static_cast<double>(sizes.size()));
  std::vector<Interval> distances;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<double> sorted = resampled[i];
    std::sort(sorted.begin(), sorted.end());
    const double line = std::exp(middle + exponent * std::log(sizes[i]));
    distances.push_back(
        {sorted[tail] / line - 1, sorted[kExponentResamples - 1 - tail] / line - 1});
  }
  return distances;
}

JointIntervals bootstrap_joint(std::span<const double> first, std::span<const double> second,
                               SamplesBySize samples) {
  std::mt19937_64 random(kExponentSeed);
  const ResampledMedians resampled = resample_medians(samples);
  std::vector<double> of_first, of_second;
  while (of_first.size() < kExponentResamples) {
    std::vector<double> a, b, y;
    for (const std::size_t point : draw_points(samples.size(), random)) {
      a.push_back(first[point]);
      b.push_back(second[point]);
      y.push_back(resampled[point][random() % kExponentResamples]);
    }
    const JointExponents joint = joint_exponents(a, b, y);
    if (std::isnan(joint.first)) continue;
    of_first.push_back(joint.first);
    of_second.push_back(joint.second);
  }
  return {middle_95_percent(std::move(of_first)), middle_95_percent(std::move(of_second))};
}

FixedCost fit_fixed_cost(std::span<const double> costs, std::span<const double> values) {
  // Minimises the sum of (fixed / y + rate * cost / y - 1)^2.
  double pp = 0, pq = 0, qq = 0, p = 0, q = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double of_fixed = 1 / values[i], of_rate = costs[i] / values[i];
    pp += of_fixed * of_fixed;
    pq += of_fixed * of_rate;
    qq += of_rate * of_rate;
    p += of_fixed;
    q += of_rate;
  }
  const double determinant = pp * qq - pq * pq;
  FixedCost fit{(p * qq - q * pq) / determinant, (q * pp - p * pq) / determinant, 0};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const double off = std::abs((fit.fixed + fit.rate * costs[i]) / values[i] - 1);
    fit.worst = std::max(fit.worst, off);
  }
  return fit;
}

}  // namespace hwprof
