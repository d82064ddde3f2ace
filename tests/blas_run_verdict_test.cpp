// Made-up evidence for every word of the verdict; libraries and numbers as they were met.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/evidence/performing.h"
#include "src/blas/judge/run_verdict.h"
#include "src/blas/providers/core_types.h"
#include "tests/made_rung.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr const char* kKernels = "/usr/lib/openblas-pthread/libopenblasp-r0.3.21.so";
constexpr const char* kReference = "/usr/lib/blas/libblas.so.3.11.0";
constexpr const char* kTorch = "/usr/lib/libtorch_cpu.so.1.13";
constexpr const char* kProgram = "/home/u/static";

#if defined(__x86_64__)

struct Case {
  report::BlasEvidence evidence;
  std::vector<LadderRung> ladder;
  std::vector<std::string> isa = {"avx", "avx2", "fma", "avx512f"};

  [[nodiscard]] report::RunBlas judged() const {
    return judge_run({.evidence = evidence, .ladder = ladder, .isa = isa, .cpus = 2});
  }
};

void load(Case& of, const std::string& path, const std::string& provider, bool serves = true) {
  of.evidence.loaded.push_back({path, path == kProgram ? "" : "x.so", "", provider, serves});
}

void select(Case& of, const std::string& core) {
  of.evidence.selected.push_back({"openblas", kKernels, "0.3.21", core,
                                  vector_class_of("openblas", core), 2, "gotoblas pointer", ""});
}

void call(Case& of, const std::string& library, std::uint64_t count, double flops = 0) {
  of.evidence.called.how = "uprobe";
  report::CallSite site;
  site.symbol = "sgemm_";
  site.library = library;
  site.caller = kTorch;
  site.count = count;
  if (flops > 0) site.flops = flops;
  of.evidence.called.calls.push_back(site);
}

void execute(Case& of, const std::string& library, double fraction, const std::string& width = "",
             bool fma = true) {
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

Case openblas(const std::string& core, const std::string& width) {
  Case of;
  load(of, kOpenBlas, "openblas");
  load(of, kKernels, "openblas");
  select(of, core);
  call(of, kOpenBlas, 100, 2e11);
  execute(of, kKernels, 0.9, width);
  return of;
}

TEST(RunVerdict, IsOptimalWhereNothingIsFaster) {
  Case of = openblas("SkylakeX", "512");
  of.ladder = {rung("as found", "SkylakeX", 0.9),
               rung("OPENBLAS_CORETYPE=Haswell", "Haswell", 0.47)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "optimal");
  EXPECT_EQ(result.provider, "openblas");
  EXPECT_EQ(result.core, "SkylakeX");
  EXPECT_EQ(result.version, "0.3.21");
  EXPECT_EQ(result.threads, 2);
  EXPECT_EQ(result.fix, "");
  EXPECT_THAT(result.findings,
              ElementsAre("100 calls of sgemm_ from libtorch_cpu, served by libopenblas SkylakeX "
                          "kernels (512-bit FMA) on 2 threads."));
}

TEST(RunVerdict, NamesCauseFactorAndFixOfACoreTypeThatTheEnvironmentForced) {
  Case of = openblas("Haswell", "256");
  of.evidence.declared.environment = {{"OPENBLAS_CORETYPE", "Haswell"}};
  of.ladder = {rung("auto", "Cooperlake", 0.893), rung("as found", "Haswell", 0.47)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "suboptimal");
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
  Case of = openblas("Prescott", "128");
  of.ladder = {rung("as found", "SkylakeX", 0.9),
               rung("OPENBLAS_CORETYPE=Prescott", "Prescott", 0.17)};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "unoptimised");
  EXPECT_NEAR(result.factor.value_or(0), 5.3, 0.1);
}

TEST(RunVerdict, TakesTheFasterOfTwoCoresForFastWhateverItsWidth) {
  Case of = openblas("Haswell", "256");
  of.ladder = {rung("as found", "Haswell", 0.95),
               rung("OPENBLAS_CORETYPE=SkylakeX", "SkylakeX", 0.94)};
  EXPECT_EQ(of.judged().verdict, "optimal");
}

TEST(RunVerdict, WithoutALadderTheWidthDecides) {
  const auto verdict = [](const std::string& core, const std::string& width) {
    return openblas(core, width).judged().verdict;
  };
  EXPECT_EQ(verdict("SkylakeX", "512"), "optimal");
  EXPECT_EQ(verdict("Haswell", "256"), "suboptimal");
  EXPECT_EQ(verdict("Sandybridge", "256"), "suboptimal");
  EXPECT_EQ(verdict("Prescott", "128"), "unoptimised");
  // No symbols, no core: what executed is all there is.
  EXPECT_EQ(verdict("", "512"), "optimal");
  EXPECT_EQ(verdict("", "scalar"), "unoptimised");
  EXPECT_EQ(verdict("", "unclassified"), "inconclusive");
  Case narrow_cpu = openblas("Haswell", "256");
  narrow_cpu.isa = {"avx", "avx2", "fma"};
  EXPECT_EQ(narrow_cpu.judged().verdict, "optimal");
  EXPECT_EQ(narrow_cpu.judged().factor, std::nullopt);
}

TEST(RunVerdict, SaysReferenceWhereOpenBlasIsOnlyMapped) {
  Case of;
  load(of, kReference, "reference");
  load(of, kKernels, "openblas");
  select(of, "Haswell");
  call(of, kReference, 100, 2e9);
  execute(of, kReference, 0.95, "scalar", false);
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "unoptimised");
  EXPECT_EQ(result.provider, "reference");
  EXPECT_EQ(result.path, kReference);
  EXPECT_EQ(result.core, "");
  EXPECT_THAT(result.findings, Contains(HasSubstr("libopenblasp-r0.3.21 (openblas) is loaded too, "
                                                  "and did not do this work")));
}

// The same by either kind of evidence alone.
TEST(RunVerdict, NeedsOnlyTheCallsOrOnlyTheSamples) {
  Case calls;
  load(calls, kReference, "reference");
  load(calls, kKernels, "openblas");
  call(calls, kReference, 100);
  EXPECT_EQ(calls.judged().provider, "reference");

  Case samples;
  load(samples, kReference, "reference");
  load(samples, kKernels, "openblas");
  execute(samples, kReference, 0.5, "scalar", false);
  EXPECT_EQ(samples.judged().provider, "reference");
  EXPECT_THAT(samples.judged().findings.front(),
              StartsWith("50 % of the time is in the reference"));
}

// FlexiBLAS and MKL hand their calls on: what executed is the backend.
TEST(RunVerdict, TheBackendIsWhatExecuted) {
  Case of = openblas("Haswell", "256");
  load(of, "/usr/lib/libflexiblas.so.3", "flexiblas");
  of.evidence.called.calls.clear();
  call(of, "/usr/lib/libflexiblas.so.3", 100, 2e11);
  EXPECT_EQ(of.judged().provider, "openblas");
}

TEST(RunVerdict, OneDnnIsAnotherLibrary) {
  Case of;
  load(of, kOpenBlas, "openblas");
  load(of, "/usr/lib/libdnnl.so.2", "onednn", false);
  of.evidence.called.how = "audit";
  execute(of, "[generated code]", 0.51, "512");
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "other-library");
  EXPECT_EQ(result.provider, "onednn");
  EXPECT_EQ(result.findings.front(),
            "No BLAS call: 51 % of the time is oneDNN code generated at run time, 512-bit FMA.");
}

TEST(RunVerdict, SpeaksOfBothWhereAProgramUsesBoth) {
  Case of = openblas("SkylakeX", "512");
  load(of, "/usr/lib/libdnnl.so.2", "onednn", false);
  of.evidence.executed.by_library.clear();
  execute(of, "[generated code]", 0.51, "256");
  execute(of, kKernels, 0.4, "512");
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "optimal");
  EXPECT_THAT(result.findings,
              ElementsAre(StartsWith("100 calls of sgemm_ from libtorch_cpu, served by libopenblas "
                                     "SkylakeX kernels (512-bit FMA)"),
                          "51 % of the time made no BLAS call: it is oneDNN code generated at run "
                          "time, 256-bit FMA."));
}

TEST(RunVerdict, AFewCallsBesideOneDnnDoNotMakeItABlasProgram) {
  Case of = openblas("SkylakeX", "");
  load(of, "/usr/lib/libdnnl.so.2", "onednn", false);
  of.evidence.executed.by_library = {{"[generated code]", "", 900, 0.9}};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "other-library");
  EXPECT_THAT(result.findings.front(),
              StartsWith("90 % of the time made no BLAS call: it is oneDNN"));
}

TEST(RunVerdict, CallsOfAFewFlopAreNoWork) {
  Case of;
  load(of, kOpenBlas, "openblas", true);
  call(of, kOpenBlas, 1, 4);
  auto result = of.judged();
  EXPECT_EQ(result.verdict, "not-called");
  EXPECT_THAT(result.findings, Contains(::testing::HasSubstr("too little to matter")));
  of.evidence.called.calls.front().flops = 2e6;
  EXPECT_EQ(of.judged().provider, "openblas");
}

TEST(RunVerdict, ProductsOfEigenAreThoseOfTheProgram) {
  Case of;
  of.evidence.called.how = "uprobe";
  execute(of, "/home/user/solver", 0.99, "128");
  of.evidence.executed.loops.front().provider = "eigen";
  EXPECT_EQ(of.judged().verdict, "not-called");
}

TEST(RunVerdict, IsNotCalledWhereABlasIsOnlyLoaded) {
  Case of;
  load(of, kKernels, "openblas");
  select(of, "Haswell");
  of.evidence.called.how = "uprobe";
  execute(of, "/usr/bin/python3.11", 0.9, "scalar", false);
  // Threads that OpenBLAS starts wait actively for a while.
  execute(of, kKernels, 0.06);
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "not-called");
  EXPECT_EQ(result.provider, std::nullopt);
  EXPECT_THAT(result.findings.front(), StartsWith("No BLAS call: 90 % of the time is python3.11"));
}

TEST(RunVerdict, SeesAStaticLibraryByItsSamplesAlone) {
  Case of;
  load(of, kProgram, "openblas");
  of.evidence.called.how = "uprobe";
  execute(of, kProgram, 0.97, "256");
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "suboptimal");
  EXPECT_EQ(result.provider, "openblas");
  EXPECT_EQ(result.path, kProgram);
  EXPECT_EQ(library_to_measure(of.evidence), "") << "a program cannot be loaded";
}

TEST(RunVerdict, IsInconclusiveOnTooLittle) {
  Case nothing;  // no calls watched, no samples
  load(nothing, kKernels, "openblas");
  EXPECT_EQ(nothing.judged().verdict, "inconclusive");
  EXPECT_THAT(nothing.judged().findings, IsEmpty());

  Case few = openblas("Haswell", "256");
  few.evidence.called = {};
  few.evidence.executed.samples = 99;
  EXPECT_EQ(few.judged().verdict, "inconclusive");
  few.evidence.executed.samples = 100;
  EXPECT_EQ(few.judged().verdict, "suboptimal");

  // Calls inside a program cannot be watched.
  Case inside;
  load(inside, kProgram, "openblas");
  inside.evidence.called.how = "uprobe";
  EXPECT_EQ(inside.judged().verdict, "inconclusive");

  Case lossy;
  lossy.evidence.called.how = "uprobe";
  lossy.evidence.called.lost = 5;
  EXPECT_EQ(lossy.judged().verdict, "inconclusive");
}

TEST(RunVerdict, CallsSufficeWithoutSamples) {
  Case of = openblas("Haswell", "256");
  of.evidence.executed = {};
  const auto result = of.judged();
  EXPECT_EQ(result.verdict, "suboptimal");
  EXPECT_THAT(result.findings.front(), HasSubstr("Haswell kernels (256-bit FMA) on 2 threads"));
}

TEST(RunVerdict, MeasuresTheLibraryThatServed) {
  EXPECT_EQ(library_to_measure(openblas("Haswell", "256").evidence), kOpenBlas);
  EXPECT_EQ(library_to_measure({}), "");
}

#endif

report::LibraryLoops on_two_threads(const std::string& library) {
  report::LibraryLoops loops;
  loops.library = library;
  loops.threads = 2;
  return loops;
}

TEST(Performing, DividesFlopByTheTimeInsideTheCalls) {
  const std::vector<report::LoadedLibrary> loaded = {{kKernels, "", "", "openblas", true}};
  report::Called called;
  called.how = "uprobe";
  report::CallSite site;
  site.symbol = "cblas_sgemm";
  site.flops = 2e9;
  site.time_ns = 1e7;
  called.calls = {site};
  report::Executed executed;
  executed.loops = {on_two_threads(kKernels)};
  auto result = performing(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 200);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
  // Double precision has half the peak.
  called.calls[0].symbol = "scipy_dgemm_64_";
  result = performing(called, executed, loaded, 200);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 200);
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 1);
  EXPECT_EQ(performing(called, executed, loaded, std::nullopt).peak_fraction, std::nullopt);
}

TEST(Performing, WithoutTimesTheSampledCpuTimeOfTheLibraryIsTaken) {
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
      {kKernels, "", "", "openblas", true}, {"/usr/lib/libdnnl.so.2", "", "", "onednn", false}};
  const auto result = performing(called, executed, loaded, 100);
  EXPECT_DOUBLE_EQ(result.gflops.value_or(0), 100);  // 1e11 FLOP in 2 s of CPU time on 2 threads
  EXPECT_DOUBLE_EQ(result.peak_fraction.value_or(0), 0.5);
  executed.by_library.clear();
  EXPECT_EQ(performing(called, executed, loaded, 100).gflops, std::nullopt);
}

TEST(Performing, SaysWhyThereIsNone) {
  EXPECT_THAT(performing({}, {}, {}, 100).reason, HasSubstr("not watched"));
  report::Called called;
  called.how = "audit";
  EXPECT_EQ(performing(called, {}, {}, 100).reason, "no BLAS call");
}

}  // namespace
}  // namespace hwprof::blas
