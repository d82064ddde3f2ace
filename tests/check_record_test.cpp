// What a verdict means for a host: nothing but a BLAS that is known to be bad may cost it its
// service.
#include "src/model/check_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/commands/check/host_facts.h"
#include "src/commands/check/required.h"
#include "src/model/from_json.h"
#include "src/report/data/fleet_writers.h"
#include "src/report/documents/check.h"

namespace hwprof {
namespace {

using model::Outcome;
using report::Check;
using report::VerdictKind;
using ::testing::HasSubstr;

Check measured(VerdictKind verdict) {
  Check check;
  check.host = "node01";
  check.blas.verdict = verdict;
  check.blas.why = "because";
  check.blas.provider = report::Provider::kOpenBlas;
  check.blas.core = "Cooper Lake";
  report::LadderRung fast, found;
  fast.gflops = 200;
  fast.peak_fraction = 0.8;
  found.gflops = 100;
  found.peak_fraction = 0.4;
  found.as_found = true;
  check.blas.ladder = {fast, found};
  return check;
}

TEST(CheckRecord, OnlyABadBlasIsAFailure) {
  using enum VerdictKind;
  EXPECT_EQ(model::outcome_of(kOptimal), Outcome::kPass);
  for (const VerdictKind bad : {kSuboptimal, kUnoptimised, kWrongResults, kMissing})
    EXPECT_EQ(model::outcome_of(bad), Outcome::kFail) << to_text(bad);
  for (const VerdictKind open :
       {kBorderline, kInconclusive, kNotCalled, kOtherLibrary, kOverheadBound})
    EXPECT_EQ(model::outcome_of(open), Outcome::kUnknown) << to_text(open);
  EXPECT_EQ(exit_code(Outcome::kPass), 0);
  EXPECT_EQ(exit_code(Outcome::kFail), 1);
  EXPECT_EQ(exit_code(Outcome::kUnknown), 3);
}

TEST(CheckRecord, MereSpeedIsNoFailureOfAMachineThatIsBusy) {
  Check check = measured(VerdictKind::kSuboptimal);
  check.busy_fraction = 0.05;
  conclude(check);
  EXPECT_EQ(check.outcome, Outcome::kFail);
  check.busy_fraction = 0.6;
  conclude(check);
  EXPECT_EQ(check.outcome, Outcome::kUnknown);
  EXPECT_THAT(check.reason, HasSubstr("busy"));
  for (const VerdictKind bad : {VerdictKind::kUnoptimised, VerdictKind::kWrongResults}) {
    check.blas.verdict = bad;
    conclude(check);
    EXPECT_EQ(check.outcome, Outcome::kFail) << to_text(bad);
  }
  check.blas.verdict = VerdictKind::kSuboptimal;
  check.blas.threading =
      "single-threaded";  // which no load excuses, but on one CPU is as good as any
  check.machine.cpus = 1;
  conclude(check);
  EXPECT_EQ(check.outcome, Outcome::kUnknown);
  check.machine.cpus = 4;
  conclude(check);
  EXPECT_EQ(check.outcome, Outcome::kFail);
}

TEST(CheckRecord, AJobOfSlurmGoesByTheNameOfItsNode) {
  ASSERT_EQ(::unsetenv("SLURMD_NODENAME"), 0);
  const std::string machine = this_host().value_or("");
  EXPECT_NE(machine, "node07-of-slurm");
  ::setenv("SLURMD_NODENAME", "node07-of-slurm", 1);
  EXPECT_EQ(this_host().value_or(""), "node07-of-slurm");
  ::setenv("SLURMD_NODENAME", "../node07", 1);
  EXPECT_EQ(this_host().value_or(""), machine);
  ::unsetenv("SLURMD_NODENAME");
}

TEST(CheckRecord, RatesAreThoseOfWhatProgramsGet) {
  Check check = measured(VerdictKind::kUnoptimised);
  conclude(check);
  EXPECT_EQ(check.gflops, 100);
  EXPECT_EQ(check.peak_fraction, 0.4);
  EXPECT_DOUBLE_EQ(check.peak_gflops.value_or(0), 250);
  EXPECT_EQ(check.reason, "the verdict is unoptimised: because");
}

TEST(CheckRecord, WithoutARungTheRateIsAbsentWithItsReason) {
  Check check = measured(VerdictKind::kMissing);
  check.blas.ladder.clear();
  conclude(check);
  EXPECT_FALSE(check.gflops || check.peak_fraction || check.peak_gflops);
  EXPECT_EQ(check.gflops_reason, "because");
  check.blas.ladder = measured(VerdictKind::kOptimal).blas.ladder;
  check.blas.ladder.back().gflops.reset();
  check.blas.ladder.back().reason = "it hung";
  conclude(check);
  EXPECT_EQ(check.gflops_reason, "it hung");
}

TEST(CheckRecord, TheLineHasNoBlankInAValue) {
  Check check = measured(VerdictKind::kUnoptimised);
  conclude(check);
  check.blas.factor = 2;
  EXPECT_EQ(report::check_line(check),
            "verdict=unoptimised gflops=100 peak_fraction=0.400 factor=2.00 outcome=fail "
            "provider=openblas core=Cooper_Lake");
  EXPECT_EQ(report::check_line({}),
            "verdict=inconclusive gflops=- peak_fraction=- factor=- outcome=unknown provider=- "
            "core=-");
}

TEST(CheckRecord, IsReadAsItWasWritten) {
  Check check = measured(VerdictKind::kUnoptimised);
  conclude(check);
  check.blas.results.bits = "0123456789abcdef";
  check.run_id = "r1";
  const std::string text = report::check_json(check);
  const auto json = nlohmann::ordered_json::parse(text);
  EXPECT_EQ(json["schema"], "hwprof.check/1");
  const auto again = model::from_json<Check>(json);
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(report::check_json(*again), text);
}

TEST(CheckRecord, NamesThatAreNoNamesOfFilesAreRefused) {
  EXPECT_TRUE(run_id_in("--run-id", "2026-11-27.a_1"));
  for (const char* bad : {"", ".", "..", "a/b", "../a", "-a", "a b", "a@b", "a\n"})
    EXPECT_FALSE(run_id_in("--run-id", bad)) << bad;
  EXPECT_FALSE(run_id_in("--run-id", std::string(65, 'a')));
  EXPECT_TRUE(host_in("--host", std::string(65, 'a')));
}

TEST(CheckRecord, OthersAreWhatWeWereNot) {
  EXPECT_NEAR(fraction_of_others(150, 0.5, 1, 2).value_or(-1), 0.5, 1e-9);
  EXPECT_EQ(fraction_of_others(10, 0.5, 1, 2), 0);  // ticks are coarse
  EXPECT_EQ(fraction_of_others(1000, 0, 1, 2), 1);
  EXPECT_FALSE(fraction_of_others(5, 0, 0.01, 2));
}

report::Run ended(int exit, VerdictKind verdict) {
  report::Run run;
  run.exit = exit;
  run.blas.verdict = verdict;
  run.blas.why = "because";
  return run;
}

TEST(RequiredBlas, ExitCodesTellACommandThatFailedFromABadBlas) {
  EXPECT_EQ(required_exit(ended(0, VerdictKind::kOptimal)), 0);
  EXPECT_EQ(required_exit(ended(0, VerdictKind::kUnoptimised)), 1);
  EXPECT_EQ(required_exit(ended(0, VerdictKind::kNotCalled)), 3);
  EXPECT_EQ(required_exit(ended(1, VerdictKind::kNotCalled)), 4);
  EXPECT_EQ(required_exit(ended(1, VerdictKind::kUnoptimised)), 4);
  report::Run run;
  run.not_run = "no such command";
  run.exit = 127;
  EXPECT_EQ(required_exit(run), 3);
  const report::Document document = required_line(run);
  const auto& line = std::get<report::Paragraph>(document.blocks.front().content);
  EXPECT_THAT(line.text, HasSubstr(" exit=3 verdict=- reason=no such command"));
  EXPECT_EQ(required_line(ended(0, VerdictKind::kOptimal)).blocks.size(), 1U);
  EXPECT_GT(required_verdict(ended(0, VerdictKind::kOptimal)).blocks.size(), 1U);
}

}  // namespace
}  // namespace hwprof
