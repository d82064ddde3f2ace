// Training in every writer: the same numbers, and a reason where there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "src/report/data/writers.h"
#include "src/report/documents/documents.h"
#include "src/report/render/render.h"
#include "tests/sample_profile.h"

namespace hwprof::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TrainingPhase sample_phase(const std::string& name, double total_ns, double share) {
  TrainingPhase phase;
  phase.name = name;
  phase.calls = 200;
  phase.total_ns = total_ns;
  phase.share = share;
  EventCount faults;
  faults.name = "page-faults";
  faults.total = 1234;
  faults.value = 6.17;
  faults.calls = 200;
  faults.status = CountStatus::kOk;
  faults.unit = "1";
  EventCount cycles;
  cycles.name = "cycles";
  cycles.reason = "no PMU here";
  phase.counters = {faults, cycles};
  return phase;
}

Profile sample_training() {
  Profile profile = sample_profile();
  profile.blas.verdict = VerdictKind::kOptimal;
  profile.workload = {};
  profile.workload.name = "mlp";
  profile.workload.shape = {{"widths", "784-128-64-10"}, {"batch", "100"}};
  Training& training = profile.training.emplace();
  training.images = "generated digits, seed 0";
  training.held_out = "the last sixth";
  training.train_images = 10000;
  training.held_out_images = 2000;
  training.widths = {784, 128, 64, 10};
  training.batch = 100;
  training.epochs = 3;
  training.learning_rate = 0.1;
  training.weight_decay = 0.01;
  training.load = sample_phase("load", 5e7, 0);
  training.load.share = std::nullopt;
  TrainingRun& run = training.runs.emplace_back();
  run.variant = "simd";
  run.epochs = {{1, 1.25, 0.8125, 40000}, {2, 0.5, 0.9375, 50000}};
  run.samples_per_s = 45000;
  run.reason = "stopped after 2 of 3 epochs: its part of --time-budget 1 s, 0.3 s, was used up";
  run.phases = {sample_phase("data", 3e8, 0.6), sample_phase("forward", 1e8, 0.2)};
  run.phases[1].flops = 5e9;
  run.phases[1].gflops = 50;
  run.phases[1].peak_fraction = 0.5;
  TrainingRun& missing = training.runs.emplace_back();
  missing.variant = "blas";
  missing.reason = "no BLAS is installed";
  return profile;
}

TEST(TrainingReport, TheHeadlineSaysSpeedAccuracyAndWhereTheTimeGoes) {
  EXPECT_THAT(as_text(profile_document(sample_training()), {.columns = 200}),
              AllOf(HasSubstr("simd trains 45.0 k samples/s; 93.8 % of the held-out images right "
                              "after 2 epochs."),
                    HasSubstr("Most time: data, 60.0 %.")));
}

TEST(TrainingReport, TextAndMarkdownHaveEpochsPhasesAndReasons) {
  const Profile profile = sample_training();
  for (const std::string& report : {as_text(profile_document(profile), {.full = true}),
                                    as_markdown(profile_document(profile))}) {
    for (const char* part : {"generated digits, seed 0", "81.2", "1.250", "faults", "1.23 k",
                             "simd: stopped after 2 of 3 epochs", "blas: no BLAS is installed",
                             "cycles: no PMU here", "10000 to learn from", "learning rate 0.1"}) {
      EXPECT_THAT(report, HasSubstr(part));
    }
    EXPECT_THAT(report, testing::Not(HasSubstr("Documents")));
  }
}

TEST(TrainingReport, JsonHasTheNumbersUnrounded) {
  const auto json = nlohmann::json::parse(profile_json(sample_training()));
  const auto& training = json["training"];
  EXPECT_EQ(training["widths"], (std::vector<int>{784, 128, 64, 10}));
  EXPECT_EQ(training["runs"][0]["epochs"][1]["accuracy"], 0.9375);
  EXPECT_EQ(training["runs"][0]["phases"][0]["counters"]["page-faults"]["total"], 1234);
  EXPECT_TRUE(training["runs"][0]["phases"][0]["gflops"].is_null());
  EXPECT_TRUE(training["runs"][1]["samples_per_s"].is_null());
  EXPECT_EQ(training["runs"][1]["reason"], "no BLAS is installed");
  EXPECT_TRUE(training["load"]["share"].is_null());
  EXPECT_FALSE(json["workload"].contains("mean_length"));
}

TEST(TrainingReport, AWorkloadThatDoesNotLearnHasNoSuchKeyOrColumn) {
  EXPECT_FALSE(nlohmann::json::parse(profile_json(sample_profile())).contains("training"));
  EXPECT_THAT(profile_csv(sample_profile()), testing::Not(HasSubstr("samples_per_s")));
}

TEST(TrainingReport, CsvHasALineAnEpochAndALineAPhase) {
  const std::string csv = profile_csv(sample_training());
  EXPECT_THAT(csv,
              AllOf(HasSubstr(",epoch,loss,accuracy,samples_per_s,phase,"),
                    HasSubstr(",2,0.5,0.9375,50000,,"), HasSubstr(",data,200,300000000,0.6,")));
  // All lines have the columns of the header; none of the sample's cells holds a comma but quoted.
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'),
            1 + static_cast<long>(sample_profile().rows.size()) + 1 + 2 + 2);
}

}  // namespace
}  // namespace hwprof::report
