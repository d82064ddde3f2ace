// The exponent e of y ~ x^e: the slope of a straight line through the logarithms. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/measure/statistics.h"

namespace hwprof {

// Theil (1950), Sen (1968): the median of the slopes through all pairs of points of different size.
// Up to 29 % of the points may be anything without moving it far; least squares follow a single
// one. At least two sizes must differ, and all numbers be above 0.
double power_exponent(std::span<const double> sizes, std::span<const double> values);

struct JointExponents {
  double first = 0, second = 0;
};

// y ~ a^first b^second, by least squares on the logarithms: a plane has no median of slopes. NaN
// where all points lie on one line, through which any plane goes.
JointExponents joint_exponents(std::span<const double> first, std::span<const double> second,
                               std::span<const double> values);

// Measurements of y: some samples at each size, whose median is y.
using SamplesBySize = std::span<const std::vector<double>>;

// Medians of one bootstrap of the samples, kExponentResamples of each point: [point][resample],
// from a fixed seed. Drawn in blocks of neighbours (Künsch 1989), since samples that were taken one
// after the other resemble each other.
using ResampledMedians = std::vector<std::vector<double>>;
ResampledMedians resample_medians(SamplesBySize samples);

// 95 % percentile-bootstrap interval of the exponent over points and their samples: points that lie
// on no line widen it as noise does. A resample of fewer than three different points says nothing
// about a line and is drawn anew; at least three must be given.
Interval bootstrap_exponent(std::span<const double> sizes,
                            std::span<const std::vector<double>> resampled);
// The same of the samples alone: what the noise of the measurement leaves open at just these sizes.
Interval noise_of_exponent(std::span<const double> sizes,
                           std::span<const std::vector<double>> resampled);

// How far each point is from the line of that slope through the middle of all `values`, as a factor
// less 1: an interval for all points at once (Bonferroni), by the noise of its samples.
std::vector<Interval> distances_from_power(std::span<const double> sizes,
                                           std::span<const double> values,
                                           std::span<const std::vector<double>> resampled,
                                           double exponent);

struct JointIntervals {
  Interval first, second;
};
// Points that have joint_exponents().
JointIntervals bootstrap_joint(std::span<const double> first, std::span<const double> second,
                               SamplesBySize samples);

// y = fixed + rate * cost.
struct FixedCost {
  double fixed = 0, rate = 0;
  double worst = 0;  // largest distance of a point from the line, relative to the point
};

// By least squares of the relative distances, so that small points count as much as large ones.
// At least two costs must differ.
FixedCost fit_fixed_cost(std::span<const double> costs, std::span<const double> values);

}  // namespace hwprof
