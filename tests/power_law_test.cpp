#include "src/measure/power_law.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hwprof {
namespace {

const std::vector<double> kSizes = {16, 32, 64, 128, 256, 512, 1024};

std::vector<double> powers(double exponent, double factor = 3) {
  std::vector<double> values;
  for (const double size : kSizes) values.push_back(factor * std::pow(size, exponent));
  return values;
}

TEST(PowerLaw, ExponentOfAnExactPower) {
  EXPECT_NEAR(power_exponent(kSizes, powers(1)), 1, 1e-12);
  EXPECT_NEAR(power_exponent(kSizes, powers(2.5)), 2.5, 1e-12);
  EXPECT_NEAR(power_exponent(kSizes, powers(0)), 0, 1e-12);
}

TEST(PowerLaw, OneWildPointDoesNotMoveTheExponent) {
  std::vector<double> values = powers(1);
  values.back() *= 50;
  EXPECT_NEAR(power_exponent(kSizes, values), 1, 1e-9);
}

TEST(PowerLaw, TheIntervalOfAnExactPowerHasNoWidth) {
  std::vector<std::vector<double>> samples;
  for (const double value : powers(2)) samples.push_back({value, value, value});
  const ResampledMedians resampled = resample_medians(samples);
  for (const Interval& interval :
       {bootstrap_exponent(kSizes, resampled), noise_of_exponent(kSizes, resampled)}) {
    EXPECT_NEAR(interval.low, 2, 1e-9);
    EXPECT_NEAR(interval.high, 2, 1e-9);
  }
}

// A knee is no noise: the samples repeat exactly, the points lie on no line.
TEST(PowerLaw, AKneeWidensTheIntervalOverPointsOnly) {
  std::vector<std::vector<double>> samples;
  for (const double size : kSizes) samples.push_back({std::max(200.0, size)});
  const ResampledMedians resampled = resample_medians(samples);
  const Interval noise = noise_of_exponent(kSizes, resampled);
  const Interval all = bootstrap_exponent(kSizes, resampled);
  EXPECT_NEAR(noise.high - noise.low, 0, 1e-12);
  EXPECT_GT(all.high - all.low, 0.4);
}

TEST(PowerLaw, IntervalsCoverTheTrueExponent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> noise(0, 0.05);
  int covered = 0;
  for (int experiment = 0; experiment < 100; ++experiment) {
    std::vector<std::vector<double>> samples;
    for (const double value : powers(1)) {
      std::vector<double>& of_size = samples.emplace_back(9);
      for (double& sample : of_size) sample = value * noise(random);
    }
    const Interval interval = bootstrap_exponent(kSizes, resample_medians(samples));
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, 90);
}

TEST(PowerLaw, DistancesSayHowStraightTheLineIs) {
  std::vector<double> values = powers(1);
  values[2] *= 1.25;
  std::vector<std::vector<double>> samples;
  for (const double value : values) samples.push_back({0.99 * value, value, 1.01 * value});
  const auto distances = distances_from_power(kSizes, values, resample_medians(samples), 1);
  ASSERT_EQ(distances.size(), kSizes.size());
  EXPECT_NEAR(distances[0].low, -0.01, 1e-9);
  EXPECT_NEAR(distances[0].high, 0.01, 1e-9);
  EXPECT_NEAR(distances[2].low, 1.25 * 0.99 - 1, 1e-9);
}

TEST(PowerLaw, JointExponentsOfAProductOfPowers) {
  std::vector<double> a, b, y;
  for (const double i : {1.0, 2.0, 4.0, 8.0}) {
    for (const double j : {10.0, 30.0, 90.0}) {
      a.push_back(i);
      b.push_back(j);
      y.push_back(7 * std::pow(i, 2) * std::pow(j, 0.5));
    }
  }
  const JointExponents joint = joint_exponents(a, b, y);
  EXPECT_NEAR(joint.first, 2, 1e-9);
  EXPECT_NEAR(joint.second, 0.5, 1e-9);
}

TEST(PowerLaw, PointsOnOneLineHaveNoJointExponents) {
  const std::vector<double> same = {1, 2, 4, 8};
  EXPECT_TRUE(std::isnan(joint_exponents(same, same, same).first));
}

TEST(PowerLaw, AFixedCostIsFoundBesideTheRate) {
  std::vector<double> values;
  for (const double size : kSizes) values.push_back(500 + 2 * size);
  const FixedCost fit = fit_fixed_cost(kSizes, values);
  EXPECT_NEAR(fit.fixed, 500, 1e-6);
  EXPECT_NEAR(fit.rate, 2, 1e-9);
  EXPECT_NEAR(fit.worst, 0, 1e-9);
}

}  // namespace
}  // namespace hwprof
