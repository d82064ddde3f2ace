// Calls that the audit library sees, and how a program fares in its hands.
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "src/base/clock.h"
#include "tests/called_setup.h"

namespace hwprof::blas {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(CalledAudit, WorksForAnOrdinaryUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "the other tests run as one already";
  const pid_t user = ::fork();
  ASSERT_GE(user, 0);
  if (user == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    // As after an exec: a process that has changed its user is closed to it until then.
    ::prctl(PR_SET_DUMPABLE, 1);
    // Folders on the way to a build may be closed to others.
    if (::access(CALLER, X_OK) != 0) ::_exit(77);
    Runner runner{{{CALLER, "fortran"}, {}, true, true}, 0};
    const auto [called, status] = runner.run();
    const auto sgemm = of_symbol(called, "sgemm_");
    const bool good = called.how == "audit" && status == 0 && sgemm.size() == 1 &&
                      sgemm[0].count == 107 && called.reason.empty();
    if (!good) ::fprintf(stderr, "%s %s\n", called.how.c_str(), called.reason.c_str());
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(user, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "nobody may not run " CALLER;
  EXPECT_EQ(status, 0);
}

TEST(CalledAudit, FollowsNoPointerThatABlasWouldNot) {
  const auto [called, status] = blas::watch(Way::kAudit, {CALLER, "wrong", FAKE_BLAS});
  EXPECT_EQ(status, 0);
  const auto dgemm = of_symbol(called, "dgemm_");
  ASSERT_EQ(dgemm.size(), 1U);
  EXPECT_EQ(dgemm[0].count, 7U);
  EXPECT_EQ(dgemm[0].calls_of_other_shapes, 6U);
  EXPECT_FALSE(dgemm[0].flops);
}

// They would be unseen: the loader tells nobody of addresses that it writes when it loads a file.
TEST(CalledAudit, SeesCallsByAddressesThatWereTakenAtLoad) {
  const auto [called, status] = blas::watch(Way::kAudit, {NO_PLT_CALLER, "fortran"});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 107U);
  EXPECT_EQ(sgemm[0].caller, canonical(NO_PLT_CALLER));
}

class OddCalls : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Kinds, OddCalls,
                         ::testing::Values("arguments", "results", "throw", "longjmp", "recursion",
                                           "threads", "backtrace", "tail", "swapcontext", "exit",
                                           "pthread_exit"),
                         [](const auto& info) { return info.param; });

TEST_P(OddCalls, AreAsTheyAreAlone) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_CALLS, GetParam()});
  EXPECT_EQ(status, 0);
  EXPECT_GE(all_calls(called), 1U);
}

// They are no calls of a BLAS: those that LAPACK makes of one are counted where they are made.
TEST(CalledAudit, TellsLapackApart) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_CALLS, "lapack"});
  EXPECT_EQ(status, 0);
  EXPECT_EQ(all_calls(called), 0U);
  ASSERT_EQ(called.lapack.size(), 2U);
  const bool solution_first = called.lapack[0].symbol == "dgesv_";
  const report::CallSite& solution = called.lapack[solution_first ? 0 : 1];
  const report::CallSite& values = called.lapack[solution_first ? 1 : 0];
  EXPECT_EQ(solution.symbol, "dgesv_");
  EXPECT_EQ(solution.count, 1U);
  ASSERT_EQ(solution.shapes.size(), 1U);
  EXPECT_EQ(solution.shapes[0].m, 3U);
  EXPECT_EQ(solution.shapes[0].n, 2U);
  EXPECT_DOUBLE_EQ(solution.flops.value_or(0), 16 + 2 * (9 + 6));
  EXPECT_EQ(values.symbol, "dgesvd_");
  EXPECT_TRUE(values.time_ns.has_value());
  EXPECT_FALSE(values.flops);
}

TEST(CalledAudit, SaysWhichCallsDidNotReturn) {
  const auto [called, status] = blas::watch(Way::kAudit, {ODD_CALLS, "longjmp"});
  const auto gemv = of_symbol(called, "cblas_dgemv");
  ASSERT_EQ(gemv.size(), 1U);
  EXPECT_EQ(gemv[0].count, 1000U);
  EXPECT_FALSE(gemv[0].time_ns);
  EXPECT_FALSE(called.wall_ns);
  EXPECT_THAT(called.blind_to, Contains(HasSubstr("1000 calls did not return")));
}

// Of 1000 short calls and 3 long ones. A short one that was interrupted lasted long, too, and is
// listed.
TEST(CalledAudit, RecordsLongCallsOneByOne) {
  const double before_ns = wall_ns();
  const auto [called, status] = blas::watch(Way::kAudit, {CALLER, "long"});
  const double behind_ns = wall_ns();
  EXPECT_EQ(status, 0);
  std::vector<report::TraceSpan> spans = called.spans;
  for (const report::TraceSpan& span : spans) {
    EXPECT_NE(span.thread, "not known");
    EXPECT_GE(span.duration_ns, 20'000);
  }
  EXPECT_THAT(called.spans_note,
              HasSubstr(std::to_string(spans.size()) + " longest of 1003 calls"));
  std::erase_if(spans, [](const auto& span) { return span.name != "sgemm_ 64 x 64 x 64000"; });
  ASSERT_EQ(spans.size(), 3U) << called.spans_note;
  EXPECT_GT(called.spans_begin_ns, before_ns);
  EXPECT_LT(*called.spans_begin_ns + spans[2].start_ns + spans[2].duration_ns, behind_ns);
  EXPECT_EQ(called.spans[0].start_ns, 0);
  EXPECT_GE(spans[1].start_ns, spans[0].start_ns + spans[0].duration_ns);
  EXPECT_GE(spans[2].start_ns, spans[1].start_ns + spans[1].duration_ns);
}

TEST(CalledAudit, SaysThatAStaticProgramIsNotSeen) {
  const auto [called, status] = blas::watch(Way::kAudit, {STATIC_CALLER});
  EXPECT_EQ(status, 0);
  EXPECT_EQ(called.how, "none");
  EXPECT_THAT(called.reason, HasSubstr("is static"));
}

}  // namespace
}  // namespace hwprof::blas
