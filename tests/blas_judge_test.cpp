// Made-up evidence for every branch of the judge and every word of its verdict; libraries and
// numbers as they were met, those of one Zen 5 core unless a test needs others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/evidence/called.h"
#include "src/blas/evidence/executed.h"
#include "src/blas/judge/judge.h"
#include "src/blas/judge/judge_run.h"
#include "tests/made_rung.h"

namespace hwprof::blas {
namespace {

using report::InstalledBlas;
using report::LadderRung;
using report::Verdict;
using enum report::VerdictKind;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kKernels = "/usr/lib/openblas-pthread/libopenblasp-r0.3.21.so";
constexpr const char* kReference = "/usr/lib/blas/libblas.so.3.11.0";
constexpr const char* kTorch = "/usr/lib/libtorch_cpu.so.1.13";
constexpr const char* kOwn = "/src/hwprof/build/matrix/own/libopenblas.so.0";
constexpr const char* kProgram = "/home/u/static";
const std::string kInstall = install_advice();

TEST(Judge, WithoutABlasTheInstallationIsNamed) {
  const Verdict verdict = judge({}, {});
  EXPECT_EQ(verdict.verdict, kMissing);
  EXPECT_EQ(verdict.fix, kInstall);
  EXPECT_THAT(verdict.why, EndsWith("brings it along"));
}

TEST(Judge, WithoutABlasHwprofsOwnOpenBlasSaysWhatOneWouldReach) {
  LadderRung own;
  own.own = true;
  own.setting = "auto";
  own.provider = Provider::kOpenBlas;
  own.version = "0.3.21";
  own.core = "Cooperlake";
  own.reason = "took too long";
  EXPECT_THAT(judge({}, {own}).why, EndsWith("brings it along"));
  own.peak_fraction = 0.81;
  const Verdict verdict = judge({}, {own});
  EXPECT_EQ(verdict.verdict, kMissing);
  EXPECT_THAT(verdict.why, HasSubstr("OpenBLAS 0.3.21 Cooperlake, which is not installed and was "
                                     "measured, reaches 0.81 of the FMA peak"));
  EXPECT_EQ(verdict.fix, kInstall);
}

#if defined(__x86_64__)

const std::string kSelect = std::string("update-alternatives --set libblas.so.3 ") + kOpenBlas;

InstalledBlas installed_openblas() {
  InstalledBlas installed;
  installed.path = kOpenBlas;
  installed.provider = Provider::kOpenBlas;
  installed.threaded = true;
  installed.select = kSelect;
  return installed;
}

Evidence library(Provider provider, const std::string& core, const std::string& version = "") {
  Evidence evidence;
  evidence.library.provider = provider;
  evidence.library.version = version;
  evidence.library.core = core;
  evidence.library.vector_class = vector_class_of(provider, core);
  evidence.library.path = provider == Provider::kReference ? kReference : kOpenBlas;
  evidence.cpu.isa = {"avx", "avx2", "fma", "avx512f"};
  return evidence;
}
Evidence openblas(const std::string& core) { return library(Provider::kOpenBlas, core, "0.3.21"); }

using Variables = std::map<std::string, std::string>;
const std::vector<std::string> kAvx2Only = {"avx", "avx2", "fma"};

// `why` begins as said and holds the further words.
struct JudgeCase {
  const char* name;
  Evidence evidence;
  Variables environment;
  std::vector<LadderRung> ladder;
  report::VerdictKind verdict;
  std::optional<double> factor;
  std::string fix;
  std::vector<std::string> why;  // in this order of importance: how it begins, what it holds

  friend std::ostream& operator<<(std::ostream& out, const JudgeCase& of) { return out << of.name; }
};

Evidence of_isa(Evidence evidence, const std::vector<std::string>& isa) {
  evidence.cpu.isa = isa;
  return evidence;
}
Evidence with_installed(Evidence evidence) {
  evidence.installed = {installed_openblas()};
  return evidence;
}
Evidence ignoring(Evidence evidence, const std::string& variable) {
  evidence.library.ignored = {variable};
  return evidence;
}
Evidence single_threaded(Evidence evidence, std::size_t cpus) {
  evidence.library.threading = "single-threaded";
  evidence.cpus = cpus;
  return evidence;
}
LadderRung failed(LadderRung rung, const std::string& reason) {
  rung.gflops.reset();
  rung.peak_fraction.reset();
  rung.reason = reason;
  return rung;
}
LadderRung of_blis(const std::string& setting, const std::string& core, double fraction) {
  return rung(setting, core, fraction, Provider::kBlis, "/usr/lib/libblis.so.4");
}
LadderRung of_mkl(const std::string& setting, double fraction) {
  return rung(setting, "", fraction, Provider::kMkl, "/opt/libmkl_rt.so");
}
LadderRung within(LadderRung rung, double low, double high) {
  rung.peak_fraction_low = low;
  rung.peak_fraction_high = high;
  return rung;
}
LadderRung wrong(LadderRung rung) {
  rung.version = "0.3.21";
  rung.results = {false, "sgemm, m=17 n=16 k=15, trans NN, beta 0: element 17, 1 is 9, not 8", "1"};
  return rung;
}
LadderRung of_wrapper(const std::string& setting, double fraction) {
  return rung(setting, "", fraction, report::provider_named("flexiblas"), kOpenBlas);
}
Evidence on_cpus(Evidence evidence, std::size_t cpus, int threads) {
  evidence.cpus = cpus;
  evidence.threads = threads;
  return evidence;
}
// The reference comes from a folder of LD_LIBRARY_PATH; the alternative is OpenBLAS already.
Evidence by_loader_path(Evidence evidence) {
  evidence.installed = {installed_openblas(), installed_openblas()};
  evidence.installed[0].selected = true;
  evidence.installed[1].path = evidence.library.path;
  evidence.installed[1].how = "LD_LIBRARY_PATH libblas.so.3";
  return evidence;
}
LadderRung of_reference() { return rung("as found", "", 0.03, Provider::kReference, kReference); }

LadderRung of_own(const std::string& setting, const std::string& core, double fraction) {
  LadderRung made = rung(setting, core, fraction, Provider::kOpenBlas, kOwn);
  made.own = true;
  made.version = "0.3.21";
  return made;
}

const JudgeCase kJudgeCases[] = {
    {"OptimalWhenNothingIsMuchFasterAndTheVectorsAreWide",
     openblas("SkylakeX"),
     {},
     {rung("OPENBLAS_CORETYPE=Cooperlake", "Cooperlake", 0.92), rung("as found", "SkylakeX", 0.90),
      rung("OPENBLAS_CORETYPE=Zen", "Zen", 0.47)},
     kOptimal,
     0.92 / 0.90,
     "",
     {"sgemm runs on 512-bit kernels at 0.90 of the FMA peak"}},
    {"CoreTypeVariableIsNamedFirstWithFactorAndFix",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}},
     {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.47),
      rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.47)},
     kSuboptimal,
     0.90 / 0.47,
     "unset OPENBLAS_CORETYPE",
     {"OPENBLAS_CORETYPE=Haswell is set in the environment: sgemm runs on 256-bit kernels at 0.47 "
      "of the FMA peak; Cooperlake (512-bit) is 1.9 times faster on this CPU"}},
    {"SseCoreOnAWideCpuIsUnoptimised",
     openblas("Prescott"),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {rung("auto", "Cooperlake", 0.90), rung("as found", "Prescott", 0.17)},
     kUnoptimised,
     0.90 / 0.17,
     "unset OPENBLAS_CORETYPE",
     {}},
    {"SseCoreIsUnoptimisedAlsoWhereItLosesLittle",
     of_isa(openblas("Prescott"), kAvx2Only),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {rung("auto", "Haswell", 0.80), rung("as found", "Prescott", 0.40)},
     kUnoptimised,
     2.0,
     "unset OPENBLAS_CORETYPE",
     {}},
    {"AnotherVariableIsACauseOfItsOwn",
     openblas("SkylakeX"),
     {{"OPENBLAS_L2_SIZE", "512"}, {"OPENBLAS_NUM_THREADS", "4"}},
     {rung("auto", "SkylakeX", 0.90), rung("as found", "SkylakeX", 0.60)},
     kSuboptimal,
     1.5,
     "unset OPENBLAS_L2_SIZE",
     {"OPENBLAS_L2_SIZE=512 is set in the environment: sgemm reaches 0.60 of the FMA peak; the "
      "same SkylakeX core is 1.5 times faster without it"}},
    {"TwoVariablesAreTwoCausesAndOneCommand",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}, {"OPENBLAS_L2_SIZE", "512"}},
     {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.24),
      rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.48)},
     kUnoptimised,
     0.90 / 0.24,
     "unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE",
     {"OPENBLAS_CORETYPE=Haswell is set",
      "at 0.48 of the FMA peak; Cooperlake (512-bit) is 1.9 times",
      "the same Haswell core is 2.0 times faster without it"}},
    {"VariableThatTheLibraryCannotReadIsNoCause",  // the child of "as found" was disturbed
     ignoring(openblas("Haswell"), "OPENBLAS_L2_SIZE"),
     {{"OPENBLAS_CORETYPE", "Haswell"}, {"OPENBLAS_L2_SIZE", "512"}},
     {rung("auto", "Cooperlake", 0.90), rung("as found", "Haswell", 0.24),
      rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.48)},
     kSuboptimal,
     0.90 / 0.48,
     "unset OPENBLAS_CORETYPE",
     {"", "OPENBLAS_L2_SIZE=512 is set, but this library does not read it"}},
    {"UnknownCoreTypeIsSaidToBeIgnored",
     openblas("Cooperlake"),
     {{"OPENBLAS_CORETYPE", "Zen99"}},
     {rung("as found", "Cooperlake", 0.90), rung("auto", "Cooperlake", 0.90)},
     kOptimal,
     1.0,
     "",
     {"", "OPENBLAS_CORETYPE=Zen99 names no core type"}},
    {"CoresOfTheSameVectorsDifferByNoise",
     of_isa(openblas("Zen"), kAvx2Only),
     {},
     {rung("as found", "Zen", 0.7), rung("auto", "Zen", 0.7),
      rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.87)},
     kOptimal,
     0.87 / 0.7,
     "",
     {}},
    {"NorIsAChoiceOfTheWidestVectorsAtFaultWhereNarrowerAreAsFast",  // Zen 4, 1.06 in one of six
     openblas("Cooperlake"),
     {},
     {within(rung("as found", "Cooperlake", 0.857), 0.842, 0.862),
      within(rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.908), 0.836, 0.918)},
     kOptimal,
     0.908 / 0.857,
     "",
     {}},
    {"ButOnlyUpToALimit",
     of_isa(openblas("Zen"), kAvx2Only),
     {},
     {within(rung("as found", "Zen", 0.7), 0.69, 0.71), rung("auto", "Zen", 0.7),
      within(rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.95), 0.94, 0.96)},
     kSuboptimal,
     0.95 / 0.7,
     "export OPENBLAS_CORETYPE=Haswell, or install a newer OpenBLAS, one that knows this CPU",
     {}},
    {"LibraryThatChoosesASlowCoreGetsOneForced",
     openblas("Prescott"),
     {},
     {rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.90), rung("as found", "Prescott", 0.17)},
     kUnoptimised,
     0.90 / 0.17,
     "export OPENBLAS_CORETYPE=SkylakeX, or install a newer OpenBLAS, one that knows this CPU",
     {"openblas 0.3.21 chooses Prescott (128-bit) by itself",
      "its SkylakeX (512-bit) is 5.3 times faster"}},
    {"NarrowKernelsStayUnoptimisedHoweverWideTheIntervalOfABusyMachine",
     openblas("Prescott"),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {within(rung("auto", "SkylakeX", 0.90), 0.6, 0.95),
      within(rung("as found", "Prescott", 0.19), 0.1, 0.57)},
     kUnoptimised,
     0.90 / 0.19,
     "unset OPENBLAS_CORETYPE",
     {}},
    {"VariableIsReplacedWhereTheLibraryWouldChooseBadlyToo",
     openblas("Prescott"),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.90), rung("auto", "Haswell", 0.47),
      rung("as found", "Prescott", 0.17)},
     kUnoptimised,
     0.90 / 0.17,
     "export OPENBLAS_CORETYPE=SkylakeX, or install a newer OpenBLAS, one that knows this CPU",
     {"OPENBLAS_CORETYPE=Prescott is set"}},
    {"ReferenceIsReplacedByAnInstalledOpenBlas",
     with_installed(library(Provider::kReference, "")),
     {},
     {of_reference(), rung("auto", "Cooperlake", 0.90)},
     kUnoptimised,
     30.0,
     "sudo " + kSelect,
     {"programs get the reference BLAS: sgemm runs on scalar code"}},
    {"ReferenceAloneAsksForAnInstallation",
     library(Provider::kReference, ""),
     {},
     {of_reference()},
     kUnoptimised,
     std::nullopt,  // nothing to compare with: a factor is measured or absent
     kInstall,
     {}},
    {"ReferenceIsComparedWithHwprofsOwnOpenBlas",
     library(Provider::kReference, ""),
     {},
     {of_reference(), of_own("auto", "SkylakeX", 0.90)},
     kUnoptimised,
     30.0,
     kInstall,
     {"programs get the reference BLAS: sgemm runs on scalar code at 0.03 of the FMA peak; "
      "SkylakeX "
      "(512-bit) of OpenBLAS 0.3.21, which is not installed and was measured beside it, is 30 "
      "times faster on this CPU"}},
    {"TheVariableIsAdvisedWhereTheAdvisedLibraryChoosesBadlyToo",
     library(Provider::kReference, ""),
     {{"OPENBLAS_CORETYPE", "Nehalem"}},
     {of_reference(), of_own("auto", "Haswell", 0.47),
      of_own("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.90)},
     kUnoptimised,
     30.0,
     std::string(kInstall) + "; export OPENBLAS_CORETYPE=SkylakeX",
     {}},
    {"VariableOfTheBetterLibraryIsUnsetToo",
     with_installed(library(Provider::kReference, "")),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {of_reference(), rung("auto", "Cooperlake", 0.90)},
     kUnoptimised,
     30.0,
     "unset OPENBLAS_CORETYPE; sudo " + kSelect,
     {}},
    {"BlisIsToldItsArchitectureByNumber",
     library(Provider::kBlis, "generic", "0.9.0"),
     {},
     {of_blis("BLIS_ARCH_TYPE=0", "skx", 0.88), of_blis("as found", "generic", 0.16)},
     kUnoptimised,
     0.88 / 0.16,
     std::string("export BLIS_ARCH_TYPE=0, or ") + kInstall,
     {}},
    {"SmallStepsThatAddUpAreStillALoss",
     openblas("SkylakeX"),
     {{"OPENBLAS_L2_SIZE", "64"}},
     {within(rung("OPENBLAS_CORETYPE=Cooperlake", "Cooperlake", 0.97), 0.96, 0.98),
      rung("auto", "SkylakeX", 0.90), within(rung("as found", "SkylakeX", 0.83), 0.82, 0.84)},
     kSuboptimal,
     0.97 / 0.83,
     "unset OPENBLAS_L2_SIZE; export OPENBLAS_CORETYPE=Cooperlake",
     {"", "Cooperlake (512-bit) is 1.2 times faster"}},
    {"BestIsNotOptimalBelowTheWidthOfTheCpu",  // an OpenBLAS before SkylakeX, on a 512-bit CPU
     openblas("Haswell"),
     {},
     {rung("as found", "Haswell", 0.47)},
     kSuboptimal,
     std::nullopt,
     "install a newer OpenBLAS, one that knows this CPU",
     {"", "on a CPU with 512-bit vectors"}},
    {"NorFarBelowIt",
     openblas("Haswell"),
     {},
     {rung("as found", "Haswell", 0.35)},
     kUnoptimised,
     std::nullopt,
     "install a newer OpenBLAS, one that knows this CPU",
     {}},
    {"NarrowKernelsNearThePeakAreOptimal",  // a CPU whose 512-bit rate is that of 256 bits
     openblas("Haswell"),
     {},
     {rung("as found", "Haswell", 0.88), rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.80)},
     kOptimal,
     1.0,
     "",
     {}},
    {"LibraryOfUnknownWidthIsJudgedBySpeed",
     library(Provider::kMkl, ""),
     {},
     {of_mkl("as found", 0.85)},
     kOptimal,
     std::nullopt,
     "",
     {"sgemm reaches 0.85 of the FMA peak"}},
    {"LibraryOfUnknownWidthThatIsSlow",
     library(Provider::kMkl, ""),
     {},
     {of_mkl("as found", 0.18)},
     kUnoptimised,
     std::nullopt,
     kInstall,
     {}},
    {"VariableIsBlamedAlsoWhereTheLibraryNamesNoCore",
     library(Provider::kMkl, ""),
     {{"MKL_ENABLE_INSTRUCTIONS", "SSE4_2"}},
     {of_mkl("auto", 0.85), of_mkl("as found", 0.18)},
     kUnoptimised,
     0.85 / 0.18,
     "unset MKL_ENABLE_INSTRUCTIONS",
     {"MKL_ENABLE_INSTRUCTIONS=SSE4_2 is set"}},
    {"SingleThreadedBuildOnOneCpu",
     single_threaded(openblas("SkylakeX"), 1),
     {},
     {rung("as found", "SkylakeX", 0.90)},
     kOptimal,
     std::nullopt,
     "",
     {}},
    {"SingleThreadedBuildLosesTheOtherCpus",
     single_threaded(openblas("SkylakeX"), 4),
     {},
     {rung("as found", "SkylakeX", 0.90)},
     kSuboptimal,
     std::nullopt,
     kInstall,
     {"", "only 1 of the 4 CPUs works"}},
    {"WrapperIsNotExcusedForTheEnvironmentOfItsBackend",
     library(report::provider_named("flexiblas"), ""),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {of_wrapper("as found", 0.13), of_wrapper("auto", 0.71)},
     kUnoptimised,
     0.71 / 0.13,
     "unset OPENBLAS_CORETYPE",
     {"OPENBLAS_CORETYPE=Prescott is set in the environment: sgemm reaches 0.13 of the FMA peak; "
      "it "
      "is 5.5 times faster without it"}},
    {"IntervalAcrossTheThresholdIsBorderline",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}},
     {within(rung("auto", "SkylakeX", 0.90), 0.85, 0.95),
      within(rung("as found", "Haswell", 0.80), 0.75, 0.85)},
     kBorderline,
     0.90 / 0.80,
     "",
     {"", "1.03 to 1.22 times faster"}},
    {"TooFewBlocksForAnIntervalAreNoProofOfASmallLoss",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}},
     {within(rung("auto", "SkylakeX", 0.90), 0.89, 0.91), rung("as found", "Haswell", 0.70)},
     kBorderline,
     0.90 / 0.70,
     "",
     {"", "SkylakeX (512-bit) is 1.3 times faster", "too few blocks were measured"}},
    {"AVariableIsNotExcusedWhereNothingElseWasMeasured",
     openblas("Sandybridge"),
     {{"OPENBLAS_CORETYPE", "Sandybridge"}},
     {rung("as found", "Sandybridge", 0.70)},
     kBorderline,
     std::nullopt,
     "",
     {"", "OPENBLAS_CORETYPE=Sandybridge is set, and nothing was measured without"}},
    {"NorDoTheyCastDoubtOnWhatIsAsFast",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}},
     {rung("auto", "SkylakeX", 0.90), rung("as found", "Haswell", 0.85)},
     kOptimal,
     0.90 / 0.85,
     "",
     {}},
    {"IntervalBeyondTheThresholdIsALoss",
     openblas("Haswell"),
     {{"OPENBLAS_CORETYPE", "Haswell"}},
     {within(rung("auto", "SkylakeX", 0.90), 0.89, 0.91),
      within(rung("as found", "Haswell", 0.80), 0.79, 0.81)},
     kSuboptimal,
     0.90 / 0.80,
     "unset OPENBLAS_CORETYPE",
     {}},
    {"TheMilderWordIsTakenWhereTheHarderIsNotCertain",  // Sandybridge: 2.0 in one run, 2.7 in
                                                        // another
     openblas("Sandybridge"),
     {{"OPENBLAS_CORETYPE", "Sandybridge"}},
     {within(rung("auto", "SkylakeX", 0.90), 0.85, 0.95),
      within(rung("as found", "Sandybridge", 0.35), 0.33, 0.37)},
     kSuboptimal,
     0.90 / 0.35,
     "unset OPENBLAS_CORETYPE",
     {}},
    {"ShareAcrossTheLimitIsBorderline",
     openblas("SkylakeX"),
     {},
     {within(rung("as found", "SkylakeX", 0.56), 0.52, 0.60)},
     kBorderline,
     std::nullopt,
     "",
     {"sgemm reaches 0.52 to 0.60 of the FMA peak"}},
    {"WidestKernelsFarBelowThePeakAreNotOptimal",
     openblas("SkylakeX"),
     {},
     {rung("as found", "SkylakeX", 0.30)},
     kUnoptimised,
     std::nullopt,
     "",
     {"", "nothing measured here is faster"}},
    {"OpenBlasIsNoAdviceWhereItWasMeasuredToBeNoBetter",
     library(Provider::kMkl, ""),
     {},
     {of_mkl("as found", 0.5), of_own("auto", "SkylakeX", 0.45)},
     kSuboptimal,
     1.0,
     "",
     {}},
    {"ThreadLimitIsACause",
     on_cpus(openblas("SkylakeX"), 2, 1),
     {{"OPENBLAS_NUM_THREADS", "1"}},
     {rung("as found", "SkylakeX", 0.90), rung("auto", "SkylakeX", 0.90)},
     kSuboptimal,
     1.0,
     "unset OPENBLAS_NUM_THREADS",
     {"", "OPENBLAS_NUM_THREADS=1 is set in the environment: only 1 of the 2 CPUs works"}},
    {"ThreadsThatUseAllCpusAreNoLimit",
     on_cpus(openblas("SkylakeX"), 2, 2),
     {{"OMP_NUM_THREADS", "2"}},
     {rung("as found", "SkylakeX", 0.90)},
     kOptimal,
     std::nullopt,
     "",
     {}},
    {"VariableThatDecidedIsNamedAndWhatIsSoAlreadyIsNotAdvised",
     by_loader_path(library(Provider::kReference, "")),
     {},
     {of_reference(), rung("auto", "SkylakeX", 0.90)},
     kUnoptimised,
     30.0,
     "unset LD_LIBRARY_PATH",
     {"programs get the reference BLAS from LD_LIBRARY_PATH"}},
    {"WrongResultsAreLouderThanSpeed",
     openblas("SkylakeX"),
     {},
     {wrong(rung("as found", "SkylakeX", 0.90)),
      rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.47)},
     kWrongResults,
     std::nullopt,
     "export OPENBLAS_CORETYPE=Haswell",
     {"sgemm of openblas 0.3.21 SkylakeX, m=17 n=16 k=15"}},
    {"WrongKernelsAreNotAdvised",
     openblas("Haswell"),
     {},
     {rung("as found", "Haswell", 0.60),
      wrong(rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.9))},
     kOptimal,
     1.0,
     "",
     {}},
    {"WithoutALadderANarrowCoreIsCertain",
     openblas("Prescott"),
     {},
     {},
     kUnoptimised,
     std::nullopt,
     "install a newer OpenBLAS, one that knows this CPU",
     {"openblas 0.3.21 chooses its Prescott core by itself", "128-bit kernels on a CPU with 512"}},
    {"WithoutALadderTheVariableIsBlamedForIt",
     openblas("Prescott"),
     {{"OPENBLAS_CORETYPE", "Prescott"}},
     {},
     kUnoptimised,
     std::nullopt,
     "unset OPENBLAS_CORETYPE",
     {"OPENBLAS_CORETYPE=Prescott is set in the environment: 128-bit kernels of the Prescott "
      "core"}},
    {"WithoutALadderTheReferenceIsCertain",
     with_installed(library(Provider::kReference, "")),
     {},
     {},
     kUnoptimised,
     std::nullopt,
     "sudo " + kSelect,
     {"programs get the reference BLAS: scalar code on a CPU with 512-bit vectors"}},
    {"WithoutALadderHaswellIsNot",
     openblas("Haswell"),
     {},
     {},
     kInconclusive,
     std::nullopt,
     "",
     {}},
    {"WithoutALadderSkylakeXIsNot",
     openblas("SkylakeX"),
     {},
     {},
     kInconclusive,
     std::nullopt,
     "",
     {}},
    {"WithoutALadderAnUnheardCoreIsNot",
     openblas("Unheard"),
     {},
     {},
     kInconclusive,
     std::nullopt,
     "",
     {}},
    {"NarrowCoreIsNoLossOnANarrowCpu",
     of_isa(openblas("Prescott"), {}),
     {},
     {},
     kInconclusive,
     std::nullopt,
     "",
     {}},
    {"FailedMeasureIsInconclusiveWithItsReason",
     openblas("SkylakeX"),
     {},
     {rung("auto", "Haswell", 0.5),
      failed(rung("as found", "SkylakeX", 1), "crashed: signal 4 (Illegal instruction)")},
     kInconclusive,
     std::nullopt,
     "",
     {"", "crashed: signal 4"}},
};

// A variable of another library makes no second rung of the same kernels.
TEST(Judge, AVariableThatTheLibraryDoesNotReadIsNoCause) {
  Evidence evidence = library(Provider::kReference, "");
  evidence.environment = {{"NVPL_BLAS_DEBUG_CPU_TYPE", "1"}};
  const Verdict verdict =
      judge(evidence, {rung("auto", "", 0.06, Provider::kReference, kReference),
                       rung("as found", "", 0.04, Provider::kReference, kReference)});
  EXPECT_EQ(verdict.verdict, kUnoptimised);
  EXPECT_THAT(verdict.why, HasSubstr("nothing measured here is faster"));
  EXPECT_EQ(verdict.fix, kInstall);
}

class JudgeTable : public testing::TestWithParam<JudgeCase> {};

TEST_P(JudgeTable, SaysVerdictFactorCauseAndFix) {
  const JudgeCase& of = GetParam();
  Evidence evidence = of.evidence;
  evidence.environment = of.environment;
  const Verdict verdict = judge(evidence, of.ladder);
  EXPECT_EQ(to_text(verdict.verdict), to_text(of.verdict));
  ASSERT_EQ(verdict.factor.has_value(), of.factor.has_value());
  if (of.factor) {
    EXPECT_NEAR(*verdict.factor, *of.factor, 1e-9);
  }
  EXPECT_EQ(verdict.fix, of.fix);
  for (std::size_t i = 0; i < of.why.size(); ++i) {
    if (i == 0) {
      EXPECT_THAT(verdict.why, StartsWith(of.why[0]));
    }
    EXPECT_THAT(verdict.why, HasSubstr(of.why[i]));
  }
}

INSTANTIATE_TEST_SUITE_P(Judge, JudgeTable, testing::ValuesIn(kJudgeCases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(Judge, InstalledOpenBlasIsNoFixWhereItIsSingleThreadedToo) {
  Evidence evidence = single_threaded(openblas("SkylakeX"), 4);
  InstalledBlas serial = installed_openblas();
  serial.path = "/usr/lib/openblas-serial/libblas.so.3";
  serial.threaded = false;
  evidence.installed = {serial};
  EXPECT_EQ(judge(evidence, {rung("as found", "SkylakeX", 0.90)}).fix, kInstall);
}

TEST(Judge, ThresholdsAreThoseOfTheTable) {
  const Evidence evidence = of_isa(openblas("Zen"), kAvx2Only);
  const std::vector<LadderRung> ladder = {
      within(rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.90), 0.89, 0.91),
      within(rung("as found", "Zen", 0.60), 0.59, 0.61)};
  EXPECT_EQ(judge(evidence, ladder).verdict, kSuboptimal);
  EXPECT_EQ(judge(evidence, ladder, {.optimal_factor = 1.6}).verdict, kOptimal);
  EXPECT_EQ(judge(evidence, ladder, {.suboptimal_factor = 1.4}).verdict, kUnoptimised);
}

struct Program {
  report::BlasEvidence evidence;
  std::vector<LadderRung> ladder;
  std::vector<std::string> isa = {"avx", "avx2", "fma", "avx512f"};

  [[nodiscard]] report::RunBlas judged() const {
    return judge_run({.evidence = evidence, .ladder = ladder, .cpu = {.isa = isa}});
  }
};

void load(Program& of, const std::string& path, Provider provider, bool serves = true) {
  of.evidence.loaded.push_back({path, path == kProgram ? "" : "x.so", "", provider, serves, false});
}

void select(Program& of, const std::string& core) {
  report::ChosenCore& chosen = of.evidence.chosen_cores.emplace_back();
  chosen.provider = Provider::kOpenBlas;
  chosen.path = kKernels;
  chosen.version = "0.3.21";
  chosen.core = core;
  chosen.vector_class = vector_class_of(Provider::kOpenBlas, core);
  chosen.threads = 2;
  chosen.how = "gotoblas pointer";
}

// So many of two programs.
void watch(Program& of, std::uint64_t executions) {
  of.evidence.called.how = "uprobe";
  of.evidence.called.executions = 2;
  of.evidence.called.executions_watched = executions;
}

void call(Program& of, const std::string& library, std::uint64_t count, double flops = 0) {
  of.evidence.called.how = "uprobe";
  report::CallSite site;
  site.symbol = "sgemm_";
  site.library = library;
  site.caller = kTorch;
  site.count = count;
  if (flops > 0) site.flops = flops;
  of.evidence.called.calls.push_back(site);
}

void execute(Program& of, const std::string& library, double fraction,
             const std::string& width = "", bool fma = true) {
  report::Executed& executed = of.evidence.executed;
  executed.samples = 1000;
  executed.frequency_hz = 997;
  executed.by_library.push_back(
      {library, "", static_cast<std::uint64_t>(1000 * fraction), fraction});
  if (width.empty()) return;
  executed.loops.push_back({.library = library,
                            .provider = {},
                            .symbol = {},
                            .width = width,
                            .fma = fma,
                            .samples = static_cast<std::uint64_t>(1000 * fraction),
                            .fraction = fraction,
                            .threads = 2});
}

Program program(const std::string& core, const std::string& width) {
  Program of;
  load(of, kOpenBlas, Provider::kOpenBlas);
  load(of, kKernels, Provider::kOpenBlas);
  select(of, core);
  call(of, kOpenBlas, 100, 2e11);
  execute(of, kKernels, 0.9, width);
  return of;
}

TEST(RunVerdict, IsOptimalWhereNothingIsFaster) {
  Program of = program("SkylakeX", "512");
  of.ladder = {rung("as found", "SkylakeX", 0.9),
               rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.47)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kOptimal);
  EXPECT_EQ(result.provider, Provider::kOpenBlas);
  EXPECT_EQ(result.core, "SkylakeX");
  EXPECT_EQ(result.version, "0.3.21");
  EXPECT_EQ(result.threads, 2);
  EXPECT_EQ(result.fix, "");
  EXPECT_THAT(result.findings,
              ElementsAre("100 calls of sgemm_ from libtorch_cpu, served by libopenblas SkylakeX "
                          "kernels (512-bit FMA) on 2 threads."));
}

TEST(RunVerdict, NamesCauseFactorAndFixOfACoreTypeThatTheEnvironmentForced) {
  Program of = program("Haswell", "256");
  of.evidence.declared.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  of.ladder = {rung("auto", "Cooperlake", 0.893), rung("as found", "Haswell", 0.47)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kSuboptimal);
  EXPECT_NEAR(result.factor.value_or(0), 1.9, 0.01);
  EXPECT_EQ(result.fix, "unset OPENBLAS_CORETYPE");
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings.front(),
            "100 calls of sgemm_ from libtorch_cpu, served by libopenblas Haswell kernels (256-bit "
            "FMA) on 2 threads; this CPU's 512-bit kernels are 1.9 times faster; "
            "OPENBLAS_CORETYPE=Haswell is set in the environment: unset it.");
}

// `env OPENBLAS_CORETYPE=Prescott program`: hwprof's own environment, and its ladder's, is clean.
TEST(RunVerdict, JudgesTheCoreOfTheProgramAndNotThatOfHwprof) {
  Program of = program("Prescott", "128");
  of.ladder = {rung("as found", "SkylakeX", 0.9),
               rung("OPENBLAS_CORETYPE=Prescott", "Prescott", 0.17)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_NEAR(result.factor.value_or(0), 5.3, 0.1);
}

TEST(RunVerdict, TakesTheFasterOfTwoCoresForFastWhateverItsWidth) {
  Program of = program("Haswell", "256");
  of.ladder = {rung("as found", "Haswell", 0.95),
               rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.94)};
  EXPECT_EQ(of.judged().verdict, kOptimal);
}

TEST(RunVerdict, NamesTheVariableThatARunningProcessWasStartedWith) {
  Program of = program("Nehalem", "128");
  of.evidence.declared.environment = {{"OPENBLAS_CORETYPE", "Nehalem"}};
  const auto result = judge_run(
      {.evidence = of.evidence, .ladder = of.ladder, .cpu = {.isa = of.isa}, .attached = true});
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_THAT(result.why, StartsWith("OPENBLAS_CORETYPE=Nehalem is set in the environment"));
  EXPECT_EQ(result.fix, "restart the process after: unset OPENBLAS_CORETYPE");
}

TEST(RunVerdict, WithoutALadderTheWidthDecides) {
  const auto verdict = [](const std::string& core, const std::string& width) {
    return program(core, width).judged().verdict;
  };
  EXPECT_EQ(verdict("SkylakeX", "512"), kInconclusive);
  EXPECT_EQ(verdict("Haswell", "256"), kSuboptimal);
  EXPECT_EQ(verdict("Sandybridge", "256"), kSuboptimal);
  EXPECT_EQ(verdict("Prescott", "128"), kUnoptimised);
  // No symbols, no core: what executed is all there is.
  EXPECT_EQ(verdict("", "512"), kInconclusive);
  EXPECT_EQ(verdict("", "scalar"), kUnoptimised);
  EXPECT_EQ(verdict("", "unclassified"), kInconclusive);
  Program narrow_cpu = program("Haswell", "256");
  narrow_cpu.isa = {"avx", "avx2", "fma"};
  EXPECT_EQ(narrow_cpu.judged().verdict, kInconclusive);
  EXPECT_THAT(narrow_cpu.judged().why, StartsWith("widest kernels, speed unknown"));
  EXPECT_EQ(narrow_cpu.judged().factor, std::nullopt);
}

constexpr const char* kUnheardOf = "/usr/lib/libgslcblas.so.0.0.0";

// 100 calls of `symbol`, served by a library that no table has.
Program of_unheard(const std::string& symbol, const std::string& width) {
  Program of;
  load(of, kUnheardOf, Provider::kUnknown);
  call(of, kUnheardOf, 100, 5e9);
  of.evidence.called.calls.front().symbol = symbol;
  execute(of, kUnheardOf, 0.99, width, width != "scalar");
  of.evidence.achieved_rate.peak_fraction = 0.024;
  return of;
}

LadderRung calls_alone(double fraction) {
  LadderRung made = rung("as found", "", 0, Provider::kUnknown, kUnheardOf);
  made.peak_fraction = made.gflops = std::nullopt;
  made.calls_fraction = fraction;
  return made;
}

TEST(RunVerdict, OfALibraryThatNobodyKnowsRestsOnWhatExecuted) {
  const auto result = of_unheard("cblas_dgemm", "scalar").judged();
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_EQ(result.path, kUnheardOf);
  EXPECT_THAT(result.why, StartsWith("libgslcblas did the work: scalar code on a CPU with"));
  EXPECT_EQ(result.fix, std::string(kInstall) +
                            "; then start the program with LD_PRELOAD=libopenblas.so.0, or link "
                            "the program with -lopenblas in place of libgslcblas");
  EXPECT_THAT(
      result.findings.front(),
      StartsWith("100 calls of cblas_dgemm from libtorch_cpu, served by libgslcblas (scalar "
                 "code) on 2 threads at 2.4 % of the FMA peak"));
}

// What its loader, if it has one, is told to load, and what the system selects, changes nothing.
TEST(RunVerdict, OfAProgramWithABlasInItselfIsToBeLinkedAnew) {
  for (const Provider provider : {Provider::kUnknown, Provider::kReference}) {
    Program of;
    load(of, kProgram, provider);
    call(of, kProgram, 100, 5e9);
    execute(of, kProgram, 0.99, "scalar", false);
    of.evidence.achieved_rate.peak_fraction = 0.024;
    const auto result = of.judged();
    EXPECT_EQ(result.path, kProgram);
    EXPECT_THAT(result.fix, HasSubstr("link static anew, with "));
    EXPECT_THAT(result.fix, Not(AnyOf(HasSubstr("LD_PRELOAD"), HasSubstr("update-alternatives"),
                                      HasSubstr("LD_LIBRARY_PATH"))));
  }
}

TEST(RunVerdict, OfALibraryWithoutSgemmRestsOnItsCallsMadeAgain) {
  Program of = of_unheard("dgemm_", "scalar");
  LadderRung best = rung("auto", "SkylakeX", 0.9);
  best.calls_fraction = 0.6;
  of.ladder = {best, calls_alone(0.02)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_NEAR(result.factor.value_or(0), 30, 1e-9);
  EXPECT_EQ(result.factor_of, report::FactorOf::kCalls);
  EXPECT_THAT(result.why, StartsWith("the program calls libgslcblas: its calls run on scalar code "
                                     "at 0.020 of the FMA peak; SkylakeX (512-bit) of "));
  EXPECT_EQ(result.fix, std::string("start the program with LD_PRELOAD=") + kOpenBlas +
                            ", or link the program with " + kOpenBlas + " in place of libgslcblas");

  // Names that no other library has cannot be served by a preloaded one.
  of.evidence.called.calls.front().symbol = "scipy_cblas_sgemm64_";
  EXPECT_EQ(of.judged().fix,
            std::string("link the program with ") + kOpenBlas + " in place of libgslcblas");

  // Alone on its ladder, and disturbed beside another slow one: its scalar loops say enough.
  of.ladder = {calls_alone(0.02)};
  EXPECT_EQ(of.judged().verdict, kUnoptimised);
  LadderRung slow = rung("auto", "", 0.03, Provider::kReference, kReference);
  slow.calls_fraction = 0.025;
  slow.calls_fraction_low = 0.015;
  slow.calls_fraction_high = 0.04;
  of.ladder = {slow, calls_alone(0.02)};
  EXPECT_EQ(of.judged().verdict, kUnoptimised);
}

TEST(RunVerdict, AdvisesOnlyWhatTheRunHadNot) {
  Program of = of_unheard("dgemm_", "512");
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_EQ(of.judged().fix, "") << "it had a ladder, and samples";
  const auto without_ladder = [&] {
    return judge_run({.evidence = of.evidence,
                      .ladder = of.ladder,
                      .cpu = {.isa = of.isa},
                      .no_ladder = true})
        .fix;
  };
  EXPECT_EQ(without_ladder(), "run without --no-ladder");
  of.evidence.executed.samples = 10;
  EXPECT_EQ(without_ladder(), "run without --no-ladder; run it for longer");
}

TEST(RunVerdict, CallsNearThePeakAreOptimalWithoutALadder) {
  Program of = program("SkylakeX", "512");
  of.evidence.achieved_rate.peak_fraction = 0.71;
  EXPECT_EQ(of.judged().verdict, kOptimal);
  of.evidence.achieved_rate.peak_fraction = 0.3;
  EXPECT_EQ(of.judged().verdict, kInconclusive);
}

TEST(RunVerdict, CallsOfATinyProductAreBoundByTheirOverhead) {
  Program of = program("SkylakeX", "512");
  of.ladder = {rung("as found", "SkylakeX", 0.9)};
  of.evidence.called.calls.front().flops = 100.0 * 2 * 4 * 4 * 4;
  EXPECT_EQ(of.judged().verdict, kOverheadBound);
  EXPECT_THAT(of.judged().why, StartsWith("a call has 128 FLOP on average"));
  of.evidence.called.calls.front().flops = 100.0 * 2 * 64 * 64 * 64;
  EXPECT_EQ(of.judged().verdict, kOptimal);
}

LadderRung with_calls(LadderRung rung, double fraction) {
  rung.calls_fraction = fraction;
  return rung;
}

// sgemv waits for memory: a square product would say 18 times.
TEST(RunVerdict, FactorIsThatOfTheProgramsOwnCalls) {
  Program of;
  load(of, kReference, Provider::kReference);
  call(of, kReference, 100, 2e9);
  execute(of, kReference, 0.5, "scalar", false);
  of.ladder = {with_calls(rung("as found", "", 0.05, Provider::kReference, kReference), 0.02),
               with_calls(rung("auto", "SkylakeX", 0.9), 0.04)};
  auto result = of.judged();
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_EQ(result.factor, 2);
  EXPECT_EQ(result.factor_of, report::FactorOf::kCalls);
  EXPECT_EQ(result.fastest, "SkylakeX (512-bit) of libopenblas");
  EXPECT_EQ(result.blas_share, 0.5);
  EXPECT_EQ(result.blas_share_of, "CPU time");
  EXPECT_NEAR(result.program_factor.value_or(0), 1 / (0.5 + 0.5 / 2), 1e-9);
  EXPECT_THAT(result.why, HasSubstr("its calls run on scalar code at 0.020 of the FMA peak"));
  EXPECT_THAT(result.why, HasSubstr("is 2.0 times faster with this program's calls"));

  // A fifth of its CPU time is that of watching.
  of.evidence.called.added_ns = 2e8;
  result = judge_run(
      {.evidence = of.evidence, .ladder = of.ladder, .cpu = {.isa = of.isa}, .cpu_ns = 1e9});
  EXPECT_DOUBLE_EQ(result.blas_share.value_or(0), 0.5 / 0.8);

  // Too few samples, but the time inside calls.
  of.evidence.executed.samples = 10;
  of.evidence.called.wall_ns = 1e9;
  result = judge_run(
      {.evidence = of.evidence, .ladder = of.ladder, .cpu = {.isa = of.isa}, .wall_ns = 20e9});
  EXPECT_EQ(result.blas_share_of, "wall time");
  EXPECT_NEAR(result.program_factor.value_or(0), 1 / (0.95 + 0.05 / 2), 1e-9);
  of.evidence.called.wall_ns = std::nullopt;
  result = of.judged();
  EXPECT_EQ(result.program_factor, std::nullopt);
  EXPECT_THAT(result.blas_share_of, StartsWith("not known"));

  // What could not make them again is not compared with.
  of.ladder[1].calls_fraction = std::nullopt;
  EXPECT_EQ(of.judged().fastest, "");
}

TEST(RunVerdict, OfASquareProductHasNoFactorForTheProgram) {
  Program of = program("Haswell", "256");
  of.ladder = {rung("auto", "SkylakeX", 0.9), rung("as found", "Haswell", 0.47)};
  const auto result = of.judged();
  EXPECT_EQ(result.factor_of, report::FactorOf::kSgemm);
  EXPECT_EQ(result.blas_share, 0.9);
  EXPECT_EQ(result.program_factor, std::nullopt);
}

// The widest kernels there are were measured, and these calls gain nothing by them.
TEST(RunVerdict, IsOptimalWhereItsCallsAllowNoMore) {
  Program of;
  load(of, kReference, Provider::kReference);
  call(of, kReference, 100, 2e9);
  execute(of, kReference, 0.5, "scalar", false);
  of.ladder = {with_calls(rung("as found", "", 0.05, Provider::kReference, kReference), 0.040),
               with_calls(rung("auto", "SkylakeX", 0.9), 0.041)};
  EXPECT_EQ(of.judged().verdict, kOptimal);
  of.ladder[1].peak_fraction = 0.4;  // nothing here is fast at anything
  EXPECT_EQ(of.judged().verdict, kUnoptimised);
}

// One thread on purpose is enough for small products.
TEST(RunVerdict, ThreadLimitMattersForLargeProductsOnly) {
  Program of = program("SkylakeX", "512");
  of.evidence.declared.environment = {{"OPENBLAS_NUM_THREADS", "1"}};
  of.evidence.chosen_cores.front().threads = 1;
  of.ladder = {rung("as found", "SkylakeX", 0.9)};
  const auto verdict = [&] {
    return judge_run(
               {.evidence = of.evidence, .ladder = of.ladder, .cpu = {.isa = of.isa}, .cpus = 2})
        .verdict;
  };
  EXPECT_EQ(verdict(), kSuboptimal);
  of.evidence.called.calls.front().flops = 100.0 * 2 * 64 * 64 * 64;
  EXPECT_EQ(verdict(), kOptimal);
}

TEST(RunVerdict, SaysReferenceWhereOpenBlasIsOnlyMapped) {
  Program of;
  load(of, kReference, Provider::kReference);
  load(of, kKernels, Provider::kOpenBlas);
  select(of, "Haswell");
  call(of, kReference, 100, 2e9);
  execute(of, kReference, 0.95, "scalar", false);
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kUnoptimised);
  EXPECT_EQ(result.provider, Provider::kReference);
  EXPECT_EQ(result.path, kReference);
  EXPECT_EQ(result.core, "");
  EXPECT_THAT(result.findings, Contains(HasSubstr("libopenblasp-r0.3.21 (openblas) is loaded too, "
                                                  "and did not do this work")));
}

// The same by either kind of evidence alone.
TEST(RunVerdict, NeedsOnlyTheCallsOrOnlyTheSamples) {
  Program calls;
  load(calls, kReference, Provider::kReference);
  load(calls, kKernels, Provider::kOpenBlas);
  call(calls, kReference, 100);
  EXPECT_EQ(calls.judged().provider, Provider::kReference);

  Program samples;
  load(samples, kReference, Provider::kReference);
  load(samples, kKernels, Provider::kOpenBlas);
  execute(samples, kReference, 0.5, "scalar", false);
  EXPECT_EQ(samples.judged().provider, Provider::kReference);
  EXPECT_THAT(samples.judged().findings.front(),
              StartsWith("50 % of the time is in the reference"));
}

// FlexiBLAS and MKL hand their calls on: what executed is the backend.
TEST(RunVerdict, TheBackendIsWhatExecuted) {
  Program of = program("Haswell", "256");
  load(of, "/usr/lib/libflexiblas.so.3", report::provider_named("flexiblas"));
  of.evidence.called.calls.clear();
  call(of, "/usr/lib/libflexiblas.so.3", 100, 2e11);
  EXPECT_EQ(of.judged().provider, Provider::kOpenBlas);
}

TEST(RunVerdict, OneDnnIsAnotherLibrary) {
  Program of;
  load(of, kOpenBlas, Provider::kOpenBlas);
  load(of, "/usr/lib/libdnnl.so.2", Provider::kOneDnn, false);
  of.evidence.called.how = "audit";
  execute(of, "[generated code]", 0.51, "512");
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kOtherLibrary);
  EXPECT_EQ(result.provider, Provider::kOneDnn);
  EXPECT_EQ(result.findings.front(),
            "No BLAS call: 51 % of the time is oneDNN code generated at run time, 512-bit FMA.");
}

TEST(RunVerdict, SpeaksOfBothWhereAProgramUsesBoth) {
  Program of = program("SkylakeX", "512");
  load(of, "/usr/lib/libdnnl.so.2", Provider::kOneDnn, false);
  of.evidence.executed.by_library.clear();
  execute(of, "[generated code]", 0.51, "256");
  execute(of, kKernels, 0.4, "512");
  of.ladder = {rung("as found", "SkylakeX", 0.9)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kOptimal);
  EXPECT_THAT(result.findings,
              ElementsAre(StartsWith("100 calls of sgemm_ from libtorch_cpu, served by libopenblas "
                                     "SkylakeX kernels (512-bit FMA)"),
                          "51 % of the time is oneDNN code generated at run time, 256-bit FMA, and "
                          "no BLAS call."));
}

TEST(RunVerdict, AFewCallsBesideOneDnnDoNotMakeItABlasProgram) {
  Program of = program("SkylakeX", "");
  load(of, "/usr/lib/libdnnl.so.2", Provider::kOneDnn, false);
  of.evidence.executed.by_library = {{"[generated code]", "", 900, 0.9}};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kOtherLibrary);
  EXPECT_THAT(result.findings.front(), StartsWith("90 % of the time is oneDNN"));
}

TEST(RunVerdict, WeighsByTimeWhatTookIt) {
  Program of = program("SkylakeX", "512");
  load(of, "/usr/lib/libdnnl.so.2", Provider::kOneDnn, false);
  of.evidence.executed.by_library = {{"[generated code]", "", 310, 0.31}, {kKernels, "", 1, 0.001}};
  of.evidence.executed.waiting = {{"__sched_yield", "[kernel]", 270, 0.27},
                                  {"__sched_yield", "/lib/libc.so.6", 100, 0.1}};
  const auto shares = of.judged().time_shares;
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_EQ(shares[0].what, "BLAS");
  EXPECT_NEAR(shares[0].fraction, 0.001, 1e-12);
  EXPECT_EQ(shares[1].what, "oneDNN code generated at run time");
  EXPECT_EQ(shares[2].what, "waiting threads");
  EXPECT_NEAR(shares[2].fraction, 0.37, 1e-12);
  EXPECT_LT(shares[2].low, 0.37);
  EXPECT_GT(shares[2].high, 0.37);
  of.evidence.executed.samples = 99;
  EXPECT_THAT(of.judged().time_shares, IsEmpty()) << "too few samples";
}

TEST(RunVerdict, CallsOfAFewFlopAreNoWork) {
  Program of;
  load(of, kOpenBlas, Provider::kOpenBlas, true);
  call(of, kOpenBlas, 1, 4);
  watch(of, 2);
  auto result = of.judged();
  EXPECT_EQ(result.verdict, kNotCalled);
  EXPECT_THAT(result.findings, Contains(::testing::HasSubstr("too little to matter")));
  of.evidence.called.calls.front().flops = 2e6;
  EXPECT_EQ(of.judged().provider, Provider::kOpenBlas);
}

TEST(RunVerdict, ProductsOfEigenAreThoseOfTheProgram) {
  Program of;
  watch(of, 2);
  execute(of, "/home/user/solver", 0.99, "128");
  of.evidence.executed.loops.front().provider = Provider::kEigen;
  EXPECT_EQ(of.judged().verdict, kNotCalled);
}

TEST(RunVerdict, IsNotCalledWhereABlasIsOnlyLoaded) {
  Program of;
  load(of, kKernels, Provider::kOpenBlas);
  select(of, "Haswell");
  watch(of, 2);
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  // Threads that OpenBLAS starts wait actively for a while.
  execute(of, kKernels, 0.06);
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kNotCalled);
  EXPECT_EQ(result.provider, Provider::kNone);
  EXPECT_THAT(result.findings.front(), StartsWith("No BLAS call: 90 % of the time is python3.11"));
}

// Whoever takes the probe away, or calls it where no call can be seen, leaves samples.
TEST(RunVerdict, IsNotNotCalledWhereARoutineWasSampled) {
  Program of;
  load(of, kOpenBlas, Provider::kOpenBlas, true);
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  of.evidence.executed.by_symbol.push_back({"cblas_sgemm", kOpenBlas, 3, 0.03});
  watch(of, 2);
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_THAT(of.judged().why,
              ::testing::HasSubstr("no BLAS call was seen, but 3 samples lie in cblas_sgemm of"));
  of.evidence.executed.by_symbol.front().library = observe::kKernelCode;
  EXPECT_THAT(of.judged().why, EndsWith("3 samples lie in the kernel's work for cblas_sgemm"));
  of.evidence.executed.by_symbol.front().name = "main";
  EXPECT_EQ(of.judged().verdict, kNotCalled);
}

TEST(RunVerdict, CallsThatOnlyMoveNumbersAreNotSmallCalls) {
  Program of;
  load(of, kOpenBlas, Provider::kOpenBlas, true);
  call(of, kOpenBlas, 1, 2e6);
  call(of, kOpenBlas, 100'000);
  of.evidence.called.calls.back().flops = 0;
  execute(of, kOpenBlas, 0.9, "512");
  EXPECT_NE(of.judged().verdict, kOverheadBound);
}

TEST(RunVerdict, IsNotCalledOnlyWhereEveryProgramWasWatched) {
  Program of;
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  watch(of, 2);
  EXPECT_EQ(of.judged().verdict, kNotCalled);
  watch(of, 1);
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_EQ(of.judged().why,
            "no time was spent in a BLAS, but calls were watched whole in 1 of the 2 programs that "
            "ran");
  of.evidence.called.executions.reset();
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  watch(of, 2);
  of.evidence.called.lost = 3;
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  of.evidence.called = {};
  EXPECT_EQ(of.judged().why, "no time was spent in a BLAS, but calls were not watched");
}

TEST(RunVerdict, IsOpenWhereAProgramGoesOn) {
  Program of;
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  watch(of, 1);
  of.evidence.called.executions_going_on = 1;
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_THAT(of.judged().why,
              EndsWith("1 of the 2 programs that ran; 1 goes on after the command's end"));
  EXPECT_EQ(of.judged().fix, "let the command wait for what it starts");
  of.evidence.called.how = "audit";
  of.evidence.called.executions_going_on = 0;
  EXPECT_EQ(of.judged().fix, "run hwprof as root, with --calls-by uprobes");
}

TEST(RunVerdict, IsOpenWhereAFileThatNamesNothingMultipliesAndAdds) {
  Program of;
  watch(of, 2);
  execute(of, "/home/user/libsolver.so", 0.9, "256");
  EXPECT_EQ(of.judged().verdict, kNotCalled);
  of.evidence.executed.unnamed_products = {{"/home/user/libsolver.so", "", 870, 0.87}};
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_EQ(of.judged().why,
            "no BLAS call was seen, but 87 % of the time lies in loops of libsolver that multiply "
            "and add, and libsolver does not name their functions: a BLAS may be linked into it");
  of.evidence.executed.unnamed_products.front() = {"/home/user/libsolver.so", "", 10, 0.01};
  EXPECT_EQ(of.judged().verdict, kNotCalled) << "too little to matter";
}

// Calls within one file are bound by nobody; that no time was spent in them does not say that there
// were none.
TEST(RunVerdict, IsNotCalledOnlyWhereNoFileMayCallItself) {
  Program of;
  watch(of, 2);
  of.evidence.called.how = "audit";
  EXPECT_EQ(of.judged().verdict, kNotCalled);
  of.evidence.called.own_routines = {"/usr/lib/libsolver.so.1"};
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_EQ(of.judged().why,
            "no BLAS call was seen, but calls within libsolver are not seen by LD_AUDIT");
  EXPECT_EQ(of.judged().fix, "run hwprof as root, with --calls-by uprobes");
  load(of, kProgram, Provider::kUnknown);  // more samples would not tell
  EXPECT_THAT(of.judged().why, EndsWith("are not seen by LD_AUDIT"));
  of.evidence.executed.by_symbol.push_back({"sgemm_", "/usr/lib/libsolver.so.1", 1, 0.01});
  EXPECT_EQ(of.judged().why,
            "no BLAS call was seen, but 1 sample lies in sgemm_ of libsolver: calls within "
            "libsolver are not seen by LD_AUDIT");
  EXPECT_EQ(of.judged().fix, "run hwprof as root, with --calls-by uprobes");
  of.evidence.executed.by_symbol.clear();
  of.evidence.called.own_routines.push_back("/home/user/solver");
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  EXPECT_EQ(of.judged().verdict, kInconclusive);
  EXPECT_EQ(of.judged().why,
            "no time was spent in a BLAS, but calls within libsolver and 1 other file are not seen "
            "by LD_AUDIT");
}

TEST(RunVerdict, SeesAStaticLibraryByItsSamplesAlone) {
  Program of;
  load(of, kProgram, Provider::kOpenBlas);
  of.evidence.called.how = "uprobe";
  execute(of, kProgram, 0.97, "256");
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kSuboptimal);
  EXPECT_EQ(result.provider, Provider::kOpenBlas);
  EXPECT_EQ(result.path, kProgram);
  EXPECT_EQ(library_to_measure(of.evidence), "") << "a program cannot be loaded";
}

TEST(RunVerdict, IsInconclusiveOnTooLittle) {
  Program nothing;  // no calls watched, no samples
  load(nothing, kKernels, Provider::kOpenBlas);
  EXPECT_EQ(nothing.judged().verdict, kInconclusive);
  EXPECT_THAT(nothing.judged().findings, IsEmpty());

  Program few = program("Haswell", "256");
  few.evidence.called = {};
  few.evidence.executed.samples = 99;
  EXPECT_EQ(few.judged().verdict, kInconclusive);
  few.evidence.executed.samples = 100;
  EXPECT_EQ(few.judged().verdict, kSuboptimal);

  // Calls inside a program cannot be watched.
  Program inside;
  load(inside, kProgram, Provider::kOpenBlas);
  inside.evidence.called.how = "uprobe";
  EXPECT_EQ(inside.judged().verdict, kInconclusive);

  Program lossy;
  lossy.evidence.called.how = "uprobe";
  lossy.evidence.called.lost = 5;
  EXPECT_EQ(lossy.judged().verdict, kInconclusive);
}

TEST(RunVerdict, ThreadsThatTookTurnsAreSaid) {
  Program of = program("SkylakeX", "512");
  of.evidence.executed.loops.front().threads = 40;
  of.evidence.executed.loops.front().at_once = 1;
  EXPECT_THAT(of.judged().findings.front(), HasSubstr("on 40 threads (1.0 at once)"));
  of.evidence.executed.loops.front().at_once = 39.7;
  EXPECT_THAT(of.judged().findings.front(), HasSubstr("on 40 threads."));
}

TEST(RunVerdict, CallsSufficeWithoutSamples) {
  Program of = program("Haswell", "256");
  of.evidence.executed = {};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, kSuboptimal);
  EXPECT_THAT(result.findings.front(), HasSubstr("Haswell kernels (256-bit FMA) on 2 threads"));
}

TEST(RunVerdict, MeasuresTheLibraryThatServed) {
  EXPECT_EQ(library_to_measure(program("Haswell", "256").evidence), kOpenBlas);
  EXPECT_EQ(library_to_measure({}), "");
}

#endif

report::LibraryLoops on_two_threads(const std::string& library) {
  report::LibraryLoops loops;
  loops.library = library;
  loops.threads = 2;
  loops.at_once = 2;
  return loops;
}

TEST(AchievedRate, DividesFlopByTheTimeInsideTheCalls) {
  const std::vector<report::LoadedLibrary> loaded = {{kKernels, "", "", Provider::kOpenBlas, true}};
  report::Called called;
  called.how = "uprobe";
  report::CallSite site;
  site.symbol = "cblas_sgemm";
  site.flops = 2e9;
  site.time_ns = 1e7;
  called.calls = {site};
  report::Executed executed;
  executed.loops = {on_two_threads(kKernels)};
  auto result = achieved_rate(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 200);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
  // Double precision has half the peak.
  called.calls[0].symbol = "scipy_dgemm_64_";
  result = achieved_rate(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 200);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 1);
  EXPECT_EQ(achieved_rate(called, executed, loaded, std::nullopt).peak_fraction, std::nullopt);
}

TEST(AchievedRate, WithoutTimesTheSampledCpuTimeOfTheLibraryIsTaken) {
  report::Called called;
  called.how = "audit";
  report::CallSite site;
  site.symbol = "sgemm_";
  site.flops = 1e11;
  called.calls = {site};
  report::Executed executed;
  executed.frequency_hz = 1000;
  executed.by_library = {{kKernels, "", 2000, 0.8}, {"/usr/lib/libdnnl.so.2", "", 500, 0.2}};
  executed.loops = {on_two_threads("/usr/lib/libdnnl.so.2"), on_two_threads(kKernels)};
  executed.loops.front().threads = 1;
  const std::vector<report::LoadedLibrary> loaded = {
      {kKernels, "", "", Provider::kOpenBlas, true},
      {"/usr/lib/libdnnl.so.2", "", "", Provider::kOneDnn, false}};
  const auto result = achieved_rate(called, executed, loaded, 100);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 100);  // 1e11 FLOP in 2 s of CPU time on 2 threads
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
  executed.by_library.clear();
  EXPECT_EQ(achieved_rate(called, executed, loaded, 100).gflops, std::nullopt);
}

// A thread for each call: distinct ids are no work at once.
TEST(AchievedRate, HoldsThreadsOneAfterAnotherAgainstThePeakOfOneCore) {
  const std::vector<report::LoadedLibrary> loaded = {{kKernels, "", "", Provider::kOpenBlas, true}};
  report::Called called;
  called.how = "uprobe";
  report::CallSite site;
  site.symbol = "sgemm_";
  site.flops = 1e11;
  site.time_ns = 1e9;
  called.calls = {site};
  called.wall_ns = 1e9;
  report::Executed executed;
  executed.samples = 1000;
  executed.frequency_hz = 1000;
  executed.by_library = {{kKernels, "", 1000, 1}};
  executed.loops = {on_two_threads(kKernels)};
  executed.loops.front().threads = 40;
  executed.loops.front().at_once = 1;
  auto result = achieved_rate(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
  EXPECT_DOUBLE_EQ(result.cores.value_or(0), 1);

  // Four callers at once: the rate is over the wall time, the peak that of four cores.
  called.wall_ns = 0.25e9;
  result = achieved_rate(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 400);
  EXPECT_DOUBLE_EQ(result.cores.value_or(0), 4);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);

  // Without times: by what samples say of threads at once.
  called.calls[0].time_ns.reset();
  called.wall_ns.reset();
  result = achieved_rate(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 100);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
}

// Two routines of a library that had one thread, and one that is not timed.
report::BlasEvidence of_two_routines() {
  report::BlasEvidence evidence;
  evidence.loaded = {{kKernels, "", "", Provider::kOpenBlas, true}};
  report::ChosenCore core;
  core.path = kKernels;
  core.threads = 1;
  evidence.chosen_cores = {core};
  evidence.called.how = "uprobe";
  report::CallSite site;
  site.library = kKernels;
  site.symbol = "sgemm_";
  site.flops = 3e9;
  site.time_ns = 3e7;
  evidence.called.calls = {site, site, site};
  evidence.called.calls[1].symbol = "cblas_zgemm";
  evidence.called.calls[1].flops = 5e8;
  evidence.called.calls[1].time_ns = 1e7;
  evidence.called.calls[2].symbol = "saxpy_";
  evidence.called.calls[2].time_ns.reset();
  evidence.achieved_rate.core_peak_gflops = 200;
  return evidence;
}

TEST(CallRates, AreSharesOfTheTimeInCallsAndOfThePeakOfThePrecision) {
  report::BlasEvidence evidence = of_two_routines();
  add_call_rates(evidence, false);
  const report::CallSite& single = evidence.called.calls[0];
  const report::CallSite& twice = evidence.called.calls[1];
  const report::CallSite& untimed = evidence.called.calls[2];
  EXPECT_DOUBLE_EQ(single.time_share.value_or(0), 0.75);
  EXPECT_DOUBLE_EQ(single.peak_fraction.value_or(0), 0.5);  // 100 of 200 GFLOP/s
  EXPECT_DOUBLE_EQ(twice.time_share.value_or(0), 0.25);
  EXPECT_DOUBLE_EQ(twice.peak_fraction.value_or(0), 0.5);  // 50 of 100
  EXPECT_EQ(untimed.time_share, std::nullopt);
  EXPECT_EQ(untimed.time_share_reason, "these calls are not timed");
  EXPECT_EQ(untimed.peak_fraction_reason, "these calls are not timed");
}

TEST(CallRates, OfCallsThatOnlyMoveNumbersAreAbsent) {
  report::BlasEvidence evidence = of_two_routines();
  report::CallSite& copy = evidence.called.calls[0];
  copy.symbol = "dcopy_";
  copy.flops = 0;
  add_call_rates(evidence, true);
  EXPECT_EQ(gflops_of(copy), std::nullopt);
  EXPECT_EQ(copy.peak_fraction, std::nullopt);
  EXPECT_EQ(copy.peak_fraction_reason, "these calls compute nothing");
}

// The peak is of one core.
TEST(CallRates, OfThreadsThatNobodyCountedHaveNoFractionOfThePeak) {
  report::BlasEvidence evidence = of_two_routines();
  evidence.chosen_cores[0].threads = 4;
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[0].peak_fraction, std::nullopt);
  EXPECT_THAT(evidence.called.calls[0].peak_fraction_reason, HasSubstr("had 4 threads"));
  EXPECT_TRUE(evidence.called.calls[0].time_share);
  // They had one CPU between them.
  add_call_rates(evidence, true);
  EXPECT_DOUBLE_EQ(evidence.called.calls[0].peak_fraction.value_or(0), 0.5);
  EXPECT_EQ(evidence.called.calls[0].peak_fraction_reason, "");
  evidence.chosen_cores.clear();
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[0].peak_fraction, std::nullopt);
  // The reference BLAS never has more.
  evidence.loaded[0].provider = Provider::kReference;
  add_call_rates(evidence, false);
  EXPECT_DOUBLE_EQ(evidence.called.calls[0].peak_fraction.value_or(0), 0.5);
}

// Where one routine took all the time, samples tell how many cores worked in it.
TEST(CallRates, OfTheOneRoutineThatWasTimedAreThoseOfAll) {
  report::BlasEvidence evidence = of_two_routines();
  evidence.chosen_cores[0].threads = 4;
  evidence.called.calls.resize(1);
  evidence.achieved_rate.peak_fraction = 0.3;
  evidence.executed.loops = {on_two_threads(kKernels)};
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[0].peak_fraction, std::nullopt) << "too few samples";
  evidence.executed.by_library = {{kKernels, "", 1000, 1}};
  add_call_rates(evidence, false);
  EXPECT_DOUBLE_EQ(evidence.called.calls[0].peak_fraction.value_or(0), 0.3);
}

TEST(CallRates, AreNotSaidWhereTheyWouldBeWrong) {
  report::BlasEvidence evidence = of_two_routines();
  evidence.called.calls[0].symbol = "sbgemm_";  // bfloat16 has another peak
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[0].peak_fraction, std::nullopt);
  EXPECT_THAT(evidence.called.calls[0].peak_fraction_reason, HasSubstr("precision"));
  evidence.achieved_rate.core_peak_gflops.reset();
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[1].peak_fraction_reason, "no peak was measured");
  evidence.called.lost = 3;
  add_call_rates(evidence, false);
  EXPECT_EQ(evidence.called.calls[1].time_share, std::nullopt);
  EXPECT_EQ(evidence.called.calls[1].time_share_reason, "3 records of calls were lost");
}

TEST(AchievedRate, IsNotSaidWhereMuchOfTheTimeHasNoFlop) {
  report::Called called;
  called.how = "uprobe";
  report::CallSite product, batch;
  product.symbol = "sgemm_";
  product.flops = 1e9;
  product.time_ns = 9.5e6;
  batch.symbol = "sgemm_batch_";
  batch.time_ns = 0.5e6;
  called.calls = {product, batch};
  auto result = achieved_rate(called, {}, {}, 200);
  EXPECT_DOUBLE_EQ(result.served_share.value_or(0), 0.95);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 1e9 / 9.5e6);
  called.calls[1].time_ns = 9.5e6;
  result = achieved_rate(called, {}, {}, 200);
  EXPECT_EQ(result.gflops, std::nullopt);
  EXPECT_DOUBLE_EQ(result.served_share.value_or(0), 0.5);
  EXPECT_EQ(result.reason, "only 50 % of the time in the BLAS is in calls of known FLOP");
  called.calls[1].time_ns.reset();
  result = achieved_rate(called, {}, {}, 200);
  EXPECT_EQ(result.gflops, std::nullopt);
  EXPECT_THAT(result.reason, HasSubstr("sgemm_batch_"));
}

TEST(AchievedRate, IsWithheldWhereRecordsWereLost) {
  report::Called called;
  called.how = "uprobe";
  report::CallSite& product = called.calls.emplace_back();
  product.symbol = "sgemm_";
  product.flops = 1e9;
  product.time_ns = 1e7;
  EXPECT_TRUE(achieved_rate(called, {}, {}, 200).gflops);
  called.lost = 7;
  const auto result = achieved_rate(called, {}, {}, 200);
  EXPECT_EQ(result.gflops, std::nullopt);
  EXPECT_EQ(result.reason, "7 records of calls were lost");
}

TEST(SlowedByWatching, IsWhatWasAddedOverWhatWasNot) {
  report::Called called;
  EXPECT_EQ(slowed_by_watching(called, 1e9), std::nullopt) << "nothing was watched";
  called.added_ns = 1e8;
  EXPECT_NEAR(slowed_by_watching(called, 1.1e9).value_or(0), 0.1, 1e-9);
  EXPECT_EQ(slowed_by_watching(called, 1e10), std::nullopt) << "1 %";
  EXPECT_NEAR(slowed_by_watching(called, 5e7).value_or(0), 40, 1e-9) << "an estimate";
  EXPECT_EQ(slowed_by_watching(called, 0), std::nullopt);
}

TEST(AchievedRate, SaysWhyThereIsNone) {
  EXPECT_THAT(achieved_rate({}, {}, {}, 100).reason, HasSubstr("not watched"));
  report::Called called;
  called.how = "audit";
  EXPECT_EQ(achieved_rate(called, {}, {}, 100).reason, "no BLAS call");
}

}  // namespace
}  // namespace hwprof::blas
