// The real thing, on real libraries: programs that make a known number of BLAS calls, watched by
// uprobes (skipped without root) and by LD_AUDIT. called_audit_test.cpp: what only the latter has.
#include "src/blas/evidence/called.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "src/base/text.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/tracefs.h"
#include "tests/called_setup.h"

namespace hwprof::blas {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class Called : public ::testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam() == Way::kUprobes && !observe::Tracefs::open()) {
      GTEST_SKIP() << observe::Tracefs::open().error().what;
    }
  }
  [[nodiscard]] bool by_uprobes() const { return GetParam() == Way::kUprobes; }
  Watched watch(std::vector<std::string> command) {
    return blas::watch(GetParam(), std::move(command));
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, Called, ::testing::Values(Way::kUprobes, Way::kAudit),
                         [](const auto& info) {
                           return info.param == Way::kUprobes ? "Uprobes" : "Audit";
                         });

TEST_P(Called, CountsEveryCallWithItsShape) {
  const auto [called, status] = watch({CALLER, "fortran"});
  EXPECT_EQ(status, 0);
  EXPECT_EQ(called.how, by_uprobes() ? "uprobe" : "audit") << called.reason;
  EXPECT_EQ(called.lost, 0U);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 107U);
  EXPECT_EQ(sgemm[0].caller, canonical(CALLER));
  EXPECT_THAT(sgemm[0].library, HasSubstr("blas"));
  ASSERT_EQ(sgemm[0].shapes.size(), 2U);
  EXPECT_EQ(sgemm[0].shapes[0].m, 20U);
  EXPECT_EQ(sgemm[0].shapes[0].n, 30U);
  EXPECT_EQ(sgemm[0].shapes[0].k, 40U);
  EXPECT_EQ(sgemm[0].shapes[0].count, 7U);
  EXPECT_EQ(sgemm[0].shapes[1].m, 2U);
  EXPECT_EQ(sgemm[0].shapes[1].count, 100U);
  EXPECT_EQ(sgemm[0].calls_of_other_shapes, 0U);
  EXPECT_EQ(sgemm[0].flops, 2.0 * (7 * 20 * 30 * 40 + 100 * 2 * 3 * 4));

  const auto dgemv = of_symbol(called, "dgemv_");
  ASSERT_EQ(dgemv.size(), 1U);
  EXPECT_EQ(dgemv[0].count, 11U);
  EXPECT_EQ(dgemv[0].shapes.at(0).m, 5U);
  EXPECT_EQ(dgemv[0].shapes.at(0).n, 1U);
  EXPECT_EQ(dgemv[0].shapes.at(0).k, 6U);

  const auto zgemm = of_symbol(called, "zgemm_");
  ASSERT_EQ(zgemm.size(), 1U);
  EXPECT_EQ(zgemm[0].flops, 8.0 * 3 * 2 * 2 * 2);

  const auto strsm = of_symbol(called, "strsm_");
  ASSERT_EQ(strsm.size(), 1U);
  EXPECT_EQ(strsm[0].count, 4U);
  EXPECT_EQ(strsm[0].flops, 4.0 * 2 * 2 * 2);
}

TEST_P(Called, KnowsTheShapeOfEveryKindOfRoutine) {
  const auto [called, status] = watch({CALLER, "others"});
  EXPECT_EQ(status, 0);
  const struct {
    const char* symbol;
    double flops;
    std::string form;
    std::uint64_t m, n, k;
  } cases[] = {
      {"dsyrk_", 6 * 5 * 6, "", 5, 5, 6},
      {"zher2k_", 6 * 3 * 2 * 2 + 2 * (3 * 2 * 2 + 2), "A^T", 2, 2, 3},
      {"ssymm_", 2 * 5 * 6 * 6 + 2 * 5 * 5 * 6, "right", 5, 6, 6},
      {"dtrsv_", 7 * 7, "A^T", 7, 1, 7},
      {"ssymv_", 2 * 7 * 7, "", 7, 1, 7},
      {"cblas_dtrmm", 4 * 3 * 3, "right, A^T, row-major", 4, 3, 3},
      {"cblas_ssyrk", 5 * 6 * 7, "A^T, row-major", 6, 6, 5},
  };
  for (const auto& expected : cases) {
    const auto sites = of_symbol(called, expected.symbol);
    ASSERT_EQ(sites.size(), 1U) << expected.symbol;
    EXPECT_EQ(sites[0].flops, expected.flops) << expected.symbol;
    const report::CallShape& shape = sites[0].shapes.at(0);
    EXPECT_EQ(report::form_of(shape), expected.form) << expected.symbol;
    EXPECT_EQ(shape.m, expected.m) << expected.symbol;
    EXPECT_EQ(shape.n, expected.n) << expected.symbol;
    EXPECT_EQ(shape.k, expected.k) << expected.symbol;
  }
}

TEST_P(Called, KnowsTheTimeInside) {
  const auto [called, status] = watch({CALLER, "fortran"});
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  ASSERT_TRUE(sgemm[0].time_ns);
  EXPECT_GT(*sgemm[0].time_ns, 0);
  double of_shapes = 0;
  for (const report::CallShape& shape : sgemm[0].shapes) {
    ASSERT_TRUE(shape.time_ns);
    of_shapes += *shape.time_ns;
  }
  EXPECT_DOUBLE_EQ(of_shapes, *sgemm[0].time_ns);
  ASSERT_TRUE(called.wall_ns);
  EXPECT_GE(*called.wall_ns, *sgemm[0].time_ns) << "one thread, and other routines";
}

TEST_P(Called, CountsACallThatPassesTwoRoutinesOnce) {
  const auto [called, status] = watch({CALLER, "cblas"});
  EXPECT_EQ(status, 0);
  const auto outer = of_symbol(called, "cblas_sgemm");
  ASSERT_EQ(outer.size(), 1U);
  EXPECT_EQ(outer[0].count, 13U);
  EXPECT_EQ(outer[0].shapes.at(0).m, 3U);
  EXPECT_EQ(outer[0].shapes.at(0).n, 4U);
  EXPECT_EQ(outer[0].shapes.at(0).k, 5U);
  EXPECT_TRUE(of_symbol(called, "sgemm_").empty());
}

TEST_P(Called, SeesALibraryThatIsOpenedLater) {
  const auto [called, status] = watch({CALLER, "dlopen"});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 17U);
  EXPECT_EQ(sgemm[0].caller, canonical(CALLER));
}

// The uprobe PMU with inherit makes fork() and clone() in the program fail.
TEST_P(Called, LetsTheProgramForkStartThreadsAndExec) {
  const auto [called, status] = watch({CALLER, "fork"});
  EXPECT_EQ(status, 0);
  std::uint64_t count = 0;
  for (const auto& site : of_symbol(called, "sgemm_")) count += site.count;
  // 1 itself, 2 in a child, 3 in a thread, 107 in a child that runs this program again.
  EXPECT_EQ(count, 113U);
}

TEST_P(Called, IsNotNoticed) {
  const auto [called, status] = watch({CALLER, "transparent"});
  EXPECT_EQ(status, 0);
  EXPECT_GE(all_calls(called), 1U);
}

TEST_P(Called, SurvivesASeccompFilter) {
  const auto [called, status] = watch({CALLER, "seccomp"});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 19U);
}

TEST_P(Called, FollowsAScriptToItsInterpreter) {
  const auto [called, status] = watch({"/bin/sh", "-c", std::string("exec ") + CALLER + " cblas"});
  EXPECT_EQ(status, 0);
  ASSERT_EQ(of_symbol(called, "cblas_sgemm").size(), 1U);
  EXPECT_EQ(of_symbol(called, "cblas_sgemm")[0].count, 13U);
}

TEST_P(Called, CountsTheProductsOfNumpy) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) {
    GTEST_SKIP() << "/usr/bin/python3 has no numpy";
  }
  const auto [called, status] = watch({"/usr/bin/python3", "-c", R"(
import numpy as np
a = np.ones((100, 90), np.float32); b = np.ones((90, 80), np.float32)
for _ in range(100): a @ b
d = np.ones((64, 64)); e = np.ones((64, 32))
for _ in range(7): d @ e
z = np.ones((16, 16), np.complex64)
for _ in range(11): z @ (z + 1)
w = np.ones((16, 16), np.complex128)
for _ in range(13): w @ (w + 1)
)"});
  EXPECT_EQ(status, 0);
  const std::vector<std::pair<std::string, std::uint64_t>> expected = {
      {"cblas_sgemm", 100}, {"cblas_dgemm", 7}, {"cblas_cgemm", 11}, {"cblas_zgemm", 13}};
  for (const auto& [symbol, count] : expected) {
    const auto sites = of_symbol(called, symbol);
    ASSERT_EQ(sites.size(), 1U) << symbol;
    EXPECT_EQ(sites[0].count, count) << symbol;
    EXPECT_THAT(sites[0].caller, HasSubstr("numpy"));
  }
}

TEST_P(Called, OfAProgramWithoutBlasIsNothing) {
  const auto [called, status] = watch({"/bin/true"});
  EXPECT_EQ(status, 0);
  EXPECT_EQ(called.how, by_uprobes() ? "uprobe" : "audit") << called.reason;
  EXPECT_TRUE(called.calls.empty());
}

TEST(CalledUprobes, LeaveNothingBehind) {
  const auto tracefs = observe::Tracefs::open();
  if (!tracefs) GTEST_SKIP() << tracefs.error().what;
  blas::watch(Way::kUprobes, {CALLER, "fortran"});
  EXPECT_THAT(tracefs->read("uprobe_events").value_or(""),
              Not(HasSubstr("hwprof_" + std::to_string(::getpid()) + "_")));
}

TEST(CalledUprobes, OfAKilledSessionAreRemovedByTheNextAndOnlyTheirs) {
  const auto tracefs = observe::Tracefs::open();
  if (!tracefs) GTEST_SKIP() << tracefs.error().what;
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t session = ::fork();
  if (session == 0) {
    CallWatch watch = CallWatch::prepare({{CALLER, "fortran"}, {}, true, false});
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(0);
  }
  char byte;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  const std::string theirs = "hwprof_" + std::to_string(session) + "_";
  observe::remove_leftover_probes();  // they live
  EXPECT_THAT(tracefs->read("uprobe_events").value_or(""), HasSubstr(theirs));
  ::kill(session, SIGKILL);
  ::waitpid(session, nullptr, 0);
  EXPECT_THAT(tracefs->read("uprobe_events").value_or(""), HasSubstr(theirs));
  const UniqueFd program(::open(CALLER, O_RDONLY | O_CLOEXEC));
  const std::string others = "hwprofcalledtest" + std::to_string(::getpid());
  ASSERT_TRUE(tracefs->write_line("p:" + others + "/x " + CALLER + ":0x1000"));
  observe::remove_leftover_probes();
  EXPECT_THAT(tracefs->read("uprobe_events").value_or(""), Not(HasSubstr(theirs)));
  EXPECT_THAT(tracefs->read("uprobe_events").value_or(""), HasSubstr(others));
  ASSERT_TRUE(tracefs->write_line("-:" + others + "/x"));
}

TEST(CalledUprobes, CountAFileWithTwoNamesOnce) {
  if (!observe::Tracefs::open()) GTEST_SKIP() << observe::Tracefs::open().error().what;
  const auto found = of_symbol(blas::watch(Way::kUprobes, {CALLER, "fortran"}).called, "sgemm_");
  ASSERT_EQ(found.size(), 1U);
  namespace fs = std::filesystem;
  std::string folder = ::testing::TempDir() + "hwprof_XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  folder = canonical(folder);
  const bool by_default = fs::path(found[0].library).filename().string().starts_with("libblas.");
  const std::string first = folder + (by_default ? "/libblas.so.3" : "/libopenblas.so.0");
  const std::string second = folder + "/libflexiblas.so.3";
  fs::copy_file(found[0].library, first);
  fs::create_hard_link(first, second);
  const char* before = std::getenv("LD_LIBRARY_PATH");
  const std::string folders = before != nullptr ? before : "";
  // What the library needs may stand beside it.
  ::setenv(
      "LD_LIBRARY_PATH",
      (folder + ":" + folders + ":" + fs::path(found[0].library).parent_path().string()).c_str(),
      1);
  const auto [called, status] = blas::watch(Way::kUprobes, {CALLER, "fortran"});
  before != nullptr ? ::setenv("LD_LIBRARY_PATH", folders.c_str(), 1)
                    : ::unsetenv("LD_LIBRARY_PATH");
  fs::remove_all(folder);
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 107U);
  EXPECT_THAT(sgemm[0].library, AnyOf(first, second));
}

TEST(CalledUprobes, SeeAStaticProgramThatHasSymbols) {
  if (!observe::Tracefs::open()) GTEST_SKIP() << observe::Tracefs::open().error().what;
  const auto [called, status] = blas::watch(Way::kUprobes, {STATIC_CALLER});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count, 5U);
  EXPECT_EQ(sgemm[0].library, canonical(STATIC_CALLER));
}

TEST(CalledUprobes, SeeAProgramThatAlreadyRuns) {
  if (!observe::Tracefs::open()) GTEST_SKIP() << observe::Tracefs::open().error().what;
  int gate[2], ready[2];
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(gate[0], 0);
    ::dup2(ready[1], 1);
    ::dup2(ready[1], 2);
    ::execl(CALLER, CALLER, "wait", nullptr);
    ::_exit(127);
  }
  // So that a caller that cannot start ends what is read, with what it said.
  ::close(ready[1]);
  std::string said;
  for (char byte; said != "r" && ::read(ready[0], &byte, 1) == 1;) said += byte;
  if (said != "r") ::waitpid(child, nullptr, 0);
  ASSERT_EQ(said, "r") << CALLER " did not start";
  CallWatch watch = CallWatch::prepare({{}, child, true, true});
  watch.attach(child);
  ASSERT_EQ(::write(gate[1], "x", 1), 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  const report::Called called = watch.finish();
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U) << called.reason;
  EXPECT_EQ(sgemm[0].count, 23U);
  EXPECT_EQ(sgemm[0].caller, canonical(CALLER));
  for (const int fd : {gate[0], gate[1], ready[0]}) ::close(fd);
}

TEST(CalledUprobes, SpareAProgramWithManyShortCallsTheTiming) {
  if (!observe::Tracefs::open()) GTEST_SKIP() << observe::Tracefs::open().error().what;
  const auto [called, status] = blas::watch(Way::kUprobes, {CALLER, "tiny", "100000"});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  // A machine that is too busy to drain the rings loses records, and says how many.
  EXPECT_EQ(sgemm[0].count + called.lost, 100'000U);
  if (!sgemm[0].time_ns && called.lost == 0) {
    EXPECT_THAT(called.blind_to, Contains(HasSubstr("time inside calls")));
  }
}

TEST(CalledUprobes, CountAllOfVeryManyCallsAndShareThemOutByASample) {
  if (!observe::Tracefs::open()) GTEST_SKIP() << observe::Tracefs::open().error().what;
  constexpr std::uint64_t kCalls = 400'000;
  const auto [called, status] =
      blas::watch(Way::kUprobes, {CALLER, "mixed", std::to_string(kCalls)});
  EXPECT_EQ(status, 0);
  const auto sgemm = of_symbol(called, "sgemm_");
  ASSERT_EQ(sgemm.size(), 1U);
  EXPECT_EQ(sgemm[0].count + called.lost, kCalls);
  // A machine that is too busy to look at the program goes on recording every call.
  if (called.lost > 0) GTEST_SKIP() << "this machine is too busy: " << called.lost << " lost";
  EXPECT_THAT(called.blind_to, Contains(HasSubstr("1 in 61")));
  ASSERT_EQ(sgemm[0].shapes.size(), 2U);
  for (const report::CallShape& shape : sgemm[0].shapes) {
    const double expected = shape.m == 2 ? 0.75 : 0.25;
    EXPECT_NEAR(static_cast<double>(shape.count) / kCalls, expected, 0.02) << shape.m;
  }
}

}  // namespace
}  // namespace hwprof::blas
