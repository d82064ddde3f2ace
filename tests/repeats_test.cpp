#include "src/measure/repeats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/measure/statistics.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/documents/documents.h"
#include "src/report/render/render.h"

namespace hwprof {
namespace {

using report::Repeats;
using report::TimedRun;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Ten runs of about a second, quiet, all alike in what is counted.
Repeats ten_runs() {
  Repeats repeats;
  repeats.wanted = 10;
  repeats.warmup = 1;
  for (int i = 0; i < 10; ++i) {
    repeats.runs.push_back({.wall_s = 1 + 0.001 * i,
                            .user_s = 0.9,
                            .system_s = 0.05,
                            .page_faults = 1000,
                            .major_faults = 0,
                            .voluntary_switches = 5,
                            .involuntary_switches = 2,
                            .waited_s = 0.01,
                            .migrations = 0,
                            .peak_gflops = 100});
  }
  return repeats;
}

std::string cause_of_slow_run(const std::function<void(TimedRun&)>& change, std::size_t index = 4,
                              unsigned warmup = 1) {
  Repeats repeats = ten_runs();
  repeats.warmup = warmup;
  repeats.runs[index].wall_s = 1.5;
  change(repeats.runs[index]);
  summarise(repeats);
  EXPECT_THAT(repeats.outliers, SizeIs(1));
  if (repeats.outliers.size() != 1) return "";
  EXPECT_EQ(repeats.outliers.front().index, index);
  EXPECT_DOUBLE_EQ(repeats.outliers.front().wall_s, 1.5);
  return repeats.outliers.front().cause;
}

TEST(Repeats, BestMedianWorstAndIntervalAreThoseOfTheSamples) {
  Repeats repeats = ten_runs();
  summarise(repeats);
  EXPECT_THAT(repeats.wall_s.samples, SizeIs(10));
  EXPECT_DOUBLE_EQ(*repeats.wall_s.best, 1.0);
  EXPECT_DOUBLE_EQ(*repeats.wall_s.median, 1.0045);
  EXPECT_DOUBLE_EQ(*repeats.wall_s.worst, 1.009);
  EXPECT_GE(*repeats.wall_s.ci95_low, 1.0);
  EXPECT_LT(*repeats.wall_s.ci95_low, 1.0045);
  EXPECT_GT(*repeats.wall_s.ci95_high, 1.0045);
  EXPECT_DOUBLE_EQ(*repeats.user_s.median, 0.9);
  EXPECT_DOUBLE_EQ(*repeats.system_s.best, 0.05);
  EXPECT_THAT(repeats.outliers, IsEmpty());
  EXPECT_THAT(repeats.notes, IsEmpty());
}

TEST(Repeats, WithoutARunThereIsNoNumber) {
  Repeats repeats;
  summarise(repeats);
  EXPECT_FALSE(repeats.wall_s.best || repeats.wall_s.median || repeats.wall_s.ci95_low);
  EXPECT_THAT(repeats.notes, SizeIs(1));
}

TEST(Repeats, FewRunsHaveNoIntervalAndNoOutliers) {
  Repeats repeats = ten_runs();
  repeats.runs.resize(5);
  repeats.runs[2].wall_s = 9;
  summarise(repeats);
  EXPECT_DOUBLE_EQ(*repeats.wall_s.worst, 9);
  EXPECT_FALSE(repeats.wall_s.ci95_low);
  EXPECT_THAT(repeats.outliers, IsEmpty());
  EXPECT_THAT(repeats.notes, ElementsAre(HasSubstr("Fewer than 6")));
}

TEST(Repeats, AFenceIsNotMovedByTheOutlierItself) {
  EXPECT_NEAR(upper_fence(std::vector<double>{10, 11, 12, 13, 1000}, 0, 0), 12 + 3 * 1.4826, 1e-9);
}

TEST(Repeats, AFenceOfEqualSamplesIsTheLeastDistance) {
  const std::vector<double> equal(8, 100);
  EXPECT_DOUBLE_EQ(upper_fence(equal, 0.02, 0), 102);
  EXPECT_DOUBLE_EQ(upper_fence(equal, 0, 0.5), 100.5);
}

TEST(Repeats, ARunThatIsHardlySlowerIsNoOutlierHoweverQuietTheOthers) {
  Repeats repeats = ten_runs();
  for (TimedRun& run : repeats.runs) run.wall_s = 1;
  repeats.runs[3].wall_s = 1.015;
  summarise(repeats);
  EXPECT_THAT(repeats.outliers, IsEmpty());
}

TEST(Repeats, AFastRunIsNoOutlier) {
  Repeats repeats = ten_runs();
  repeats.runs[3].wall_s = 0.1;
  summarise(repeats);
  EXPECT_THAT(repeats.outliers, IsEmpty());
}

TEST(Repeats, ACauseIsWhatTheRunHadMoreOfThanTheOthers) {
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.involuntary_switches = 40; }),
              AllOf(HasSubstr("40 involuntary context switches (usual: 2)"),
                    Not(HasSubstr("migration")), Not(HasSubstr("fault"))));
  EXPECT_EQ(cause_of_slow_run([](TimedRun& run) { run.migrations = 1; }), "1 migration (usual: 0)");
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.major_faults = 12; }),
              HasSubstr("12 page faults that read from a disk (usual: 0)"));
  EXPECT_EQ(cause_of_slow_run([](TimedRun& run) { run.page_faults = 5000; }),
            "5000 page faults (usual: 1000)");
}

TEST(Repeats, WaitingForACpuIsACauseWhereItExplainsTheTime) {
  EXPECT_EQ(cause_of_slow_run([](TimedRun& run) { run.waited_s = 0.4; }),
            "others had the CPU: it was ready and waited 400 ms for one (usual: 10 ms)");
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.waited_s = 0.05; }),
              HasSubstr("not known"));
}

TEST(Repeats, AFewPageFaultsMoreAreNoCause) {
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.page_faults = 1050; }),
              HasSubstr("not known"));
}

TEST(Repeats, AnotherClockIsSeenInThePeakAroundTheRun) {
  EXPECT_EQ(cause_of_slow_run([](TimedRun& run) { run.peak_gflops = 80; }),
            "another clock: the FMA peak around it was 20 % lower than usual");
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.peak_gflops = 99; }),
              HasSubstr("not known"));
}

TEST(Repeats, AColdFirstRunIsToldOfWarmup) {
  EXPECT_THAT(cause_of_slow_run([](TimedRun&) {}, 0, 0), HasSubstr("--warmup 1"));
  EXPECT_THAT(cause_of_slow_run([](TimedRun&) {}, 0, 1), Not(HasSubstr("--warmup")));
  EXPECT_THAT(cause_of_slow_run([](TimedRun&) {}, 1, 0), Not(HasSubstr("--warmup")));
}

TEST(Repeats, WithoutACauseItSaysWhetherTheRunWaitedOrComputed) {
  EXPECT_THAT(cause_of_slow_run([](TimedRun&) {}), HasSubstr("but waited"));
  EXPECT_THAT(cause_of_slow_run([](TimedRun& run) { run.user_s = 1.4; }),
              HasSubstr("more CPU time"));
}

TEST(Repeats, WithoutAWatchedClockAnUnknownCausePointsToPin) {
  Repeats repeats = ten_runs();
  for (TimedRun& run : repeats.runs) run.peak_gflops.reset();
  repeats.runs[5].wall_s = 2;
  summarise(repeats);
  EXPECT_THAT(repeats.outliers.at(0).cause, HasSubstr("--pin"));
  EXPECT_THAT(cause_of_slow_run([](TimedRun&) {}), Not(HasSubstr("--pin")));
}

TEST(Repeats, AllReportsHaveTheSameOutliersAndTimes) {
  report::Run run;
  run.command = {"solver"};
  Repeats& repeats = run.repeats.emplace(ten_runs());
  repeats.runs[4].wall_s = 1.5;
  repeats.runs[4].migrations = 3;
  summarise(repeats);
  const auto json = nlohmann::json::parse(report::run_json(run))["repeats"];
  EXPECT_EQ(json["count"], 10);
  EXPECT_EQ(json["wall_s"]["samples"][4], 1.5);
  EXPECT_EQ(json["wall_s"]["best"], 1.0);
  EXPECT_EQ(json["wall_s"]["ci95"][0], *repeats.wall_s.ci95_low);
  EXPECT_EQ(json["outliers"][0]["index"], 4);
  EXPECT_EQ(json["outliers"][0]["cause"], "3 migrations (usual: 0)");
  for (const std::string& text :
       {report::as_text(report::run_document(run), {.columns = 120, .full = true}),
        report::as_markdown(report::run_document(run))}) {
    EXPECT_THAT(text, HasSubstr("Time of 10 runs, timed and not observed, after 1 warm-up run"));
    EXPECT_THAT(text, HasSubstr("1 loop, best of 10: 1.00 s per loop"));
    EXPECT_THAT(text, HasSubstr("1.00 s, 1.00 s, 1.00 s, 1.00 s, 1.50 s"));
    EXPECT_THAT(text, HasSubstr("run 5, 1.50 s"));
    EXPECT_THAT(text, HasSubstr("3 migrations"));
  }
}

TEST(Repeats, ATimeOfNothingHasNoOddUnit) {
  report::Run run;
  Repeats& repeats = run.repeats.emplace(ten_runs());
  for (TimedRun& timed : repeats.runs) timed.system_s = 0;
  summarise(repeats);
  EXPECT_THAT(report::repeats_table(repeats).rows.at(2).cells,
              ElementsAre("system", "0 s", "0 s", "0 s"));
  for (std::size_t i = 0; i < 5; ++i) repeats.runs[i].system_s = 0.004;
  repeats.runs[4].system_s = 0;
  summarise(repeats);
  EXPECT_THAT(report::repeats_table(repeats).rows.at(2).cells,
              ElementsAre("system", "0 s", "0 to 4.00 ms", "4.00 ms"));
}

TEST(Repeats, AReportWithoutThemHasNone) {
  const report::Run run;
  EXPECT_TRUE(nlohmann::json::parse(report::run_json(run))["repeats"].is_null());
  EXPECT_THAT(report::as_text(report::run_document(run), {.full = true}),
              Not(HasSubstr("loop, best of")));
}

}  // namespace
}  // namespace hwprof
