// What is said of numbers that cost time or are none, and where nothing is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/judge/judge_run.h"

namespace hwprof::blas {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NumberFindings : public ::testing::Test {
 protected:
  NumberFindings() {
    report::CallSite& site = evidence_.called.calls.emplace_back();
    site.symbol = "sgemm_";
    site.caller = "/usr/bin/train";
    site.count = 1000;
    site.time_ns = 1e9;
    report::CallShape& shape = site.shapes.emplace_back();
    shape.m = shape.n = shape.k = 64;
    met(920, std::nullopt);
    site.numbers.sampled_operands = 32;
    site.numbers.nan_operands = 0;
  }

  report::CallSite& site() { return evidence_.called.calls[0]; }
  void met(std::uint64_t calls, std::optional<double> slowdown) {
    for (report::CallNumbers* numbers : {&site().numbers, &site().shapes[0].numbers}) {
      numbers->flag_calls = 1000;
      numbers->denormal_calls = calls;
      numbers->denormal_time_ns = 1e5 * static_cast<double>(calls);
      numbers->denormal_slowdown = slowdown;
    }
  }

  report::BlasEvidence evidence_;
};

TEST_F(NumberFindings, SayWhatDenormalNumbersCostAndHowToFlushThem) {
  met(920, 14.2);
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(AllOf(
                  HasSubstr("92 % of the calls of sgemm_ from train met denormal numbers (920 of "
                            "1000), 14 times slower than the others of 64 x 64 x 64 (920 calls "
                            "with, 80 without): set flush-to-zero"),
                  HasSubstr("_MM_SET_FLUSH_ZERO_MODE"), HasSubstr("-ffast-math"))));
}

TEST_F(NumberFindings, SayOnlyTheShareWhereNothingCanBeCompared) {
  met(1000, std::nullopt);
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(AllOf(HasSubstr("100 % of the calls"), HasSubstr("is not known"),
                                Not(HasSubstr("times slower")))));
}

TEST_F(NumberFindings, SayWhatAReplayBoundsWhereNothingCanBeCompared) {
  met(1000, std::nullopt);
  report::DenormalReplay& replay = site().denormal_replay.emplace();
  replay.m = replay.n = replay.k = 64;
  replay.operands_ratio = 1.02;
  replay.operands_low = 1.01;
  replay.operands_high = 1.04;
  replay.results_ratio = 3.8;
  replay.results_low = 3.7;
  replay.results_high = 3.9;
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(AllOf(
                  HasSubstr("which makes them at most 3.8 times slower (made again on one thread, "
                            "64 x 64 x 64: 3.8 [3.7, 3.9] with products that all are denormal, 1.0 "
                            "[1.0, 1.0] with an operand of nothing but denormal numbers): set "
                            "flush-to-zero"),
                  Not(HasSubstr("is not known")))));
  replay.operands_ratio = 140;  // the other way round, as on Intel's CPUs
  EXPECT_THAT(number_findings(evidence_), ElementsAre(HasSubstr("at most 140 times slower")));
  // What the program's own calls say is more than a bound.
  met(920, 14.2);
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(AllOf(HasSubstr("14 times slower than"), Not(HasSubstr("at most")))));
}

TEST_F(NumberFindings, AreSilentWhereAReplayBoundsThemBelowWhatIsNotable) {
  met(1000, std::nullopt);
  report::DenormalReplay& replay = site().denormal_replay.emplace();
  replay.operands_ratio = 1.02;
  replay.results_ratio = 1.1;
  EXPECT_THAT(number_findings(evidence_), IsEmpty());
}

TEST_F(NumberFindings, SayWhyThereIsNoReplay) {
  met(1000, std::nullopt);
  site().denormal_replay.emplace().reason = "not measured (--no-ladder)";
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(HasSubstr("is not known, since too few calls of one shape were with and "
                                    "without, nor was one made again (not measured "
                                    "(--no-ladder)): set")));
}

TEST_F(NumberFindings, NameTheFixOfTheFramework) {
  site().caller = "/usr/lib/libtorch_cpu.so";
  EXPECT_THAT(number_findings(evidence_), ElementsAre(HasSubstr("torch.set_flush_denormal(True)")));
  site().caller = "/usr/lib/python3/_multiarray_umath.cpython-311-x86_64-linux-gnu.so";
  EXPECT_THAT(number_findings(evidence_), ElementsAre(HasSubstr("numpy has no switch")));
  evidence_.loaded.emplace_back().path = "/usr/lib/libtorch.so";
  EXPECT_THAT(number_findings(evidence_), ElementsAre(HasSubstr("torch.set_flush_denormal(True)")));
}

TEST_F(NumberFindings, AreSilentWhereThereAreFewOrTheyCostNothing) {
  met(20, 14);
  EXPECT_THAT(number_findings(evidence_), IsEmpty());
  met(920, 1.05);
  EXPECT_THAT(number_findings(evidence_), IsEmpty());
  met(0, std::nullopt);
  EXPECT_THAT(number_findings(evidence_), IsEmpty());
  site().numbers = {};
  EXPECT_THAT(number_findings(evidence_), IsEmpty());
}

// Few calls, which take most of the time.
TEST_F(NumberFindings, WeighTimeToo) {
  met(20, 14);
  site().numbers.denormal_time_ns = 5e8;
  EXPECT_THAT(number_findings(evidence_), ElementsAre(HasSubstr("2 % of the calls")));
}

TEST_F(NumberFindings, NameWhoPassedNanFirst) {
  met(0, std::nullopt);
  site().numbers.nan_operands = 3;
  EXPECT_THAT(
      number_findings(evidence_),
      ElementsAre(AllOf(HasSubstr("3 of 32 sampled operands of sgemm_ from train hold NaN:"),
                        HasSubstr("feenableexcept(FE_INVALID)"))));
  report::CallSite first = site();
  first.symbol = "sgemv_";
  first.numbers.nan_operands = 1;
  first.nan_first = true;
  evidence_.called.calls.push_back(first);
  EXPECT_THAT(number_findings(evidence_),
              ElementsAre(HasSubstr("1 of 32 sampled operands of sgemv_ from train holds NaN, the "
                                    "first seen; so do some of 1 more routine or caller")));
}

}  // namespace
}  // namespace hwprof::blas
