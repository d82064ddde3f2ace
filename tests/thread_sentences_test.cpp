// Each sentence on threads: said where its evidence is enough, and silence below every threshold.
#include "src/measure/thread_sentences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/measure/thread_use.h"

namespace hwprof {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// Two threads of libgomp that wait a third of the time on two CPUs of their own.
ThreadEvidence spinning() {
  return {.pools = {{"libgomp", true, 2, 0.33, 0, 660, 0}},
          .accounted = 0.98,
          .run_ns = 2e9,
          .ready_ns = 0.01e9,
          .busy_threads = 2,
          .busy_processes = 1,
          .cpus = 2,
          .online = 2,
          .others_share = 0.01};
}

// Four threads that work on two CPUs.
ThreadEvidence crowded() {
  ThreadEvidence evidence = spinning();
  evidence.pools = {{"libgomp", true, 4, 0.01, 0, 20, 0}};
  evidence.busy_threads = 4;
  evidence.ready_ns = 1.9e9;
  return evidence;
}

ThreadEvidence held_by_quota() {
  ThreadEvidence evidence = crowded();
  evidence.busy_threads = 2;
  evidence.throttled_ns = 0.9e9;
  evidence.throttled_times = 9;
  evidence.quota_cpus = 1;
  return evidence;
}

std::vector<std::string> texts(const ThreadEvidence& evidence) {
  std::vector<std::string> all;
  for (const auto& sentence : thread_sentences(evidence)) all.push_back(sentence.text);
  return all;
}

std::string first_fix(const ThreadEvidence& evidence) {
  const auto sentences = thread_sentences(evidence);
  return sentences.empty() ? "nothing is said" : sentences.front().fix;
}

TEST(ThreadSentences, NameTheBarriersAtWhichTimeIsSpent) {
  const auto sentences = thread_sentences(spinning());
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].text, "33 % of the CPU time is spent spinning at libgomp's barriers");
  EXPECT_EQ(sentences[0].evidence,
            "660 samples lie in loops that only wait; 98 % of the CPU time accounted for");
  EXPECT_THAT(sentences[0].fix, HasSubstr("balance the work"));
}

TEST(ThreadSentences, TellUnbalancedWorkFromShortParts) {
  ThreadEvidence evidence = spinning();
  evidence.pools[0].workers = 2;
  evidence.pools[0].busiest_share = 0.8;
  auto sentences = thread_sentences(evidence);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].text,
            "33 % of the CPU time is spent spinning at libgomp's barriers: the work is unbalanced");
  EXPECT_THAT(sentences[0].evidence,
              HasSubstr("; the busiest of 2 threads did 80 % of the work outside them"));
  EXPECT_THAT(sentences[0].fix, HasSubstr("balance the work"));
  evidence.pools[0].busiest_share = 0.64;
  sentences = thread_sentences(evidence);
  EXPECT_THAT(sentences[0].text, Not(HasSubstr("unbalanced")));
  EXPECT_EQ(sentences[0].fix, "longer parts between the barriers, or fewer threads");
}

TEST(ThreadSentences, NameTheSizesOfCallsThatLeaveWorkersIdle) {
  ThreadEvidence evidence = spinning();
  evidence.pools = {{"OpenBLAS", true, 1, 0, 0.4, 0, 400}};
  evidence.blas_calls = {.calls = 4000, .mean_ns = 31e3, .most = "sgemm_ 192x192x192"};
  auto sentences = thread_sentences(evidence);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_THAT(
      sentences[0].evidence,
      HasSubstr("its 4000 calls took 31.0 µs in the mean, most of them sgemm_ 192x192x192"));
  evidence.pools[0].name = "libgomp";
  EXPECT_THAT(thread_sentences(evidence)[0].evidence, Not(HasSubstr("calls")));
}

TEST(ThreadSentences, AreNotMadeOfFewSamplesOrLittleTime) {
  ThreadEvidence evidence = spinning();
  evidence.pools[0].barrier_samples = 99;
  EXPECT_THAT(texts(evidence), IsEmpty());
  evidence = spinning();
  evidence.pools[0].barrier_share = 0.049;
  EXPECT_THAT(texts(evidence), IsEmpty());
  evidence = spinning();
  evidence.accounted = 0.89;
  EXPECT_THAT(texts(evidence), IsEmpty()) << "a tenth of the CPU time was not sampled";
  evidence.accounted.reset();
  EXPECT_THAT(texts(evidence), IsEmpty());
}

TEST(ThreadSentences, SayOfIdleWorkersThatTheyCostNoWallTime) {
  ThreadEvidence evidence = spinning();
  evidence.pools = {{"OpenBLAS", true, 1, 0, 0.4, 0, 400}};
  const auto sentences = thread_sentences(evidence);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_THAT(sentences[0].text,
              HasSubstr("40 % of the CPU time goes to idle workers of OpenBLAS"));
  EXPECT_THAT(sentences[0].text, HasSubstr("not wall time"));
  EXPECT_THAT(sentences[0].fix, HasSubstr("OPENBLAS_NUM_THREADS=1"));
  evidence.pools[0].idle_samples = 99;
  EXPECT_THAT(texts(evidence), IsEmpty());
}

TEST(ThreadSentences, CallManyThreadsOnFewCpusByTheirNumber) {
  EXPECT_THAT(texts(crowded()), ElementsAre("4 busy threads share 2 CPUs"));
  EXPECT_EQ(first_fix(crowded()), "OMP_NUM_THREADS=2");
  ThreadEvidence evidence = crowded();
  evidence.busy_threads = 8;
  evidence.busy_processes = 4;
  evidence.pools = {{"OpenBLAS", true, 4, 0, 0, 0, 0}};
  EXPECT_THAT(texts(evidence), ElementsAre("4 processes x 2 threads share 2 CPUs"));
  EXPECT_EQ(first_fix(evidence), "OPENBLAS_NUM_THREADS=1");
  evidence.busy_threads = 4;
  EXPECT_THAT(texts(evidence), ElementsAre("4 busy processes share 2 CPUs"));
}

TEST(ThreadSentences, AreSilentOnThreadsThatFitOrThatOthersHinder) {
  ThreadEvidence evidence = crowded();
  evidence.busy_threads = 2;
  EXPECT_THAT(texts(evidence), IsEmpty()) << "as many threads as CPUs";
  evidence = crowded();
  evidence.ready_ns = 0.09 / 0.91 * evidence.run_ns;
  EXPECT_THAT(texts(evidence), IsEmpty()) << "they hardly wait for a CPU";
  evidence = crowded();
  evidence.others_share = 0.06;
  EXPECT_THAT(texts(evidence), IsEmpty()) << "other programs take the CPUs";
  evidence.others_share.reset();
  EXPECT_THAT(texts(evidence), IsEmpty()) << "it is not known whether they do";
}

TEST(ThreadSentences, SetTheInnerPoolOfTwoToOneThread) {
  ThreadEvidence evidence = crowded();
  evidence.pools.push_back({"OpenBLAS", true, 1, 0, 0, 0, 0});
  EXPECT_EQ(first_fix(evidence), "OPENBLAS_NUM_THREADS=1");
  EXPECT_THAT(texts(evidence), ElementsAre("4 busy threads of libgomp and OpenBLAS share 2 CPUs"));
}

TEST(ThreadSentences, NameThePoolInsideAnotherWhereCallsShowIt) {
  ThreadEvidence evidence = crowded();
  evidence.pools.push_back({"MKL", true, 1, 0, 0, 0, 0});
  evidence.nested = {{"libgomp", "MKL", 40, 0.6}};
  const auto sentences = thread_sentences(evidence);
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].text,
            "4 busy threads of libgomp and MKL share 2 CPUs: MKL's pool lies inside libgomp's");
  EXPECT_THAT(sentences[0].evidence, HasSubstr("60 % of the time in MKL's calls of 20 us and more "
                                               "is in 40 calls by threads of libgomp"));
  EXPECT_EQ(sentences[0].fix, "MKL_NUM_THREADS=1");
  evidence.nested = {{"libgomp", "BLIS", 40, 0.6}};  // which has no threads that are busy
  EXPECT_THAT(texts(evidence), ElementsAre("4 busy threads of libgomp and MKL share 2 CPUs"));
}

TEST(ThreadSentences, LeaveAPoolThatSleepsAlone) {
  ThreadEvidence evidence = crowded();
  evidence.pools[0].wanted_ns = 3e9;
  evidence.pools.push_back({"OpenBLAS", true, 1, 0, 0, 0, 0, 0.2e9});
  EXPECT_EQ(first_fix(evidence), "OMP_NUM_THREADS=2");
  EXPECT_THAT(texts(evidence), ElementsAre("4 busy threads share 2 CPUs"));
  evidence.pools[1].wanted_ns = 0.4e9;
  EXPECT_EQ(first_fix(evidence), "OPENBLAS_NUM_THREADS=1");
}

TEST(ThreadSentences, TellPinnedThreadsFromTooMany) {
  ThreadEvidence evidence = crowded();
  evidence.busy_threads = 2;
  evidence.cpus = 1;
  EXPECT_THAT(texts(evidence), ElementsAre("2 busy threads are pinned to 1 of 2 CPUs"));
  EXPECT_EQ(first_fix(evidence), "OMP_NUM_THREADS=1");
  evidence.busy_threads = 1;
  EXPECT_THAT(texts(evidence), IsEmpty());
}

TEST(ThreadSentences, BlameTheQuotaThatThrottles) {
  const auto sentences = thread_sentences(held_by_quota());
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].text, "the quota of 1 CPU of the program's cgroup throttles it");
  EXPECT_THAT(sentences[0].evidence, HasSubstr("9 periods"));
  EXPECT_EQ(sentences[0].fix, "OMP_NUM_THREADS=1, or a larger quota");
  ThreadEvidence evidence = held_by_quota();
  evidence.throttled_times = 2;
  EXPECT_THAT(texts(evidence), IsEmpty());
  evidence = held_by_quota();
  evidence.throttled_ns = 0.04 * (evidence.run_ns + evidence.ready_ns);
  EXPECT_THAT(texts(evidence), IsEmpty());
  evidence.throttled_ns.reset();
  EXPECT_THAT(texts(evidence), IsEmpty()) << "it is not known";
}

TEST(ThreadSentences, BlameTheQuotaAndNotTheNumberOfThreads) {
  ThreadEvidence evidence = held_by_quota();
  evidence.busy_threads = 4;
  EXPECT_THAT(texts(evidence), Not(Contains(HasSubstr("share 2 CPUs"))));
}

TEST(ThreadSentences, AdviseThePassivePolicyToLibgompAlone) {
  ThreadEvidence evidence = spinning();
  evidence.others_share = 0.4;
  EXPECT_THAT(first_fix(evidence), HasSubstr("OMP_WAIT_POLICY=passive"));
  evidence.pools[0].name = "libomp";
  EXPECT_EQ(first_fix(evidence), "") << "there it is KMP_BLOCKTIME=0, which makes it slower";
  evidence.pools[0].name = "libgomp";
  evidence.busy_threads = 4;
  EXPECT_EQ(first_fix(evidence), "") << "more threads than CPUs";
}

TEST(ThreadSentences, NeverClaimAFactor) {
  for (const ThreadEvidence& evidence : {spinning(), crowded(), held_by_quota()}) {
    for (const auto& sentence : thread_sentences(evidence)) {
      EXPECT_THAT(sentence.text + sentence.fix, Not(HasSubstr("times faster")));
      EXPECT_THAT(sentence.text + sentence.fix, Not(HasSubstr("KMP_BLOCKTIME")));
    }
  }
}

TEST(ThreadSentences, NameTheVariablesThatCanBeTried) {
  EXPECT_THAT(changes_to_try(thread_sentences(crowded())), ElementsAre("OMP_NUM_THREADS=2"));
  EXPECT_THAT(changes_to_try(thread_sentences(held_by_quota())), ElementsAre("OMP_NUM_THREADS=1"));
  EXPECT_THAT(changes_to_try(thread_sentences(spinning())), IsEmpty()) << "schedule(dynamic)";
  const std::string idle = "OPENBLAS_NUM_THREADS=1 saves it where its calls are too small";
  EXPECT_THAT(changes_to_try({{"", "", idle}, {"", "", "OPENBLAS_NUM_THREADS=1"}, {"", "", ""}}),
              ElementsAre("OPENBLAS_NUM_THREADS=1"));
}

// --- From samples to shares.

observe::SampleProfile profile_of(std::vector<observe::ThreadSamples> threads, bool kernel = true) {
  observe::SampleProfile profile;
  profile.hz = 1000;
  profile.kernel = kernel;
  for (const auto& thread : threads) profile.samples += thread.samples;
  profile.threads = std::move(threads);
  return profile;
}

report::ThreadUse use_of(const observe::SampleProfile& profile, double cpu_s) {
  const observe::ThreadFacts facts;
  return thread_use(
      {.samples = profile, .no_samples = "", .facts = facts, .cpu_ns = 1e9 * cpu_s, .online = 2});
}

#if defined(__x86_64__)

constexpr const char* kOpenBlas = "/usr/lib/openblas-pthread/libblas.so.3";

TEST(ThreadUse, SharesAddUpToOne) {
  const auto use =
      use_of(profile_of({{1, "", 500, 300, {}},
                         {2, "/lib/libgomp.so.1", 300, 100, {{"/lib/libgomp.so.1", 150, 0, false}}},
                         {3, kOpenBlas, 200, 0, {{kOpenBlas, 200, 200, true}}}}),
             1);
  EXPECT_DOUBLE_EQ(use.arithmetic_share.value_or(-1), 0.4);
  EXPECT_DOUBLE_EQ(use.spin_share.value_or(-1), 0.15);
  EXPECT_DOUBLE_EQ(use.idle_worker_share.value_or(-1), 0.2);
  EXPECT_NEAR(use.other_share.value_or(-1), 0.25, 1e-12);
  EXPECT_DOUBLE_EQ(use.coverage.value_or(-1), 1);
  EXPECT_FALSE(use.estimated);
  ASSERT_EQ(use.pools.size(), 2U);
  EXPECT_EQ(use.pools[0].name, "OpenBLAS");
  EXPECT_EQ(use.pools[0].threads, 1);
  EXPECT_DOUBLE_EQ(use.pools[0].spin_share, 0.2);
  EXPECT_EQ(use.pools[1].name, "libgomp");
}

TEST(ThreadUse, HasTheStatesOfEachPool) {
  observe::ThreadFacts facts;
  facts.threads = {{10, 10, {3e9, 1e9, 0}},
                   {10, 11, {1e9, 2e9, 0.5e9}},
                   {10, 12, {1e9, 0, 0}},
                   {10, 13, {0, 0, 4e9}},
                   {20, 20, {2e9, 0, 1e9}}};
  const auto profile = profile_of({{10, "", 300, 300, {{"/lib/libgomp.so.1", 100, 0, false}}},
                                   {11, "/lib/libgomp.so.1", 100, 50, {}},
                                   {12, "/lib/libgomp.so.1", 100, 50, {}}});
  const auto use = thread_use(
      {.samples = profile, .no_samples = "", .facts = facts, .cpu_ns = 5e8, .online = 2});
  EXPECT_EQ(use.run_ns, 7e9);
  ASSERT_EQ(use.pools.size(), 3U);
  EXPECT_EQ(use.pools[0].name, "libgomp");
  EXPECT_EQ(use.pools[0].threads, 3) << "two that it started, and one that waited in it";
  EXPECT_EQ(use.pools[0].run_ns, 2e9);
  EXPECT_EQ(use.pools[0].ready_ns, 2e9);
  EXPECT_EQ(use.pools[0].blocked_ns, 0.5e9);
  EXPECT_EQ(use.pools[1].name, "main threads");
  EXPECT_EQ(use.pools[1].threads, 2);
  EXPECT_EQ(use.pools[1].run_ns, 5e9);
  EXPECT_EQ(use.pools[2].name, "other threads");
  EXPECT_EQ(use.pools[2].blocked_ns, 4e9);
}

TEST(ThreadUse, FindsAPoolWhoseCallsComeFromThreadsOfAnother) {
  const auto profile = profile_of({{1, "", 400, 400, {}},
                                   {2, "/lib/libgomp.so.1", 400, 400, {}},
                                   {3, kOpenBlas, 400, 400, {}}});
  const observe::ThreadFacts facts;
  const auto nested = [&](const std::vector<observe::CallingThread>& callers) {
    return thread_use({.samples = profile,
                       .no_samples = "",
                       .facts = facts,
                       .cpu_ns = 1.2e9,
                       .online = 2,
                       .callers = callers})
        .nested;
  };
  const auto found = nested({{1, kOpenBlas, 100, 5e8}, {2, kOpenBlas, 100, 5e8}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].outer, "libgomp");
  EXPECT_EQ(found[0].inner, "OpenBLAS");
  EXPECT_EQ(found[0].calls, 100U);
  EXPECT_DOUBLE_EQ(found[0].time_share, 0.5);
  EXPECT_THAT(nested({{1, kOpenBlas, 100, 5e8}}), IsEmpty()) << "beside each other";
  EXPECT_THAT(nested({{2, kOpenBlas, 19, 5e8}}), IsEmpty()) << "few calls";
  EXPECT_THAT(nested({{1, kOpenBlas, 300, 8e8}, {2, kOpenBlas, 100, 2e8}}), IsEmpty());
  EXPECT_THAT(nested({{3, kOpenBlas, 100, 5e8}}), IsEmpty()) << "of its own threads";
  EXPECT_THAT(nested({{2, "/lib/libblas.so.3", 100, 5e8}}), IsEmpty()) << "it has no pool";
}

TEST(ThreadUse, KnowsWhoDidTheWorkBetweenBarriers) {
  // The first thread never waits.
  const auto profile =
      profile_of({{1, "", 400, 400, {}},
                  {2, "/lib/libgomp.so.1", 400, 100, {{"/lib/libgomp.so.1", 300, 0, false}}}});
  observe::ThreadFacts facts;
  facts.threads = {{1, 1, {4e8, 0, 0}}, {1, 2, {4e8, 0, 0}}};
  const auto use = thread_use(
      {.samples = profile, .no_samples = "", .facts = facts, .cpu_ns = 8e8, .online = 2});
  ASSERT_EQ(use.sentences.size(), 1U);
  EXPECT_THAT(use.sentences[0].text, HasSubstr(": the work is unbalanced"));
  EXPECT_THAT(use.sentences[0].evidence, HasSubstr("the busiest of 2 threads did 80 %"));
}

TEST(ThreadUse, EstimatesTheYieldsOfAUserByTheTimeThatIsMissing) {
  // 1 s of work, and 1 s of sched_yield of which 250 samples were taken outside the kernel.
  const auto profile =
      profile_of({{1, "", 1000, 1000, {}}, {2, "", 250, 0, {{kOpenBlas, 250, 250, false}}}}, false);
  const auto use = use_of(profile, 2);
  EXPECT_NEAR(use.spin_share.value_or(-1), 0.5, 1e-9);
  EXPECT_NEAR(use.arithmetic_share.value_or(-1), 0.5, 1e-9);
  EXPECT_NEAR(use.coverage.value_or(-1), 0.625, 1e-9);
  EXPECT_TRUE(use.estimated);
  EXPECT_THAT(use.sentences, Not(IsEmpty())) << "what is estimated accounts for it";
}

TEST(ThreadUse, DoesNotTakeAllOfTheKernelsTimeForYields) {
  // 10 samples in sched_yield cannot stand for a second inside the kernel: it read files.
  const auto profile =
      profile_of({{1, "", 1000, 1000, {}}, {2, "", 10, 0, {{kOpenBlas, 10, 10, false}}}}, false);
  const auto use = use_of(profile, 2);
  EXPECT_LT(use.spin_share.value_or(1), 0.07);
  EXPECT_GT(use.other_share.value_or(0), 0.43);
  EXPECT_THAT(use.sentences, IsEmpty());
}

#endif

TEST(ThreadUse, IsAbsentWithTheReason) {
  const observe::ThreadFacts facts;
  const auto use = thread_use({.samples = {},
                               .no_samples = "not sampled (--no-samples)",
                               .facts = facts,
                               .cpu_ns = 1e9,
                               .online = 2});
  EXPECT_FALSE(use.spin_share);
  EXPECT_EQ(use.spin_reason, "not sampled (--no-samples)");
  EXPECT_FALSE(use.ready_ns);
  EXPECT_NE(use.clocks_reason, "");
}

TEST(OpenBlasCalls, AreThoseOfOpenBlasWithTheirTime) {
  report::CallSite site;
  site.symbol = "sgemm_";
  site.library = "/usr/lib/openblas-pthread/libblas.so.3";
  site.count = 10;
  site.time_ns = 4e6;
  site.shapes = {{.m = 8, .n = 9, .k = 7, .count = 6}, {.m = 1, .n = 1, .k = 1, .count = 4}};
  report::CallSite reference = site;
  reference.library = "/usr/lib/blas/libblas.so.3";
  EXPECT_FALSE(openblas_calls({reference}));
  const auto sizes = openblas_calls({reference, site});
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->calls, 10U);
  EXPECT_EQ(sizes->mean_ns, 4e5);
  EXPECT_EQ(sizes->most, "sgemm_ 8x9x7");
  site.time_ns.reset();
  EXPECT_FALSE(openblas_calls({site}));
}

TEST(PoolName, IsTheLibrarysOrTheFiles) {
  EXPECT_EQ(pool_name("/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3"), "OpenBLAS");
  EXPECT_EQ(pool_name("/venv/numpy.libs/libscipy_openblas64_-99b71e71.so"), "OpenBLAS");
  EXPECT_EQ(pool_name("/venv/torch/lib/libgomp-a34b3233.so.1"), "libgomp");
  EXPECT_EQ(pool_name("/usr/lib/llvm-14/lib/libomp.so.5"), "libomp");
  EXPECT_EQ(pool_name("/opt/intel/libiomp5.so"), "libiomp5");
  EXPECT_EQ(pool_name("/usr/bin/python3.11"), "Python");
  EXPECT_EQ(pool_name("/home/me/solver"), "solver");
}

}  // namespace
}  // namespace hwprof
