#include "src/measure/disturbance.h"

#include <gtest/gtest.h>

#include <thread>

namespace hwprof {
namespace {

constexpr const char* kStat =
    "cpu  10 0 10 1000 0 0 0 33 0 0\n"
    "cpu0 5 0 5 500 0 0 0 11 0 0\n"
    "cpu1 5 0 5 500 0 0 0 22 0 0\n"
    "intr 1 2 3 4 5 6 7 8 9\n";

TEST(Disturbance, StolenTimeIsThatOfTheCpusAskedFor) {
  EXPECT_EQ(stolen_ticks(kStat, {0}), 11U);
  EXPECT_EQ(stolen_ticks(kStat, {1}), 22U);
  EXPECT_EQ(stolen_ticks(kStat, {0, 1}), 33U);
}

TEST(Disturbance, BusyTimeIsAllThatIsNotIdle) {
  EXPECT_EQ(busy_ticks(kStat, {0}), 5U + 5 + 11);
  EXPECT_EQ(busy_ticks("cpu3 1 2 4 1000 2000 8 16 32 1 1\n", {3}), 63U);
  EXPECT_FALSE(busy_ticks(kStat, {7}));
}

TEST(Disturbance, WhatTheKernelDoesNotTellIsAbsent) {
  EXPECT_FALSE(stolen_ticks(kStat, {7}));
  EXPECT_FALSE(stolen_ticks("cpu0 5 0 5 500\n", {0})) << "a kernel before 2.6.11";
  EXPECT_FALSE(stolen_ticks("", {0}));
  EXPECT_FALSE(Steal({}).ticks());
}

TEST(Disturbance, DelaysOfAllThreadsAddUpAndNeverShrink) {
  RunDelays delays;
  EXPECT_FALSE(delays.ns()) << "no threads yet";
  delays.refresh();
  const std::optional<double> before = delays.ns();
  if (!before) GTEST_SKIP() << "this kernel has no /proc/self/task/*/schedstat";
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_GE(*delays.ns(), *before);
}

}  // namespace
}  // namespace hwprof
