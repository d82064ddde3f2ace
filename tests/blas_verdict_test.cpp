// Made-up evidence for every branch; the numbers are those of one Zen 5 core unless a test needs
// others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/judge/verdict.h"
#include "src/blas/providers/core_types.h"
#include "tests/made_rung.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kReference = "/usr/lib/blas/libblas.so.3";

#if defined(__x86_64__)

LadderRung of(LadderRung made, const std::string& provider, const std::string& library) {
  made.provider = provider;
  made.library = library;
  made.vector_class = vector_class_of(provider, made.core);
  return made;
}

VerdictInput openblas(const std::string& core) {
  VerdictInput input;
  input.identity = Identity{"openblas", "0.3.21", core, "pthreads", 2, {}, kOpenBlas};
  input.path = kOpenBlas;
  input.isa = {"avx", "avx2", "fma", "avx512f"};
  return input;
}

VerdictInput reference() {
  VerdictInput input = openblas("");
  input.identity = Identity{"reference", "", "", "single-threaded", 1, {}, kReference};
  input.path = kReference;
  input.ladder = {of(rung("as found", "", 0.03), "reference", kReference)};
  return input;
}

InstalledBlas installed_openblas() {
  return {kOpenBlas,
          "alternative of libblas.so.3",
          {"openblas", true},
          std::string("update-alternatives --set libblas.so.3 ") + kOpenBlas};
}

TEST(Verdict, OptimalWhenNothingIsMuchFasterAndTheVectorsAreWide) {
  VerdictInput input = openblas("SkylakeX");
  input.ladder = {rung("OPENBLAS_CORETYPE=Cooperlake", "Cooperlake", 0.92),
                  rung("as found", "SkylakeX", 0.90), rung("OPENBLAS_CORETYPE=Zen", "Zen", 0.47)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "optimal");
  EXPECT_NEAR(verdict.factor.value(), 0.92 / 0.90, 1e-9);
  EXPECT_THAT(verdict.why, StartsWith("sgemm runs on 512-bit kernels at 0.90 of the FMA peak"));
  EXPECT_EQ(verdict.fix, "");
}

TEST(Verdict, CoreTypeVariableIsNamedFirstWithFactorAndFix) {
  VerdictInput input = openblas("Haswell");
  input.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  input.ladder = {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.47),
                  rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.47)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "suboptimal");
  EXPECT_NEAR(verdict.factor.value(), 0.90 / 0.47, 1e-9);
  EXPECT_EQ(verdict.why,
            "OPENBLAS_CORETYPE=Haswell is set in the environment: sgemm runs on 256-bit kernels at "
            "0.47 of the FMA peak; Cooperlake (512-bit) is 1.9 times faster on this CPU");
  EXPECT_EQ(verdict.fix, "unset OPENBLAS_CORETYPE");
}

TEST(Verdict, SseCoreOnAWideCpuIsUnoptimised) {
  VerdictInput input = openblas("Prescott");
  input.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  input.ladder = {rung("auto", "Cooperlake", 0.90), rung("as found", "Prescott", 0.17)};
  EXPECT_EQ(judge(input).verdict, "unoptimised");
  EXPECT_EQ(judge(input).fix, "unset OPENBLAS_CORETYPE");
  // Also where it is less than 2.5 times slower.
  input.isa = {"avx", "avx2", "fma"};
  input.ladder = {rung("auto", "Haswell", 0.80), rung("as found", "Prescott", 0.40)};
  EXPECT_EQ(judge(input).verdict, "unoptimised");
  EXPECT_EQ(judge(input).factor, 2.0);
}

TEST(Verdict, AnotherVariableIsACauseOfItsOwn) {
  VerdictInput input = openblas("SkylakeX");
  input.environment = {{"OPENBLAS_L2_SIZE", "512"}, {"OPENBLAS_NUM_THREADS", "4"}};
  input.ladder = {rung("auto", "SkylakeX", 0.90), rung("as found", "SkylakeX", 0.60)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "suboptimal");
  EXPECT_EQ(verdict.why,
            "OPENBLAS_L2_SIZE=512 is set in the environment: sgemm reaches 0.60 of the FMA peak; "
            "the same SkylakeX core is 1.5 times faster without it");
  EXPECT_EQ(verdict.fix, "unset OPENBLAS_L2_SIZE");
}

TEST(Verdict, TwoVariablesAreTwoCausesAndOneCommand) {
  VerdictInput input = openblas("Haswell");
  input.environment = {{"OPENBLAS_CORETYPE", "Haswell"}, {"OPENBLAS_L2_SIZE", "512"}};
  input.ladder = {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.24),
                  rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.48)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "unoptimised");
  EXPECT_THAT(verdict.why, StartsWith("OPENBLAS_CORETYPE=Haswell is set"));
  EXPECT_THAT(verdict.why, HasSubstr("at 0.48 of the FMA peak; Cooperlake (512-bit) is 1.9 times"));
  EXPECT_THAT(verdict.why, HasSubstr("the same Haswell core is 2.0 times faster without it"));
  EXPECT_EQ(verdict.fix, "unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE");
}

TEST(Verdict, VariableThatTheLibraryCannotReadIsNoCause) {
  VerdictInput input = openblas("Haswell");
  input.environment = {{"OPENBLAS_CORETYPE", "Haswell"}, {"OPENBLAS_L2_SIZE", "512"}};
  input.identity->ignored = {"OPENBLAS_L2_SIZE"};
  // The child of "as found" was disturbed.
  input.ladder = {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.24),
                  rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.48)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "suboptimal");
  EXPECT_NEAR(verdict.factor.value(), 0.90 / 0.48, 1e-9);
  EXPECT_THAT(verdict.why, HasSubstr("OPENBLAS_L2_SIZE=512 is set, but this library does not read "
                                     "it"));
  EXPECT_EQ(verdict.fix, "unset OPENBLAS_CORETYPE");
}

TEST(Verdict, UnknownCoreTypeIsSaidToBeIgnored) {
  VerdictInput input = openblas("Cooperlake");
  input.environment = {{"OPENBLAS_CORETYPE", "Zen99"}};
  input.ladder = {rung("as found", "Cooperlake", 0.90), rung("auto", "Cooperlake", 0.90)};
  EXPECT_EQ(judge(input).verdict, "optimal");
  EXPECT_THAT(judge(input).why, HasSubstr("OPENBLAS_CORETYPE=Zen99 names no core type"));
}

TEST(Verdict, CoresOfTheSameVectorsDifferByNoiseUpToALimit) {
  VerdictInput input = openblas("Zen");
  input.isa = {"avx", "avx2", "fma"};
  input.ladder = {rung("as found", "Zen", 0.7), rung("auto", "Zen", 0.7),
                  rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.87)};
  EXPECT_EQ(judge(input).verdict, "optimal");
  input.ladder.back().peak_fraction = 0.95;
  EXPECT_EQ(judge(input).verdict, "suboptimal");
}

TEST(Verdict, LibraryThatChoosesASlowCoreGetsOneForced) {
  VerdictInput input = openblas("Prescott");
  input.ladder = {rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.90),
                  rung("as found", "Prescott", 0.17)};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "unoptimised");
  EXPECT_THAT(verdict.why, StartsWith("openblas 0.3.21 chooses Prescott (128-bit) by itself"));
  EXPECT_THAT(verdict.why, HasSubstr("its SkylakeX (512-bit) is 5.3 times faster"));
  EXPECT_EQ(verdict.fix,
            "export OPENBLAS_CORETYPE=SkylakeX, or install a newer OpenBLAS, one that knows this "
            "CPU");
}

TEST(Verdict, VariableIsReplacedWhereTheLibraryWouldChooseBadlyToo) {
  VerdictInput input = openblas("Prescott");
  input.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  input.ladder = {rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.90),
                  rung("auto", "Haswell", 0.47), rung("as found", "Prescott", 0.17)};
  const Verdict verdict = judge(input);
  EXPECT_THAT(verdict.why, StartsWith("OPENBLAS_CORETYPE=Prescott is set"));
  EXPECT_THAT(verdict.fix, StartsWith("export OPENBLAS_CORETYPE=SkylakeX"));
  EXPECT_THAT(verdict.fix, Not(HasSubstr("unset")));
}

TEST(Verdict, ReferenceIsReplacedByAnInstalledOpenBlas) {
  VerdictInput input = reference();
  input.installed = {installed_openblas()};
  input.ladder.push_back(rung("auto", "Cooperlake", 0.90));
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "unoptimised");
  EXPECT_NEAR(verdict.factor.value(), 30, 1e-9);
  EXPECT_THAT(verdict.why,
              StartsWith("programs get the reference BLAS: sgemm runs on scalar code"));
  EXPECT_EQ(verdict.fix, std::string("sudo update-alternatives --set libblas.so.3 ") + kOpenBlas);
}

TEST(Verdict, ReferenceAloneAsksForAnInstallation) {
  const Verdict verdict = judge(reference());
  EXPECT_EQ(verdict.verdict, "unoptimised");
  EXPECT_EQ(verdict.fix, "apt install libopenblas0-pthread");
}

TEST(Verdict, VariableOfTheBetterLibraryIsUnsetToo) {
  VerdictInput input = reference();
  input.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  input.installed = {installed_openblas()};
  input.ladder.push_back(rung("auto", "Cooperlake", 0.90));
  EXPECT_THAT(judge(input).fix, StartsWith("unset OPENBLAS_CORETYPE; sudo update-alternatives"));
}

TEST(Verdict, BlisIsToldItsArchitectureByNumber) {
  VerdictInput input = openblas("generic");
  input.identity->provider = "blis";
  input.identity->version = "0.9.0";
  input.ladder = {of(rung("BLIS_ARCH_TYPE=0", "skx", 0.88), "blis", "/usr/lib/libblis.so.4"),
                  of(rung("as found", "generic", 0.16), "blis", "/usr/lib/libblis.so.4")};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "unoptimised");
  EXPECT_EQ(verdict.fix, "export BLIS_ARCH_TYPE=0, or apt install libopenblas0-pthread");
}

TEST(Verdict, SmallStepsThatAddUpAreStillALoss) {
  VerdictInput input = openblas("SkylakeX");
  input.ladder = {rung("OPENBLAS_CORETYPE=Cooperlake", "Cooperlake", 0.97),
                  rung("auto", "SkylakeX", 0.90), rung("as found", "SkylakeX", 0.83)};
  input.environment = {{"OPENBLAS_L2_SIZE", "64"}};
  const Verdict verdict = judge(input);
  EXPECT_EQ(verdict.verdict, "suboptimal");
  EXPECT_THAT(verdict.why, HasSubstr("Cooperlake (512-bit) is 1.2 times faster"));
  EXPECT_EQ(verdict.fix, "unset OPENBLAS_L2_SIZE; export OPENBLAS_CORETYPE=Cooperlake");
}

TEST(Verdict, BestIsNotOptimalBelowTheWidthOfTheCpu) {
  VerdictInput input = openblas("Haswell");  // an OpenBLAS before SkylakeX, on a 512-bit CPU
  input.ladder = {rung("as found", "Haswell", 0.47)};
  EXPECT_EQ(judge(input).verdict, "suboptimal");
  EXPECT_EQ(judge(input).factor, 1.0);
  EXPECT_THAT(judge(input).why, HasSubstr("on a CPU with 512-bit vectors"));
  EXPECT_THAT(judge(input).fix, StartsWith("install a newer OpenBLAS"));
  input.ladder.front().peak_fraction = 0.35;
  EXPECT_EQ(judge(input).verdict, "unoptimised");
}

TEST(Verdict, NarrowKernelsNearThePeakAreOptimal) {
  VerdictInput input = openblas("Haswell");  // a CPU whose 512-bit rate is that of 256 bits
  input.ladder = {rung("as found", "Haswell", 0.88),
                  rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.80)};
  EXPECT_EQ(judge(input).verdict, "optimal");
}

TEST(Verdict, LibraryOfUnknownWidthIsJudgedBySpeed) {
  VerdictInput input = openblas("");
  input.identity->provider = "mkl";
  input.ladder = {of(rung("as found", "", 0.85), "mkl", "/opt/libmkl_rt.so")};
  EXPECT_EQ(judge(input).verdict, "optimal");
  EXPECT_THAT(judge(input).why, StartsWith("sgemm reaches 0.85 of the FMA peak"));
  input.ladder.front().peak_fraction = 0.18;
  EXPECT_EQ(judge(input).verdict, "unoptimised");
  EXPECT_EQ(judge(input).fix, "apt install libopenblas0-pthread");
}

TEST(Verdict, VariableIsBlamedAlsoWhereTheLibraryNamesNoCore) {
  VerdictInput input = openblas("");
  input.identity->provider = "mkl";
  input.environment = {{"MKL_ENABLE_INSTRUCTIONS", "SSE4_2"}};
  input.ladder = {of(rung("auto", "", 0.85), "mkl", "/opt/libmkl_rt.so"),
                  of(rung("as found", "", 0.18), "mkl", "/opt/libmkl_rt.so")};
  EXPECT_EQ(judge(input).verdict, "unoptimised");
  EXPECT_THAT(judge(input).why, StartsWith("MKL_ENABLE_INSTRUCTIONS=SSE4_2 is set"));
  EXPECT_EQ(judge(input).fix, "unset MKL_ENABLE_INSTRUCTIONS");
}

TEST(Verdict, SingleThreadedBuildLosesTheOtherCpus) {
  VerdictInput input = openblas("SkylakeX");
  input.identity->threading = "single-threaded";
  input.ladder = {rung("as found", "SkylakeX", 0.90)};
  EXPECT_EQ(judge(input).verdict, "optimal");
  input.pinned_cpus = 4;
  EXPECT_EQ(judge(input).verdict, "suboptimal");
  EXPECT_THAT(judge(input).why, HasSubstr("only 1 of the 4 pinned CPUs works"));
  EXPECT_EQ(judge(input).fix, "apt install libopenblas0-pthread");
  // An installed OpenBLAS is no mend when it is single-threaded too.
  InstalledBlas serial = installed_openblas();
  serial.path = "/usr/lib/openblas-serial/libblas.so.3";
  serial.file.threaded = false;
  input.installed = {serial};
  EXPECT_EQ(judge(input).fix, "apt install libopenblas0-pthread");
}

TEST(Verdict, WithoutALadderOnlyTheCertainIsSaid) {
  VerdictInput input = openblas("Prescott");
  EXPECT_EQ(judge(input).verdict, "unoptimised");
  EXPECT_THAT(judge(input).why, HasSubstr("chooses its Prescott core by itself"));
  EXPECT_FALSE(judge(input).factor);
  input.environment = {{"OPENBLAS_CORETYPE", "Prescott"}};
  EXPECT_EQ(judge(input).fix, "unset OPENBLAS_CORETYPE");

  VerdictInput plain = reference();
  plain.ladder.clear();
  plain.installed = {installed_openblas()};
  EXPECT_EQ(judge(plain).verdict, "unoptimised");
  EXPECT_THAT(judge(plain).fix, StartsWith("sudo update-alternatives --set"));

  for (const char* core : {"Haswell", "SkylakeX", "Unheard"}) {
    EXPECT_EQ(judge(openblas(core)).verdict, "inconclusive") << core;
    EXPECT_EQ(judge(openblas(core)).fix, "run without --no-ladder");
  }
  VerdictInput old_cpu = openblas("Prescott");
  old_cpu.isa = {};
  EXPECT_EQ(judge(old_cpu).verdict, "inconclusive");
}

TEST(Verdict, FailedMeasureIsInconclusiveWithItsReason) {
  VerdictInput input = openblas("SkylakeX");
  LadderRung failed = rung("as found", "SkylakeX", 1);
  failed.gflops.reset();
  failed.peak_fraction.reset();
  failed.reason = "crashed: signal 4 (Illegal instruction)";
  input.ladder = {rung("auto", "Haswell", 0.5), failed};
  EXPECT_EQ(judge(input).verdict, "inconclusive");
  EXPECT_FALSE(judge(input).factor);
  EXPECT_THAT(judge(input).why, HasSubstr("crashed: signal 4"));
}

TEST(Verdict, ThresholdsAreThoseOfTheTable) {
  VerdictInput input = openblas("Zen");
  input.isa = {"avx", "avx2", "fma"};
  input.ladder = {rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.90),
                  rung("as found", "Zen", 0.60)};
  EXPECT_EQ(judge(input).verdict, "suboptimal");
  EXPECT_EQ(judge(input, {.optimal_factor = 1.6}).verdict, "optimal");
  EXPECT_EQ(judge(input, {.suboptimal_factor = 1.4}).verdict, "unoptimised");
}

#endif

TEST(Verdict, WithoutABlasTheInstallationIsNamed) {
  const Verdict verdict = judge({});
  EXPECT_EQ(verdict.verdict, "inconclusive");
  EXPECT_EQ(verdict.fix, "apt install libopenblas0-pthread");
}

}  // namespace
}  // namespace hwprof::blas
