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

// Time (or FLOP) over model, and what a bootstrap of its samples makes of its medians.
struct Ratios {
  std::vector<double> sizes, medians;
  ResampledMedians resampled;
};

template <class Point>
std::vector<std::vector<double>> samples_over_model(std::span<const Point> points) {
  std::vector<std::vector<double>> samples = samples_of(points);
  for (std::size_t i = 0; i < points.size(); ++i)
    for (double& sample : samples[i]) sample /= points[i].model;
  return samples;
}

Ratios ratios_of(std::span<const LawPoint> points) {
  const auto samples = samples_over_model(points);
  return {sizes_of(points), medians_of(samples), resample_medians(samples)};
}

// How the ratio grows over the last points: with an exponent of 0 by the model.
struct Growth {
  std::size_t from = 0;  // the first of the points
  double exponent = 0;
  Interval interval, noise;
  std::vector<Interval> off_line;
};

Growth growth_from(const Ratios& ratios, std::size_t from) {
  const auto sizes = std::span(ratios.sizes).subspan(from);
  const auto medians = std::span(ratios.medians).subspan(from);
  const auto resampled = std::span(ratios.resampled).subspan(from);
  Growth growth;
  growth.from = from;
  growth.exponent = power_exponent(sizes, medians);
  growth.interval = bootstrap_exponent(sizes, resampled);
  growth.noise = noise_of_exponent(sizes, resampled);
  growth.off_line = distances_from_power(sizes, medians, resampled, growth.exponent);
  return growth;
}

bool wholly_inside(const Interval& interval, double tolerance) {
  return -tolerance <= interval.low && interval.high <= tolerance;
}

bool wholly_outside(const Interval& interval, double tolerance) {
  return interval.low > tolerance || interval.high < -tolerance;
}

bool off_its_line(const Growth& growth) {
  return std::any_of(growth.off_line.begin(), growth.off_line.end(),
                     [](const Interval& off) { return wholly_outside(off, kOffLine); });
}

bool on_its_line(const Growth& growth) {
  return std::all_of(growth.off_line.begin(), growth.off_line.end(),
                     [](const Interval& off) { return wholly_inside(off, kOffLine); });
}

bool follows(const Growth& growth) {
  return wholly_inside(growth.interval, kExponentTolerance) && on_its_line(growth);
}

bool contradicts(const Growth& growth) {
  return wholly_outside(growth.interval, kExponentTolerance) || off_its_line(growth);
}

ScalingLaw named(const LawSubject& subject) {
  ScalingLaw law;
  law.quantity = subject.quantity;
  law.size = subject.size;
  law.held = subject.held;
  return law;
}

// The exponents of `growth` and of the model over the same points.
ScalingLaw fitted(std::span<const LawPoint> points, const Growth& growth,
                  const LawSubject& subject) {
  ScalingLaw law = named(subject);
  const auto fitted_points = points.subspan(growth.from);
  law.model_exponent = power_exponent(sizes_of(fitted_points), models_of(fitted_points));
  law.exponent = *law.model_exponent + growth.exponent;
  law.low = *law.model_exponent + growth.interval.low;
  law.high = *law.model_exponent + growth.interval.high;
  law.from = fitted_points.front().size;
  law.to = fitted_points.back().size;
  law.points = fitted_points.size();
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
      law.quantity == "time" ? law.quantity : "FLOP", law.size, *law.exponent, *law.low, *law.high,
      *law.model_exponent, law.from, law.to);
}

// What would settle the exponent: samples where the noise of single points leaves it open, sizes
// where the points lie beside the line.
std::string what_it_takes(const Growth& growth) {
  constexpr double kMostTimes = 50;
  const double left = kExponentTolerance - std::abs(growth.exponent);
  const auto reach = [&growth](const Interval& interval) {
    return std::max(interval.high - growth.exponent, growth.exponent - interval.low);
  };
  if (wholly_inside(growth.interval, kExponentTolerance))
    return fmt::format("more samples: single points are known to no better than {:.0f} %",
                       100 * kOffLine);
  if (left > 0 && 2 * reach(growth.noise) > reach(growth.interval)) {
    const double times = std::ceil(std::pow(reach(growth.interval) / left, 2));
    if (times <= kMostTimes)
      return fmt::format("about {:.0f} times as many samples (--time-budget), or a larger range",
                         std::max(2.0, times));
  }
  return "a larger range, or more sizes in it";
}

ScalingLaw open(std::span<const LawPoint> points, const Growth& growth, const LawSubject& subject) {
  ScalingLaw law = fitted(points, growth, subject);
  law.text = fmt::format(
      "not judged: {}; {}; it would take {}", comparison(law),
      wholly_inside(growth.interval, kExponentTolerance)
          ? fmt::format("the points leave open whether they lie within {:.0f} % of a line",
                        100 * kOffLine)
          : fmt::format("the interval is neither within {} of the model's nor beyond",
                        kExponentTolerance),
      what_it_takes(growth));
  return law;
}

ScalingLaw refused(std::span<const LawPoint> points, const Growth& growth,
                   const LawSubject& subject) {
  ScalingLaw law = fitted(points, growth, subject);
  law.agrees = false;
  law.text = fmt::format(
      "does not agree: {}{}", comparison(law),
      wholly_outside(growth.interval, kExponentTolerance) ? "" : "; the points lie on no line");
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
    const std::string there =
        points.empty()
            ? "no size was measured"
            : fmt::format("{} sizes, the largest {:.3g} times the smallest", points.size(),
                          static_cast<double>(points.back().size) /
                              static_cast<double>(points.front().size));
    law.reason = fmt::format("{}: an exponent needs {} sizes, and {} times", there, kLeastPoints,
                             kLeastSpread);
    law.text = "not judged: " + law.reason;
    return law;
  }
  const Ratios ratios = ratios_of(points);
  std::vector<Growth> growths;
  for (std::size_t from = 0; wide_enough(points.subspan(from)); ++from)
    growths.push_back(growth_from(ratios, from));
  // What the largest sizes contradict, no smaller ones can prove: a fixed cost hides a wrong power
  // somewhere in the middle.
  const auto contradicted = std::find_if(growths.rbegin(), growths.rend(), contradicts);
  const auto above = static_cast<std::size_t>(growths.rend() - contradicted);
  const auto agreeing =
      std::find_if(growths.begin() + static_cast<std::ptrdiff_t>(above), growths.end(), follows);
  if (agreeing != growths.end()) {
    ScalingLaw law = fitted(points, *agreeing, subject);
    law.agrees = true;
    law.text = fmt::format("agrees: {}", comparison(law));
    if (agreeing->from > 0 && subject.quantity == "time")
      law.causes = scaling_causes(points, agreeing->from, subject);
    return law;
  }
  // The larger half is where the law has to hold first.
  const std::size_t half =
      std::min(points.size() - std::max(kLeastPoints, points.size() / 2), growths.size() - 1);
  if (above > half) {
    return refused(points, growths[contradicts(growths[half]) ? half : above - 1], subject);
  }
  return open(points, growths[above], subject);
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
  const auto samples = samples_over_model(points);
  const JointExponents of_ratio = joint_exponents(a, b, medians_of(samples));
  const JointExponents of_model = joint_exponents(a, b, models_of(points));
  if (points.size() < kLeastPoints || std::isnan(of_ratio.first)) {
    for (ScalingLaw& law : laws) {
      law.reason = "too few points of the grid were measured";
      law.text = "not judged: " + law.reason;
    }
    return laws;
  }
  const JointIntervals intervals = bootstrap_joint(a, b, samples);
  const auto fill = [&points](ScalingLaw& law, double exponent, Interval interval, double model,
                              const std::vector<double>& sizes) {
    law.exponent = model + exponent;
    law.low = model + interval.low;
    law.high = model + interval.high;
    law.model_exponent = model;
    law.from = static_cast<std::uint64_t>(*std::min_element(sizes.begin(), sizes.end()));
    law.to = static_cast<std::uint64_t>(*std::max_element(sizes.begin(), sizes.end()));
    law.points = points.size();
    if (wholly_inside(interval, kExponentTolerance)) law.agrees = true;
    if (wholly_outside(interval, kExponentTolerance)) law.agrees = false;
    law.text = fmt::format("{}: {}",
                           !law.agrees   ? "not judged"
                           : *law.agrees ? "agrees"
                                         : "does not agree",
                           comparison(law));
  };
  fill(laws[0], of_ratio.first, intervals.first, of_model.first, a);
  fill(laws[1], of_ratio.second, intervals.second, of_model.second, b);
  return laws;
}

}  // namespace hwprof
