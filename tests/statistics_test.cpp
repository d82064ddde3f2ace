#include "src/measure/statistics.h"

#include <gtest/gtest.h>

#include <random>

namespace hwprof {
namespace {

TEST(Statistics, MedianOfOddAndEvenCounts) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({7}), 7);
}

TEST(Statistics, OneOutlierDoesNotMoveTheMedian) { EXPECT_EQ(median({1, 1, 1, 1, 1000}), 1); }

TEST(Statistics, IntervalOfEqualSamplesHasNoWidth) {
  const std::vector<double> samples(10, 5.0);
  const Interval interval = bootstrap_median(samples);
  EXPECT_EQ(interval.low, 5);
  EXPECT_EQ(interval.high, 5);
  EXPECT_EQ(relative_half_width(interval, 5), 0);
}

TEST(Statistics, IntervalOfARatioHoldsTheRatioAndIsMirroredByExchange) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(1, 0.02);
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) a.push_back(100 * noise(random)), b.push_back(150 * noise(random));
  const Interval ratio = median_ratio_interval(a, b), mirrored = median_ratio_interval(b, a);
  EXPECT_LT(ratio.low, 1.5);
  EXPECT_GT(ratio.high, 1.5);
  EXPECT_LT(ratio.high - ratio.low, 0.06);
  EXPECT_NEAR(1 / mirrored.low, ratio.high, 0.01);
}

// A drift makes neighbours alike: the interval must not be that of independent values.
TEST(Statistics, IntervalOfAShareIsWilsons) {
  const Interval tenth = share_interval(10, 100);
  EXPECT_NEAR(tenth.low, 0.0552, 1e-4);
  EXPECT_NEAR(tenth.high, 0.1744, 1e-4);
  EXPECT_NEAR(share_interval(0, 100).low, 0, 1e-12);
  EXPECT_GT(share_interval(0, 100).high, 0.03) << "none of a hundred is not none";
  EXPECT_NEAR(share_interval(100, 100).high, 1, 1e-12);
}

TEST(Statistics, NeighboursThatResembleEachOtherWidenTheInterval) {
  std::vector<double> steps, mixed;
  for (int i = 0; i < 64; ++i) {
    steps.push_back(100 + i);
    mixed.push_back(100 + (i * 29) % 64);
  }
  const auto width = [](const Interval& interval) { return interval.high - interval.low; };
  EXPECT_GT(width(median_ratio_interval(steps, steps)),
            1.3 * width(median_ratio_interval(mixed, mixed)));
  EXPECT_GT(width(median_interval(steps)), 1.3 * width(median_interval(mixed)));
}

// Moods of a machine: each sample keeps 0.95 of what the one before it was off.
TEST(Statistics, IntervalsFromBlocksCoverTheMedianOfValuesThatResembleTheirNeighbours) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise(0, 0.01);
  int from_blocks = 0, from_samples = 0;
  for (int experiment = 0; experiment < 200; ++experiment) {
    std::vector<double> samples(1000);
    double off = 0;
    for (double& value : samples) value = std::exp(off = 0.95 * off + noise(random));
    const Interval blocks = median_interval(samples), single = bootstrap_median(samples);
    from_blocks += blocks.low <= 1 && 1 <= blocks.high;
    from_samples += single.low <= 1 && 1 <= single.high;
  }
  EXPECT_GE(from_blocks, 180);
  EXPECT_LE(from_samples, 140) << "what single samples promise is not so";
}

TEST(Statistics, AFewRunsThatAreFarOffMoveNothing) {
  const std::vector<double> steady{1, 1.01, 0.99, 1.02, 0.98, 1, 1.01, 0.99, 1.02, 0.98};
  std::vector<double> disturbed = steady;
  disturbed[3] = 1.3, disturbed[7] = 0.6;
  const RatioTest trimmed = test_ratio(trimmed_mean_of_logs(disturbed));
  EXPECT_NEAR(trimmed.ratio, 1, 0.005);
  EXPECT_LT(trimmed.interval.high, 1.03);
  EXPECT_GT(test_ratio(mean_of_logs(disturbed)).interval.high, 1.08);
  const std::vector<double> few{1, 1.1, 1.2, 1.3};
  EXPECT_EQ(trimmed_mean_of_logs(few).variance, mean_of_logs(few).variance);
}

// Of normal values, ten at a time: the interval keeps its 95 %.
TEST(Statistics, TrimmedMeansCoverWhatTheyPromise) {
  std::mt19937 random(11);
  std::normal_distribution<double> noise(0, 0.02);
  int covered = 0;
  for (int experiment = 0; experiment < 1000; ++experiment) {
    std::vector<double> values(10);
    for (double& value : values) value = std::exp(noise(random));
    const Interval interval = test_ratio(trimmed_mean_of_logs(values)).interval;
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, 930);
  EXPECT_LE(covered, 975);
}

// 200 runs of which each is steady and differs from the others by 3 %: what is printed holds their
// median, what a run says of itself does not.
TEST(Statistics, IntervalsOfRunsHoldTheMedianOfTheRuns) {
  std::mt19937 random(3);
  std::normal_distribution<double> between(0, 0.03), within(0, 0.005);
  int of_runs = 0, of_one = 0;
  for (int run = 0; run < 200; ++run) {
    const double mood = std::exp(between(random));
    std::vector<double> slices(20);
    for (double& slice : slices) slice = mood * std::exp(within(random));
    const Interval printed = runs_interval(slices, 0.03), own = median_interval(slices);
    of_runs += printed.low <= 1 && 1 <= printed.high;
    of_one += own.low <= 1 && 1 <= own.high;
  }
  EXPECT_GE(of_runs, 180);
  EXPECT_LE(of_one, 60);
  EXPECT_GT(kBetweenRunsOfMemory, kBetweenRuns);
}

// Quantiles and p of tables of Student's t.
TEST(Statistics, StudentsTIsThatOfTheTables) {
  EXPECT_NEAR(student_p(12.706, 1), 0.05, 1e-5);
  EXPECT_NEAR(student_p(2.228, 10), 0.05, 2e-5);
  EXPECT_NEAR(student_p(-3.169, 10), 0.01, 2e-5);
  EXPECT_NEAR(student_p(1.96, 1e4), 0.05, 1e-4);
  EXPECT_EQ(student_p(0, 5), 1);
  for (const double freedom : {1.0, 4.0, 18.0, 40.0})
    EXPECT_NEAR(student_p(student_t(freedom), freedom), 0.05, 3e-4);
}

// Welch (1947) of two samples with different spread.
TEST(Statistics, WelchsTestOfARatio) {
  const std::vector<double> a{100, 101, 99, 100.5}, b{110, 108, 115, 104};
  const RatioTest test = test_ratio(mean_of_logs(a), mean_of_logs(b));
  EXPECT_NEAR(test.ratio, 1.09045, 1e-5);
  EXPECT_LT(test.interval.low, test.ratio);
  EXPECT_NEAR(test.interval.low * test.interval.high, test.ratio * test.ratio, 1e-9);
  EXPECT_EQ(test.p<0.05, test.interval.low> 1) << "one rule, said twice";
  const RatioTest mirrored = test_ratio(mean_of_logs(b), mean_of_logs(a));
  EXPECT_NEAR(mirrored.ratio * test.ratio, 1, 1e-12);
  EXPECT_NEAR(mirrored.p, test.p, 1e-12);
}

TEST(Statistics, SameSamplesAlwaysGiveTheSameInterval) {
  const std::vector<double> samples{1, 5, 2, 8, 3, 9, 4};
  const Interval a = bootstrap_median(samples), b = bootstrap_median(samples);
  EXPECT_EQ(a.low, b.low);
  EXPECT_EQ(a.high, b.high);
  EXPECT_LE(a.low, 4);
  EXPECT_GE(a.high, 4);
}

// The promise itself: of 400 experiments about 95 % of the intervals contain the true median. The
// seeds are fixed, so this cannot fail by chance.
TEST(Statistics, IntervalsCoverTheTrueMedianInAbout95OutOf100Experiments) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> skewed(0.0, 0.5);  // median 1
  int covered = 0;
  for (int experiment = 0; experiment < 400; ++experiment) {
    std::vector<double> samples(21);
    for (double& value : samples) value = skewed(random);
    const Interval interval = bootstrap_median(samples);
    covered += interval.low <= 1 && 1 <= interval.high;
  }
  EXPECT_GE(covered, 400 * 91 / 100);
  EXPECT_LE(covered, 400 * 99 / 100);
}

}  // namespace
}  // namespace hwprof
