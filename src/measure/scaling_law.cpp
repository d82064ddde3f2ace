#include "src/measure/scaling_law.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/measure/power_law.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

using report::ScalingLaw;

template <class Point>
std::vector<double> models_of(std::span<const Point> points) {
  std::vector<double> models;
  for (const Point& point : points) models.push_back(point.model);
  return models;
}

template <class Point>
std::vector<std::vector<double>> samples_of(std::span<const Point> points) {
  std::vector<std::vector<double>> samples;
  for (const Point& point : points) samples.push_back(point.samples);
  return samples;
}

std::vector<double> medians_of(std::span<const std::vector<double>> samples) {
  std::vector<double> medians;
  for (const std::vector<double>& of_point : samples) medians.push_back(median(of_point));
  return medians;
}

double half_width(const Interval& interval) { return (interval.high - interval.low) / 2; }

bool holds_model(const ScalingLaw& law) {
  return *law.low - kExponentTolerance <= *law.model_exponent &&
         *law.model_exponent <= *law.high + kExponentTolerance;
}

bool narrow(const ScalingLaw& law) {
  return half_width({*law.low, *law.high}) <= kExponentTolerance;
}

// By the noise of the slices alone.
bool settled(std::span<const LawPoint> points) {
  return half_width(bootstrap_exponent(sizes_of(points), samples_of(points), Resample::kSamples)) <=
         kExponentTolerance;
}

// Where sizes are few or close together, the interval over points is wide although all of them lie
// on the line.
bool on_one_line(std::span<const LawPoint> points, const ScalingLaw& law) {
  if (narrow(law)) return true;
  const std::vector<double> medians = medians_of(samples_of(points));
  return distance_from_power(sizes_of(points), medians, *law.exponent) <= kOffLine &&
         settled(points);
}

ScalingLaw named(const LawSubject& subject) {
  ScalingLaw law;
  law.quantity = subject.quantity;
  law.size = subject.size;
  law.held = subject.held;
  return law;
}

ScalingLaw fitted(std::span<const LawPoint> points, const LawSubject& subject) {
  ScalingLaw law = named(subject);
  const std::vector<double> sizes = sizes_of(points);
  const auto samples = samples_of(points);
  const Interval interval = bootstrap_exponent(sizes, samples, Resample::kPoints);
  law.exponent = power_exponent(sizes, medians_of(samples));
  law.low = interval.low;
  law.high = interval.high;
  law.model_exponent = power_exponent(sizes, models_of(points));
  law.from = points.front().size;
  law.to = points.back().size;
  law.points = points.size();
  return law;
}

bool wide_enough(std::span<const LawPoint> points) {
  return points.size() >= kLeastPoints &&
         static_cast<double>(points.back().size) >=
             kLeastSpread * static_cast<double>(points.front().size);
}

// "time grows as n^1.02 (0.99 to 1.04), the model as n^1.00, for n=64 to 2048"
std::string comparison(const ScalingLaw& law) {
  return fmt::format(
      "{0} grows as {1}^{2:.2f} ({3:.2f} to {4:.2f}), the model as {1}^{5:.2f}, for "
      "{1}={6} to {7}",
      law.quantity == "flop" ? "FLOP" : law.quantity, law.size, *law.exponent, *law.low, *law.high,
      *law.model_exponent, law.from, law.to);
}

// The larger half of the sizes: where the law has to hold first.
ScalingLaw refused(std::span<const LawPoint> points, const LawSubject& subject) {
  const std::size_t last = std::max(kLeastPoints, points.size() / 2);
  std::span<const LawPoint> upper = points.last(last);
  if (!wide_enough(upper)) upper = points;
  ScalingLaw law = fitted(upper, subject);
  if (!settled(upper)) {
    law.text = fmt::format("not judged: {}; the measurement is too noisy for an exponent within {}",
                           comparison(law), kExponentTolerance);
    return law;
  }
  law.agrees = false;
  law.text = fmt::format("does not agree: {}{}", comparison(law),
                         holds_model(law) ? "; the points lie on no line" : "");
  if (subject.quantity == "time") law.causes = scaling_causes(points, points.size(), subject);
  return law;
}

}  // namespace

std::vector<double> sizes_of(std::span<const LawPoint> points) {
  std::vector<double> sizes;
  for (const LawPoint& point : points) sizes.push_back(static_cast<double>(point.size));
  return sizes;
}

ScalingLaw scaling_law(std::span<const LawPoint> points, const LawSubject& subject) {
  if (!wide_enough(points)) {
    ScalingLaw law = named(subject);
    law.points = points.size();
    law.reason = fmt::format(
        "{} sizes, the largest {:.3g} times the smallest: an exponent needs {} sizes, and {} times",
        points.size(),
        points.empty()
            ? 1.0
            : static_cast<double>(points.back().size) / static_cast<double>(points.front().size),
        kLeastPoints, kLeastSpread);
    law.text = "not judged: " + law.reason;
    return law;
  }
  for (std::size_t skipped = 0; wide_enough(points.subspan(skipped)); ++skipped) {
    ScalingLaw law = fitted(points.subspan(skipped), subject);
    if (!holds_model(law) || !on_one_line(points.subspan(skipped), law)) continue;
    law.agrees = true;
    law.text = fmt::format("agrees: {}", comparison(law));
    if (skipped > 0 && subject.quantity == "time")
      law.causes = scaling_causes(points, skipped, subject);
    return law;
  }
  return refused(points, subject);
}

std::vector<ScalingLaw> joint_laws(std::span<const GridPoint> points, const std::string& first,
                                   const std::string& second) {
  std::vector<double> a, b;
  for (const GridPoint& point : points) {
    a.push_back(static_cast<double>(point.first));
    b.push_back(static_cast<double>(point.second));
  }
  std::vector<ScalingLaw> laws = {named({.size = first, .held = "joint"}),
                                  named({.size = second, .held = "joint"})};
  const auto samples = samples_of(points);
  const JointExponents of_time = joint_exponents(a, b, medians_of(samples));
  const JointExponents of_model = joint_exponents(a, b, models_of(points));
  if (points.size() < kLeastPoints || std::isnan(of_time.first)) {
    for (ScalingLaw& law : laws) {
      law.reason = "too few points of the grid were measured";
      law.text = "not judged: " + law.reason;
    }
    return laws;
  }
  const JointIntervals intervals = bootstrap_joint(a, b, samples);
  const auto fill = [&points](ScalingLaw& law, double exponent, Interval interval, double model,
                              const std::vector<double>& sizes) {
    law.exponent = exponent;
    law.low = interval.low;
    law.high = interval.high;
    law.model_exponent = model;
    law.from = static_cast<std::uint64_t>(*std::min_element(sizes.begin(), sizes.end()));
    law.to = static_cast<std::uint64_t>(*std::max_element(sizes.begin(), sizes.end()));
    law.points = points.size();
    law.agrees = holds_model(law) && narrow(law);
    law.text = fmt::format("{}: {}", *law.agrees ? "agrees" : "does not agree", comparison(law));
  };
  fill(laws[0], of_time.first, intervals.first, of_model.first, a);
  fill(laws[1], of_time.second, intervals.second, of_model.second, b);
  return laws;
}

}  // namespace hwprof
