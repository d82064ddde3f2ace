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

// How far the farthest point is from the line of that slope through the middle of all, relative to
// the line.
double distance_from_power(std::span<const double> sizes, std::span<const double> values,
                           double exponent);

struct JointExponents {
  double first = 0, second = 0;
};

// y ~ a^first b^second, by least squares on the logarithms: a plane has no median of slopes. NaN
// where all points lie on one line, through which any plane goes.
JointExponents joint_exponents(std::span<const double> first, std::span<const double> second,
                               std::span<const double> values);

// Measurements of y: some samples at each size, whose median is y.
using SamplesBySize = std::span<const std::vector<double>>;

enum class Resample {
  kSamples,  // what the noise of the measurement alone leaves open
  kPoints,   // points and their samples: also whether all of them lie on one line
};

// 95 % percentile-bootstrap intervals, 1,000 resamples from a fixed seed. A resample of fewer than
// three different points says nothing about a line and is drawn anew; at least three must be given.
Interval bootstrap_exponent(std::span<const double> sizes, SamplesBySize samples,
                            Resample resample);
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
