// What `hwprof node` makes of the bytes of /proc, and of what it found mapped: pure parts, and the
// process that reads for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "src/blas/evidence/process_blas.h"
#include "src/blas/evidence/process_readers.h"
#include "src/blas/judge/judge_loaded.h"
#include "src/commands/node/watch.h"
#include "src/observe/proc/process_list.h"
#include "tests/made_rung.h"
#include "tests/seen_process.h"

namespace hwprof {
namespace {

using blas::MappedBlas;
using blas::Provider;
using report::VerdictKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::string kStatus =
    "Name:\tx\nUid:\t1000\t1001\t1000\t1000\nGid:\t100\t100\t100\t100\nGroups:\t4 100 \n";
std::string stat_line(const char* name, char state, unsigned flags, int threads = 3) {
  return "42 (" + std::string(name) + ") " + state + " 1 42 42 0 -1 " + std::to_string(flags) +
         " 0 0 0 0 250 50 7 7 20 0 " + std::to_string(threads) + " 0 1000 1 1 1\n";
}

TEST(ProcessList, ANameMayHoldParenthesesAndBlanks) {
  const auto process = listed_process(42, stat_line("a) S 1 (b", 'S', 0), kStatus);
  ASSERT_TRUE(process);
  EXPECT_EQ(process->name, "a) S 1 (b");
  EXPECT_EQ(process->user, 1001u);  // effective
  EXPECT_EQ(process->starter.uid, 1000u);
  EXPECT_THAT(process->starter.groups, ElementsAre(4u, 100u));
  EXPECT_EQ(process->threads, 3u);
  EXPECT_EQ(process->start_ticks, 1000u);
  EXPECT_DOUBLE_EQ(process->cpu_s, 300.0 / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

TEST(ProcessList, WhatHasEndedAndThreadsOfTheKernelAreLeftOut) {
  EXPECT_FALSE(listed_process(42, stat_line("x", 'Z', 0, 1), kStatus));
  EXPECT_FALSE(listed_process(42, stat_line("x", 'S', 0x00200000), kStatus));
  EXPECT_FALSE(listed_process(42, "42 (x", kStatus));
  EXPECT_FALSE(listed_process(42, stat_line("x", 'S', 0), ""));
}

TEST(ProcessList, AProcessWhoseFirstThreadHasEndedIsOne) {
  const auto process = listed_process(42, stat_line("x", 'Z', 0), kStatus);
  ASSERT_TRUE(process);
  EXPECT_TRUE(process->main_ended);
  EXPECT_FALSE(listed_process(42, stat_line("x", 'S', 0), kStatus)->main_ended);
}

TEST(ProcessList, CpusUsedAreThoseOfItsLife) {
  ListedProcess process;
  process.start_ticks = static_cast<std::uint64_t>(100 * ::sysconf(_SC_CLK_TCK));
  process.cpu_s = 20;
  EXPECT_DOUBLE_EQ(cpus_used_in_life(process, 110).value_or(-1), 2);
  EXPECT_FALSE(cpus_used_in_life(process, 100.05)) << "too short to tell";
}

TEST(Jobs, SlurmNamesItsJobInTheCgroup) {
  const Job second =
      job_of_cgroup("0::/system.slice/slurmstepd.scope/job_123/step_0/user/task_0\n");
  EXPECT_EQ(second.name, "slurm 123.0");
  EXPECT_EQ(second.from, "cgroup");
  EXPECT_EQ(
      job_of_cgroup("4:memory:/slurm/uid_1000/job_7/step_batch\n1:name=systemd:/x.service\n").name,
      "slurm 7.batch");
  EXPECT_EQ(job_of_cgroup("0::/nodeA_slurmstepd.scope/job_9\n").name, "slurm 9");
}

TEST(Jobs, AnyFolderNamedLikeAJobIsNone) {
  EXPECT_EQ(job_of_cgroup("0::/user.slice/session-3.scope/job_12\n").name, "session-3.scope");
  EXPECT_EQ(job_of_cgroup("0::/slurm/job_x/job_\n").name, "");
  EXPECT_EQ(job_of_cgroup("0::/\n").name, "");
  EXPECT_EQ(job_of_cgroup("no cgroup").name, "");
}

TEST(Jobs, VariablesNameThoseOfOtherSchedulersToo) {
  EXPECT_EQ(job_of_variables({{"SLURM_STEP_ID", "2"}, {"SLURM_JOB_ID", "55"}}).name, "slurm 55.2");
  EXPECT_EQ(job_of_variables({{"PBS_JOBID", "9.head"}}).name, "pbs 9.head");
  EXPECT_EQ(job_of_variables({{"SLURM_STEP_ID", "2"}}).name, "");
}

TEST(Variables, OnlyTellingOnesAreTaken) {
  using namespace std::string_view_literals;
  EXPECT_THAT(blas::telling_variables("SECRET=1\0OMP_NUM_THREADS=4\0PBS_JOBID=7\0NOT\0"sv),
              ElementsAre(Pair("OMP_NUM_THREADS", "4"), Pair("PBS_JOBID", "7")));
}

MappedBlas mapped(Provider provider, const std::string& path, bool own, const char* core = "") {
  MappedBlas one{.chosen = {}, .serves_blas = true, .own_choice = own};
  one.chosen.provider = provider;
  one.chosen.path = path;
  one.chosen.core = core;
  return one;
}
std::vector<std::string> paths_of(const std::vector<MappedBlas>& all) {
  std::vector<std::string> paths;
  for (const MappedBlas& one : all) paths.push_back(one.chosen.path);
  return paths;
}

TEST(EachBlas, AFileThatHandsItsCallsOnIsNoSecondLibrary) {
  const auto all = blas::each_blas({mapped(Provider::kOpenBlas, "libblas.so.3", false),
                                    mapped(Provider::kOpenBlas, "libopenblas.so.0", true, "Zen")});
  EXPECT_THAT(paths_of(all), ElementsAre("libopenblas.so.0"));
}

TEST(EachBlas, TwoCopiesOfOneLibraryAreTwo) {
  const auto all =
      blas::each_blas({mapped(Provider::kOpenBlas, "libopenblas.so.0", true, "Zen"),
                       mapped(Provider::kOpenBlas, "libscipy_openblas64_.so", true, "Haswell"),
                       mapped(Provider::kReference, "libblas.so.3", false)});
  EXPECT_THAT(paths_of(all),
              ElementsAre("libopenblas.so.0", "libscipy_openblas64_.so", "libblas.so.3"));
}

TEST(EachBlas, ThePartsOfMklAreOneWithTheCoreOfTheOneThatHasIt) {
  MappedBlas kernels = mapped(Provider::kMkl, "libmkl_avx2.so.2", false, "avx2");
  kernels.serves_blas = false;
  const auto all = blas::each_blas({kernels, mapped(Provider::kMkl, "libmkl_rt.so.2", false),
                                    mapped(Provider::kMkl, "libmkl_gf_lp64.so.2", false),
                                    mapped(Provider::kOneDnn, "libdnnl.so", false)});
  ASSERT_THAT(paths_of(all), ElementsAre("libmkl_rt.so.2"));
  EXPECT_EQ(all[0].chosen.core, "avx2");
}

#if defined(__x86_64__)
report::Blas openblas(const char* core, blas::VectorClass vectors) {
  report::Blas library;
  library.provider = Provider::kOpenBlas;
  library.version = "0.3.21";
  library.core = core;
  library.vector_class = vectors;
  library.path = "/elsewhere/libopenblas.so.0";
  return library;
}
const blas::VisibleCpu kWideCpu{
    .isa = {"avx", "avx2", "fma", "avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"}};

TEST(JudgeLoaded, AForcedNarrowCoreIsUnoptimisedWithoutAnyMeasure) {
  const auto verdict =
      blas::judge_loaded({.cpu = kWideCpu}, openblas("Prescott", blas::VectorClass::kSse),
                         {{"OPENBLAS_CORETYPE", "Prescott"}});
  EXPECT_EQ(verdict.verdict, VerdictKind::kUnoptimised);
  EXPECT_EQ(verdict.fix, "restart the process after: unset OPENBLAS_CORETYPE");
}

TEST(JudgeLoaded, OfWideKernelsNothingIsSaidWithoutAMeasure) {
  const auto verdict =
      blas::judge_loaded({.cpu = kWideCpu}, openblas("SkylakeX", blas::VectorClass::kAvx512), {});
  EXPECT_EQ(verdict.verdict, VerdictKind::kInconclusive);
  EXPECT_EQ(verdict.fix, "run without --no-ladder");
}

TEST(JudgeLoaded, TheReferenceIsWhatTheProcessHasLoaded) {
  report::Blas library;
  library.provider = Provider::kReference;
  library.vector_class = blas::VectorClass::kScalar;
  const auto verdict = blas::judge_loaded({.cpu = kWideCpu}, library, {});
  EXPECT_EQ(verdict.verdict, VerdictKind::kUnoptimised);
  EXPECT_THAT(verdict.why, HasSubstr("the process has loaded the reference BLAS"));
}

report::LadderRung rung_of(const char* core, blas::VectorClass vectors, double fraction) {
  report::LadderRung rung;
  rung.provider = Provider::kOpenBlas;
  rung.version = "0.3.21";
  rung.library = "/usr/lib/libopenblas.so.0";
  rung.core = core;
  rung.setting = "auto";
  rung.vector_class = vectors;
  rung.peak_fraction = fraction;
  rung.peak_fraction_low = 0.99 * fraction;
  rung.peak_fraction_high = 1.01 * fraction;
  rung.gflops = 100 * fraction;
  return rung;
}

TEST(JudgeLoaded, TheMachinesLadderServesTheSameVersionAndNoOther) {
  blas::LoadedContext context{.cpu = kWideCpu};
  context.ladder = {rung_of("SkylakeX", blas::VectorClass::kAvx512, 0.9),
                    rung_of("Haswell", blas::VectorClass::kAvx2, 0.45)};
  context.ladder[0].as_found = true;
  report::Blas library = openblas("Haswell", blas::VectorClass::kAvx2);
  const auto slow = blas::judge_loaded(context, library, {});
  EXPECT_EQ(slow.verdict, VerdictKind::kSuboptimal) << slow.why;
  EXPECT_NEAR(slow.factor.value_or(0), 2, 0.01);
  EXPECT_EQ(
      blas::judge_loaded(context, openblas("SkylakeX", blas::VectorClass::kAvx512), {}).verdict,
      VerdictKind::kOptimal);
  library.version = "0.3.29";
  EXPECT_EQ(blas::judge_loaded(context, library, {}).verdict, VerdictKind::kInconclusive);
}
#endif

TEST(JudgeProcess, LibrariesThatDisagreeLeaveTheProcessOpen) {
  report::Verdict good, bad;
  good.provider = Provider::kOpenBlas;
  good.verdict = VerdictKind::kOptimal;
  bad.provider = Provider::kReference;
  bad.verdict = VerdictKind::kUnoptimised;
  EXPECT_EQ(blas::judge_process({good, good}).verdict, VerdictKind::kOptimal);
  const auto open = blas::judge_process({good, bad});
  EXPECT_EQ(open.verdict, VerdictKind::kInconclusive);
  EXPECT_THAT(open.why, HasSubstr("the reference BLAS unoptimised"));
}

TEST(ProcessReaders, SayOfEachProcessWhetherItCouldBeRead) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::pause());
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  std::vector<blas::LeftReader> left;
  const auto read =
      blas::read_processes({{own_account(), {seen(child), seen(gone)}}}, left,
                           {.patience = std::chrono::seconds(60), .all = std::chrono::seconds(60)});
  ASSERT_TRUE(read);
  ASSERT_EQ(read->at(0).size(), 2u);
  EXPECT_TRUE(read->at(0)[0].read) << read->at(0)[0].reason;
  EXPECT_FALSE(read->at(0)[1].read);
  EXPECT_EQ(read->at(0)[1].reason, "ended meanwhile, or became another program or another user's");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(WatchPages, APageIsCutToTheScreenAndSaysWhatIsMissing) {
  EXPECT_EQ(cut_to_rows("a\nb\nc\n", 3), "a\nb\nc");
  EXPECT_EQ(cut_to_rows("a\nb\nc\nd\n", 3), "a\nb\n... 2 more lines: a higher terminal shows them");
  EXPECT_EQ(cut_to_rows("", 3), "");
}

}  // namespace
}  // namespace hwprof
