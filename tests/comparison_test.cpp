#include "src/measure/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace hwprof {
namespace {

constexpr double kThreshold = 0.05;

// `count` times around `ns`, 1 % apart, under a peak of `gflops`.
RunTimes run_of(double ns, std::size_t count = 20, double gflops = 100, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(1, 0.01);
  RunTimes out;
  for (std::size_t i = 0; i < count; ++i) {
    out.ns.push_back(ns * noise(random));
    out.peak_gflops.push_back(gflops * noise(random));
  }
  out.median_ns = median(out.ns);
  return out;
}

// Runs that differ by `spread` from each other.
std::vector<RunTimes> runs_of(double ns, std::size_t count, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(0, spread);
  std::vector<RunTimes> runs;
  for (std::size_t i = 0; i < count; ++i)
    runs.push_back({.median_ns = ns * std::exp(noise(random))});
  return runs;
}

RowChange compare(const RunTimes& a, const RunTimes& b, bool same_peak = true) {
  return compare_rows({{{a}, {b}, same_peak}}, kThreshold).front();
}

RowChange compare(const std::vector<RunTimes>& a, const std::vector<RunTimes>& b,
                  bool by_turns = false) {
  return compare_rows({{a, b, true, by_turns}}, kThreshold).front();
}

TEST(Comparison, TwiceTheTimeIsSlowerAndHalfIsFaster) {
  const RowChange change = compare(run_of(1000), run_of(2000, 20, 100, 2));
  EXPECT_EQ(change.change, Change::kSlower);
  EXPECT_NEAR(*change.ratio, 2, 0.03);
  EXPECT_LE(change.interval->low, *change.ratio);
  EXPECT_GE(change.interval->high, *change.ratio);
  EXPECT_LT(*change.p_holm, 1e-3);
  EXPECT_EQ(compare(run_of(2000), run_of(1000)).change, Change::kFaster);
}

// The slices of two runs differ beyond doubt, and two runs of one binary would do so, too.
TEST(Comparison, WhatOneRunCannotSeeIsUndecidedAndSaysHowManyWould) {
  const RowChange change = compare(run_of(1000), run_of(1080, 20, 100, 2));
  EXPECT_EQ(change.change, Change::kUndecided);
  EXPECT_LT(change.interval->low, 1.05);
  EXPECT_GT(change.interval->high, 1.08);
  ASSERT_TRUE(change.runs_needed);
  EXPECT_GT(*change.runs_needed, 1U);
}

TEST(Comparison, EqualRunsOfOneASideAreNeverSlower) {
  for (unsigned i = 0; i < 50; ++i) {
    const Change change =
        compare(run_of(1000, 20, 100, 2 * i), run_of(1000, 20, 100, 2 * i + 1)).change;
    EXPECT_TRUE(change == Change::kSame || change == Change::kUndecided);
  }
}

TEST(Comparison, SeveralRunsASideSeeWhatOneCannot) {
  const auto a = runs_of(1000, 10, 0.01, 1), b = runs_of(1080, 10, 0.01, 2);
  EXPECT_EQ(compare(a, b).change, Change::kSlower);
  EXPECT_EQ(compare(b, a).change, Change::kFaster);
  EXPECT_EQ(compare(a, runs_of(1000, 10, 0.01, 3)).change, Change::kSame);
}

// Of runs that differ by 3 %: at most one in twenty of such comparisons names a difference.
TEST(Comparison, RunsOfOneBinaryAreRarelyCalledSlower) {
  int alarms = 0;
  for (unsigned i = 0; i < 400; ++i) {
    const Change change =
        compare_rows({{runs_of(1000, 4, 0.03, 2 * i), runs_of(1000, 4, 0.03, 2 * i + 1)}}, 0)
            .front()
            .change;
    alarms += change == Change::kSlower || change == Change::kFaster;
  }
  EXPECT_LE(alarms, 32);
  EXPECT_GE(alarms, 8) << "with a threshold of 0 the test has its level";
}

// Both met a machine that became slower by half over the runs: their ratios did not.
TEST(Comparison, ByTurnsNeighboursAreHeldAgainstEachOther) {
  std::vector<RunTimes> a, b;
  for (std::size_t i = 0; i < 8; ++i) {
    const double mood = 1 + 0.06 * static_cast<double>(i);
    a.push_back({.median_ns = 1000 * mood});
    b.push_back({.median_ns = (i % 2 == 0 ? 1078 : 1082) * mood});
  }
  EXPECT_EQ(compare(a, b, true).change, Change::kSlower);
  EXPECT_EQ(compare(a, b, false).change, Change::kUndecided);
}

// The clock fell by a fifth: the time rose by as much, and the fraction of the peak is what it was.
TEST(Comparison, AnotherClockIsNotAnotherSpeed) {
  std::vector<RunTimes> a, b;
  for (unsigned i = 0; i < 8; ++i) {
    a.push_back(run_of(1000, 20, 100, i));
    b.push_back(run_of(1250, 20, 80, 100 + i));
  }
  const RowChange change = compare(a, b);
  EXPECT_EQ(change.change, Change::kClock);
  EXPECT_NEAR(change.beside_peak->ratio, 1, 0.02);
  EXPECT_EQ(compare(b, a).change, Change::kClock);
}

TEST(Comparison, PeaksOfDifferentMachinesAreNotHeldAgainstEachOther) {
  const RowChange change = compare(run_of(1000), run_of(1500, 20, 66, 2), false);
  EXPECT_EQ(change.change, Change::kSlower);
  EXPECT_FALSE(change.beside_peak);
}

TEST(Comparison, OneRunWithoutRawTimesHasARatioAndNoVerdict) {
  RunTimes only_median;
  only_median.median_ns = 2000;
  const RowChange change = compare(run_of(1000), only_median);
  EXPECT_EQ(change.change, Change::kNotComparable);
  EXPECT_NE(change.reason.find("several runs a side"), std::string::npos);
  EXPECT_NEAR(*change.ratio, 2, 0.03);
  EXPECT_FALSE(compare(run_of(1000), RunTimes{}).ratio) << "not measured at all";
}

TEST(Comparison, ABusyRunDecidesNothing) {
  RunTimes busy = run_of(2000);
  busy.busy = "on its CPU 33 % of the time";
  const RowChange change = compare(run_of(1000), busy);
  EXPECT_EQ(change.change, Change::kNotComparable);
  EXPECT_EQ(change.reason, busy.busy);
  EXPECT_NEAR(*change.ratio, 2, 0.03) << "the ratio is still worth showing";
}

}  // namespace
}  // namespace hwprof
