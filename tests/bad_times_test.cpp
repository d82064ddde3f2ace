// What disturbs a measurement, made up: the numbers hold, or are absent with their reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/commands/profile/record.h"
#include "src/measure/stopwatch.h"

namespace hwprof {
namespace {

using ::testing::HasSubstr;

report::Row row_of(const Measurement& measured, int threads = 1) {
  Task task;
  task.op = "conv1d";
  task.variant = "simd";
  task.cost.flops = 1e6;
  return make_row(task, &measured, std::nullopt, 0, {}, {}, threads, {}, {});
}

// `count` slices, each a piece of one call that took `work_ns` of CPU time and `wall_ns`.
void add_slices(Measurement& measured, int count, double work_ns, double wall_ns) {
  for (int i = 0; i < count; ++i) {
    Span span;
    span.work_ns = span.on_cpu_ns = work_ns;
    span.wall_ns = wall_ns;
    measured.add_call(span);
  }
  measured.calls_a_slice = 1;
}

TEST(BadTimes, ALoadInTheSecondHalfMovesTheWallTimeAndNotTheRate) {
  Measurement quiet, loaded;
  add_slices(quiet, 40, 1e6, 1e6);
  add_slices(loaded, 20, 1e6, 1e6);
  add_slices(loaded, 12, 1e6, 2e6);
  add_slices(loaded, 8, 1e6, 1e6);
  loaded.leave_out_disturbed();
  const report::Row before = row_of(quiet), beside = row_of(loaded);
  EXPECT_EQ(*beside.gflops, *before.gflops);
  EXPECT_EQ(beside.cpu_time_ns->median, 1e6);
  EXPECT_GT(beside.time_ns->mean, before.time_ns->mean);
  EXPECT_DOUBLE_EQ(*before.on_cpu, 1);
  EXPECT_DOUBLE_EQ(*beside.on_cpu, 40.0 / 52);
  EXPECT_EQ(beside.left_out.total(), 0U) << "CPU time says what the work took";
}

// How often its caches are cold then differs from run to run: 3 % would be too sure.
TEST(BadTimes, BesideALoadTheTimeHasAWiderInterval) {
  Measurement alone, beside;
  add_slices(alone, 20, 1e6, 1e6);
  add_slices(beside, 20, 1e6, 3e6);
  const auto half = [](const report::Row& row) {
    return (*row.cpu_time_ns->ci95_high - *row.cpu_time_ns->ci95_low) / 2e6;
  };
  EXPECT_GT(half(row_of(beside)), 1.5 * half(row_of(alone)));
}

// Else the time would be that of the load, beside a fraction of the peak that is not.
TEST(BadTimes, PiecesInWhichAThreadWaitedAreNoTimeOfSeveralThreads) {
  Measurement measured;
  add_slices(measured, 20, 1e6, 1e6);
  for (report::Slice& slice : measured.slices) slice.ns = 3e6;  // of all its pieces
  const report::Row row = row_of(measured, 2);
  EXPECT_FALSE(row.cpu_time_ns);
  EXPECT_EQ(row.time_ns->median, 1e6);
  EXPECT_DOUBLE_EQ(*row.gflops, 1);
}

TEST(BadTimes, NoSliceOnItsCpuIsNoNumberAndTheReasonSaysSo) {
  Measurement measured;
  measured.left_out.elsewhere = 7;
  const report::Row row = row_of(measured);
  EXPECT_FALSE(row.time_ns);
  EXPECT_FALSE(row.gflops);
  EXPECT_FALSE(row.on_cpu);
  EXPECT_THAT(row.reason, HasSubstr("where it was to run"));
  EXPECT_EQ(row.left_out.elsewhere, 7U);
}

TEST(BadTimes, ARowOverThePeakBesideItIsFlaggedAlsoBelowItsRoofline) {
  Measurement measured;
  add_slices(measured, 20, 1e6, 1e6);
  for (report::Slice& slice : measured.slices) slice.peak_ratio = 1.03;
  const report::Row row = row_of(measured);
  EXPECT_FALSE(row.roofline_fraction);
  EXPECT_THAT(row.roofline_flag, HasSubstr("faster than the FMA peak beside it"));
  for (report::Slice& slice : measured.slices) slice.peak_ratio = 1.01;
  EXPECT_EQ(row_of(measured).roofline_flag, "");
}

TEST(BadTimes, SlicesLeftOutAtOnceStayCounted) {
  Measurement measured;
  add_slices(measured, 20, 1e6, 1e6);
  measured.left_out.moved = 5;
  measured.slices[3].stolen = true;
  measured.leave_out_disturbed();
  EXPECT_EQ(measured.left_out.moved, 5U);
  EXPECT_EQ(measured.left_out.stolen, 1U);
  EXPECT_EQ(measured.slices.size(), 19U);
}

TEST(BadTimes, TheCpuThatWentAwayIsNamed) {
  EXPECT_EQ(lost_cpus({0, 1}, {0, 1}, CpuList{0, 1}), "");
  EXPECT_EQ(lost_cpus({0}, {0, 1}, CpuList{0, 1}), "") << "more is no loss";
  EXPECT_EQ(lost_cpus({0, 1}, {0}, CpuList{0}), "CPU 1 went offline");
  EXPECT_EQ(lost_cpus({1}, {0}, CpuList{0}), "CPU 1 went offline");
  EXPECT_THAT(lost_cpus({0, 1}, {0}, CpuList{0, 1}), HasSubstr("CPU 1 was taken from it"));
  EXPECT_THAT(lost_cpus({0, 1}, {0}, std::nullopt), HasSubstr("CPU 1 was taken from it"));
  EXPECT_THAT(lost_cpus({1, 2, 3}, {0, 3}, CpuList{0, 2, 3}),
              HasSubstr("CPU 1 went offline, and CPU 2 was taken"));
}

TEST(BadTimes, ATooShortBudgetSaysWhichIsEnough) {
  std::vector<WorkTimes> work(2);
  add_slices(work[0].whole, 6, 1e6, 1e6);
  add_slices(work[1].whole, 6, 1e9, 1e9);
  BudgetOptions budget{.seconds = 10};
  EXPECT_EQ(too_few_slices_text(work, 1, 1, budget), "");
  EXPECT_EQ(too_few_slices_text({}, 1, 1, budget), "");
  work[1].whole.slices.resize(1);
  // Two works get the same time, six slices of a second each, half as much again, one second first.
  EXPECT_EQ(too_few_slices_text(work, 1, 1, budget),
            "1 of 2 rows has no interval: --time-budget 10 is too short for 6 slices each, 19 is "
            "enough");
  EXPECT_THAT(too_few_slices_text(work, 1, 0.5, budget), HasSubstr("37 is enough"));
  budget.repeat = 3;
  EXPECT_EQ(too_few_slices_text(work, 1, 1, budget),
            "1 of 2 rows has no interval: --repeat 3 is fewer than the 6 slices that it takes");
}

double standing_clock() { return 1e12; }
double earlier_each_time() {
  static double now_ns = 1e12;
  return now_ns -= 1e3;
}

TEST(BadTimes, AStandingClockGivesNoInfiniteRate) {
  Stopwatch watch({.wall_ns = standing_clock, .cpu_ns = standing_clock});
  watch.start(1);
  const Span span = watch.stop();
  EXPECT_FALSE(span.stepped_back);
  EXPECT_GT(span.work_ns, 0);
}

TEST(BadTimes, EitherClockThatStepsBackIsSaid) {
  for (const int threads : {1, 2}) {
    Stopwatch wall({.wall_ns = earlier_each_time, .cpu_ns = standing_clock});
    wall.start(threads);
    EXPECT_TRUE(wall.stop().stepped_back);
    Stopwatch cpu({.wall_ns = standing_clock, .cpu_ns = earlier_each_time});
    cpu.start(threads);
    EXPECT_TRUE(cpu.stop().stepped_back);
  }
}

}  // namespace
}  // namespace hwprof
