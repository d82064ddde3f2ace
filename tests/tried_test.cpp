#include "src/measure/tried.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "src/blas/judge/trial.h"
#include "src/measure/paired.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"

namespace hwprof {
namespace {

using report::Fix;
using report::TriedSetting;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Times of about a second, each a little off in a way of its own.
std::vector<double> times(std::size_t rounds, double middle, unsigned seed) {
  std::vector<double> all;
  for (std::size_t i = 0; i < rounds; ++i)
    all.push_back(middle * (1 + 0.002 * static_cast<double>((i * 7 + seed * 13) % 11)));
  return all;
}

void fill(TriedSetting& setting, const std::string& name, std::size_t rounds, double wall,
          double cpu) {
  setting.tried = name;
  setting.changes = {name};
  setting.job_line = "export " + name;
  setting.wall_s = times(rounds, wall, 1);
  setting.cpu_s = times(rounds, cpu, 2);
  setting.same_output = true;
}

Fix fix_of(std::size_t rounds, double wall, double cpu) {
  Fix fix;
  fill(fix, "A=1", rounds, wall, cpu);
  fix.as_is_wall_s = times(rounds, 1, 3);
  fix.as_is_cpu_s = times(rounds, 1, 4);
  return fix;
}

TEST(Tried, AFasterSettingIsSaidWithItsFactorAndItsCpuTimeApart) {
  Fix fix = fix_of(9, 0.5, 0.25);
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("With A=1 the program is 1.99 times faster ("));
  EXPECT_THAT(fix.result, HasSubstr("; it takes 3.99 times less CPU time ("));
  EXPECT_TRUE(fix.worth_it);
  EXPECT_THAT(fix.wall_ratio, SizeIs(3));
  EXPECT_LE(fix.wall_ratio[0], fix.wall_ratio[1]);
  EXPECT_LE(fix.wall_ratio[1], fix.wall_ratio[2]);
  EXPECT_EQ(fix.rounds, 9U);
}

TEST(Tried, LessCpuTimeAloneIsNoFasterProgramButWorthIt) {
  Fix fix = fix_of(9, 1, 0.15);
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("no difference in wall time can be told"));
  EXPECT_THAT(fix.result, HasSubstr("6.65 times less CPU time"));
  EXPECT_TRUE(fix.worth_it);
}

TEST(Tried, ASlowerSettingIsNeverAdvised) {
  Fix fix = fix_of(9, 1.41, 0.5);
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("the program is 1.41 times slower"));
  EXPECT_FALSE(fix.worth_it);
}

TEST(Tried, ADifferenceBelowFivePercentIsNoFactor) {
  Fix fix = fix_of(40, 0.96, 1);
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("not surely 1.05 times apart"));
  EXPECT_THAT(fix.result, Not(HasSubstr("faster")));
  EXPECT_FALSE(fix.worth_it);
}

TEST(Tried, FiveRoundsSayNothingOfTime) {
  Fix fix = fix_of(5, 0.5, 0.5);
  conclude(fix);
  EXPECT_THAT(fix.wall_ratio, IsEmpty());
  EXPECT_THAT(fix.result, HasSubstr("5 rounds are too few"));
  EXPECT_FALSE(fix.worth_it);
  fix = fix_of(kFewestRounds, 0.5, 0.5);
  conclude(fix);
  EXPECT_TRUE(fix.worth_it);
}

TEST(Tried, AFasterProgramWithAnotherOutputIsNotAdvised) {
  Fix fix = fix_of(9, 0.5, 0.5);
  fix.same_output = false;
  fix.output_reason = "exit code 1, as it is 0";
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("; its output changed: exit code 1"));
  EXPECT_FALSE(fix.worth_it);
}

TEST(Tried, ASettingWithWhichTheCommandFailsIsSaidToFail) {
  Fix fix = fix_of(9, 0.5, 0.5);
  fix.stopped = "round 10 failed";
  fix.same_output = false;
  fix.output_reason = "exit code 4, as it is 0";
  conclude(fix);
  EXPECT_EQ(fix.result, "With A=1 the command fails; its output changed: exit code 4, as it is 0");
  EXPECT_FALSE(fix.worth_it);
}

TEST(Tried, JsonHasTheFirstSettingAndTheOthersBehindIt) {
  report::Run run;
  run.fix = fix_of(9, 0.5, 0.25);
  fill(run.fix->others.emplace_back(), "A=2", 9, 1, 1);
  run.fix->other_programs = 0.5;
  conclude(*run.fix);
  const auto json = nlohmann::json::parse(report::run_json(run));
  EXPECT_EQ(json["fix"]["tried"], "A=1");
  EXPECT_EQ(json["fix"]["wall_ratio"].size(), 3U);
  EXPECT_EQ(json["fix"]["as_is"]["wall_s"].size(), 9U);
  EXPECT_EQ(json["fix"]["others"][0]["tried"], "A=2");
  EXPECT_EQ(json["fix"]["same_output"], true);
}

TEST(Tried, TheBestOfSeveralComesFirst) {
  Fix fix = fix_of(20, 1, 1);
  for (const double wall : {0.8, 0.5, 1.3}) {
    TriedSetting& other = fix.others.emplace_back();
    fill(other, fmt::format("A={}", wall), 20, wall, wall);
  }
  conclude(fix);
  EXPECT_EQ(fix.tried, "A=0.5");
  EXPECT_EQ(fix.job_line, "export A=0.5");
  EXPECT_THAT(fix.result, HasSubstr("Of 4 settings A=0.5 wins: the program is 1.99 times faster"));
  EXPECT_THAT(fix.result, HasSubstr("faster than as it is, too: A=0.8"));
  EXPECT_TRUE(fix.worth_it);
  EXPECT_THAT(fix.others, SizeIs(3));
}

TEST(Tried, WhereNoneWinsThatIsTheSentence) {
  Fix fix = fix_of(40, 1, 1);
  fill(fix.others.emplace_back(), "A=2", 40, 1.2, 1.2);
  conclude(fix);
  EXPECT_THAT(fix.result, HasSubstr("None of the 2 settings is surely faster"));
  EXPECT_FALSE(fix.worth_it);
}

TEST(Tried, TheFastestWithAnotherOutputDoesNotWin) {
  Fix fix = fix_of(20, 0.5, 0.5);
  fix.same_output = false;
  fill(fix.others.emplace_back(), "A=2", 20, 0.7, 0.7);
  conclude(fix);
  EXPECT_EQ(fix.tried, "A=2");
}

TEST(Tried, RoundsEndAtALookThatDecidesOrAtTheLast) {
  EXPECT_FALSE(rounds_suffice(fix_of(8, 0.5, 0.5))) << "no look";
  EXPECT_TRUE(rounds_suffice(fix_of(9, 0.5, 0.5)));
  EXPECT_FALSE(rounds_suffice(fix_of(9, 1, 1)));
  EXPECT_FALSE(rounds_suffice(fix_of(10, 0.5, 0.5)));
  EXPECT_FALSE(rounds_suffice(fix_of(20, 1, 1)));
  EXPECT_TRUE(rounds_suffice(fix_of(40, 1, 1)));
  Fix two = fix_of(9, 0.5, 0.5);
  fill(two.others.emplace_back(), "A=2", 9, 1, 1);
  EXPECT_FALSE(rounds_suffice(two)) << "one is not decided";
  two.others.front().stopped = "it failed";
  EXPECT_TRUE(rounds_suffice(two));
}

TEST(Tried, IntervalsOfSeveralSettingsAreWider) {
  Fix one = fix_of(20, 0.9, 0.9), four = fix_of(20, 0.9, 0.9);
  for (const char* name : {"A=2", "A=3", "A=4"}) fill(four.others.emplace_back(), name, 20, 1, 1);
  conclude(one);
  conclude(four);
  EXPECT_GT(four.wall_ratio[2] - four.wall_ratio[0], one.wall_ratio[2] - one.wall_ratio[0]);
}

TEST(Tried, OutputIsHeldAgainstThatOfTheProgramAsItIs) {
  const RunEnding one{0, 5, 1}, same_length{0, 5, 2}, failed{3, 5, 1};
  const auto judged = [](const std::vector<RunEnding>& as_is,
                         const std::vector<RunEnding>& changed) {
    TriedSetting setting;
    judge_output(as_is, changed, setting);
    return setting;
  };
  EXPECT_EQ(judged({one, one}, {one}).same_output, true);
  EXPECT_EQ(judged({one, one}, {one, same_length}).same_output, false);
  EXPECT_THAT(judged({one, one}, {same_length}).output_reason, HasSubstr("and others"));
  EXPECT_EQ(judged({one, one}, {failed}).output_reason, "exit code 3, as it is 0");
  EXPECT_FALSE(judged({one, same_length}, {one}).same_output);
  EXPECT_THAT(judged({one, same_length}, {one}).output_reason, HasSubstr("nothing can be said"));
  EXPECT_FALSE(judged({one}, {one}).same_output) << "not known whether it always does that";
  EXPECT_FALSE(judged({one, one}, {}).same_output);
}

TEST(Tried, TheDocumentHasTheLineForTheJobScriptOnlyWhereItIsWorthIt) {
  Fix fix = fix_of(9, 0.5, 0.5);
  conclude(fix);
  const auto lines = report::fix_headlines(fix);
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[1].fix, "export A=1");
  fix = fix_of(9, 1.5, 1.5);
  conclude(fix);
  EXPECT_THAT(report::fix_headlines(fix), SizeIs(1));
  EXPECT_THAT(report::fix_table(fix).rows, SizeIs(1));
  EXPECT_THAT(lines[0].text, HasSubstr("The line for the job script"));
  EXPECT_THAT(report::fix_table(Fix()).rows, IsEmpty()) << "nothing was tried";
}

using blas::changes_to_try;

TEST(FixToTry, IsTheChangeOfTheEnvironmentThatTheVerdictNames) {
  EXPECT_THAT(changes_to_try("unset OPENBLAS_CORETYPE"), ElementsAre("OPENBLAS_CORETYPE"));
  EXPECT_THAT(changes_to_try("unset OMP_NUM_THREADS OPENBLAS_NUM_THREADS"),
              ElementsAre("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"));
  EXPECT_THAT(changes_to_try("export OPENBLAS_CORETYPE=SkylakeX, or sudo apt install newer"),
              ElementsAre("OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_THAT(changes_to_try("unset MKL_NUM_THREADS; export OPENBLAS_NUM_THREADS=1"),
              ElementsAre("MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS=1"));
}

TEST(FixToTry, ALibraryIsGivenToOneProgramByItsFolder) {
  EXPECT_THAT(changes_to_try("sudo update-alternatives --set libblas.so.3-x86_64-linux-gnu "
                             "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3"),
              ElementsAre("LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/openblas-pthread"));
  // The variable that decided is set, then.
  EXPECT_THAT(changes_to_try("unset LD_LIBRARY_PATH; update-alternatives --set libblas.so.3 "
                             "/opt/b/libblas.so.3"),
              ElementsAre("LD_LIBRARY_PATH=/opt/b"));
}

TEST(FixToTry, IsNoneWhereTheFixIsAnotherOne) {
  for (const char* fix : {"", "sudo apt install libopenblas0-pthread", "run it for longer",
                          "make fewer and larger products: one call for a whole batch",
                          "link the program with -lopenblas in place of libcblas.so.3"})
    EXPECT_THAT(changes_to_try(fix), IsEmpty()) << fix;
}

TEST(FixToTry, SaysWhichPartsAreLeft) {
  EXPECT_EQ(blas::not_to_try("unset A; sudo apt install b"), "sudo apt install b");
  EXPECT_EQ(blas::not_to_try("unset A; export B=1, or wait"), "");
  EXPECT_EQ(blas::not_to_try(""), "");
}

TEST(FixToTry, TheLineForAJobScriptIsOneForAShell) {
  EXPECT_EQ(blas::job_line({"A=1", "B"}), "export A=1; unset B");
  EXPECT_EQ(blas::job_line({"A=two words"}), "export 'A=two words'");
  EXPECT_EQ(blas::changes_in_words({"A=1", "B"}), "A=1, B unset");
}

}  // namespace
}  // namespace hwprof
