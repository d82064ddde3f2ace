#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "src/commands/profile/threads.h"
#include "src/report/documents/content.h"

namespace hwprof {
namespace {

using ::testing::HasSubstr, ::testing::Not;

ThreadsRun run_on(int threads, double ns, bool oversubscribed = false) {
  ThreadsRun run;
  run.count = {.threads = threads,
               .blas_threads = threads,
               .peak_gflops = 100.0 * threads,
               .oversubscribed = oversubscribed};
  report::Row row;
  row.op = "conv1d";
  row.variant = "simd";
  row.shape = {{"k", 2}};
  row.time_ns = report::TimeNs{.median = ns};
  run.rows = {row};
  run.shares = {{std::vector<double>(static_cast<std::size_t>(threads), 1.0 / threads), ""}};
  return run;
}

TEST(ThreadsSideBySide, SpeedUpIsAgainstTheFewestAndEfficiencyPerThread) {
  const auto scaling = side_by_side({run_on(1, 1000), run_on(4, 400)}, 4);
  ASSERT_EQ(scaling.rows.size(), 1U);
  const auto& points = scaling.rows[0].points;
  EXPECT_EQ(*points[0].speedup, 1);
  EXPECT_EQ(*points[0].efficiency, 1);
  EXPECT_DOUBLE_EQ(*points[1].speedup, 2.5);
  EXPECT_DOUBLE_EQ(*points[1].efficiency, 0.625);
}

TEST(ThreadsSideBySide, TheFewestThreadsAreTheBaseWhereverTheyStand) {
  const auto scaling = side_by_side({run_on(2, 1000), run_on(1, 2000)}, 2);
  EXPECT_EQ(scaling.base_threads, 1);
  EXPECT_DOUBLE_EQ(*scaling.rows[0].points[0].speedup, 2);
  EXPECT_DOUBLE_EQ(*scaling.rows[0].points[0].efficiency, 1);
  EXPECT_DOUBLE_EQ(*scaling.rows[0].points[1].speedup, 1);
}

// What drifts between the turns is in both of a pair: the medians of all would be far apart.
TEST(ThreadsSideBySide, SpeedUpIsThatOfNeighbouringTurns) {
  ThreadsRun one = run_on(1, 1000), two = run_on(2, 500);
  one.turns_ns.resize(1);
  two.turns_ns.resize(1);
  for (int turn = 0; turn < 8; ++turn) {
    const double mood = turn < 4 ? 1 : 3;
    one.turns_ns[0].emplace_back(mood * (1000 + turn % 2));
    two.turns_ns[0].emplace_back(mood * 520);
  }
  one.turns_ns[0].emplace_back();  // a turn without a slice has no pair
  two.turns_ns[0].emplace_back(1);
  const auto scaling = side_by_side({one, two}, 2);
  const auto& points = scaling.rows[0].points;
  EXPECT_FALSE(points[0].speedup_low) << "against itself";
  ASSERT_TRUE(points[1].speedup_low && points[1].speedup_high);
  EXPECT_NEAR(*points[1].speedup, 1000 / 520.0, 0.003);
  EXPECT_LT(*points[1].speedup_low, *points[1].speedup);
  EXPECT_LT(*points[1].speedup_high, 1.01 * *points[1].speedup_low);
  EXPECT_NEAR(*points[1].efficiency_low, *points[1].speedup_low / 2, 1e-12);
  EXPECT_NEAR(*points[1].efficiency_high, *points[1].speedup_high / 2, 1e-12);
  const auto table = report::scaling_table(scaling);
  EXPECT_THAT(table.rows[1].cells[2], HasSubstr("±"));
  EXPECT_THAT(table.notes.front(), HasSubstr("by turns"));
  two.turns_ns[0].resize(2);
  EXPECT_FALSE(side_by_side({one, two}, 2).rows[0].points[1].speedup_low) << "too few turns";
}

TEST(ThreadsSideBySide, WhatWasNotMeasuredIsAbsent) {
  ThreadsRun interrupted = run_on(2, 0);
  interrupted.rows[0].time_ns.reset();
  const auto scaling = side_by_side({run_on(1, 1000), interrupted}, 2);
  EXPECT_FALSE(scaling.rows[0].points[1].time_ns);
  EXPECT_FALSE(scaling.rows[0].points[1].speedup);
}

TEST(ThreadsSideBySide, TheTableSharesEqualPartsAndNamesOversubscription) {
  const auto table =
      report::scaling_table(side_by_side({run_on(1, 1000), run_on(2, 2000, true)}, 1));
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[0].cells.back(), "100 %");
  EXPECT_EQ(table.rows[1].cells.back(), "2 x 50 %");
  EXPECT_THAT(table.notes.back(), HasSubstr("2 threads share 1 CPU: oversubscribed"));
}

TEST(ThreadsSideBySide, AnIntervalThatHoldsOneIsNoSpeedUpAndOver100PercentIsFlagged) {
  report::Scaling scaling = side_by_side({run_on(1, 1000), run_on(2, 900)}, 2);
  report::ScalingPoint& point = scaling.rows[0].points[1];
  const auto notes = [&] { return ::testing::PrintToString(report::scaling_table(scaling).notes); };
  EXPECT_THAT(notes(), Not(HasSubstr("no speed-up was shown")));
  point.speedup_low = 0.9;
  point.speedup_high = 1.3;
  point.efficiency_low = 0.45;
  EXPECT_THAT(notes(), HasSubstr("no speed-up was shown"));
  EXPECT_THAT(notes(), HasSubstr("conv1d simd on 2"));
  point.speedup_low = 2.1;
  point.speedup_high = 2.3;
  EXPECT_THAT(notes(), Not(HasSubstr("above 100 %")));
  point.efficiency_low = 1.05;
  EXPECT_THAT(notes(), HasSubstr("efficiency above 100 %"));
}

TEST(ThreadShares, AThreadThatSleepsHasNone) {
  const auto nap = [] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
  const ThreadShares asleep = measure_thread_shares(nap, 0.2);
  if (!asleep.reason.empty()) GTEST_SKIP() << asleep.reason;
  for (const double share : asleep.shares) EXPECT_LT(share, 0.5);
}

TEST(ThreadShares, AThreadThatComputesHasOneUpToAWholeCpu) {
  volatile double x = 1;
  const auto spin = [&x] {
    for (int i = 0; i < 1'000'000; ++i) x = x * 1.0000001;
  };
  const ThreadShares busy = measure_thread_shares(spin, 0.2);
  if (!busy.reason.empty()) GTEST_SKIP() << busy.reason;
  ASSERT_GE(busy.shares.size(), 1U);
  EXPECT_GT(busy.shares.front(), 0.02);
  EXPECT_LT(busy.shares.front(), 1.1);
}

}  // namespace
}  // namespace hwprof
