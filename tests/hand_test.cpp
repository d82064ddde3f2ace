// Whoever is observed can make the kernel wait for him where hwprof's hand opens, asks and closes:
// that holds up the hand alone.
#include "src/observe/monitor/hand.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>

#include "src/observe/proc/processes.h"
#include "tests/fuse_of_user.h"
#include "tests/monitor_setup.h"

namespace hwprof::observe {
namespace {

using Held = FuseOfUser::Held;

constexpr MonitorPatience kLittle{.end = kSoon, .answer = kSoon};
constexpr std::chrono::seconds kBounded{10};

// Process 1's or this one's, once whoever hung has ended.
void expect_no_child() {
  for (int i = 0; i < 10'000 && ::waitpid(-1, nullptr, WNOHANG) >= 0; ++i) ::usleep(1000);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

class Idle {
 public:
  Idle() = default;
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;
  ~Idle() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = start_idle_process();
};

// A worker whose question hangs goes on at once with all others, and so does hwprof.
void expect_no_hang(const FuseOfUser& fuse, pid_t attached, const WorkerTask& ask) {
  const auto before = std::chrono::steady_clock::now();
  std::string report;
  const auto line = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(const int failed, ask(monitor));
        HOLDS(failed == 0);
        HOLDS(code_of(monitor.ask({.ask = Ask::kBeginProbes})) == ETIMEDOUT);
        TRY(monitor.save_report("what is known"));
        return 0;
      },
      {.attach = attached, .patience = kLittle, .write_report = [&](const std::string& bytes) {
         report = bytes;
       }});
  EXPECT_LT(std::chrono::steady_clock::now() - before, kBounded);
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
  EXPECT_EQ(report, "what is known");
  EXPECT_TRUE(fuse.holds_somebody());
}

TEST(Hand, DoesNotHoldUpHwprofWhereAnEventIsReadForEver) {
  {
    const Idle idle;
    const FuseOfUser fuse(Held::kReadOfEvent, idle.pid());
    if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
    expect_no_hang(fuse, idle.pid(), [&](MonitorClient& monitor) -> Result<int> {
      HOLDS(code_of(monitor.ask(
                {.ask = Ask::kOpenEvent, .pid = idle.pid(), .cpu = -1, .attr = clock_attr()})) ==
            ETIMEDOUT);
      return 0;
    });
  }
  expect_no_child();
}

TEST(Hand, DoesNotHoldUpHwprofWhereAnExecveNeverEnds) {
  for (const Ask ask : {Ask::kOpenEvent, Ask::kOpenFile}) {
    {
      const FuseOfUser fuse(Held::kExecve);
      if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
      expect_no_hang(fuse, fuse.process(), [&](MonitorClient& monitor) -> Result<int> {
        HOLDS(code_of(monitor.ask(
                  {.ask = ask, .pid = fuse.process(), .cpu = -1, .attr = clock_attr()})) ==
              ETIMEDOUT);
        return 0;
      });
    }
    expect_no_child();
  }
}

TEST(Hand, DoesNotHoldUpHwprofWhereAFileSystemDoesNotAnswer) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root sets probes";
  for (const Held held : {Held::kAttributes, Held::kFileSystemFacts}) {
    {
      const Idle idle;
      FuseOfUser fuse(held);
      if (!fuse.missing().empty()) GTEST_SKIP() << fuse.missing();
      const auto code = in_worker([](MonitorClient& monitor) -> Result<int> {
        return code_of(monitor.ask({.ask = Ask::kBeginProbes}));
      });
      if (!code || *code != 0) GTEST_SKIP() << "no uprobes here";
      expect_no_hang(fuse, idle.pid(), [&](MonitorClient& monitor) -> Result<int> {
        const UniqueFd name = name_of(fuse.path().c_str());
        HOLDS(name.valid());
        HOLDS(code_of(monitor.ask({.ask = Ask::kBeginProbes})) == 0);
        fuse.arm();
        HOLDS(code_of(monitor.ask({.ask = Ask::kReadRoutines}, {}, name.get())) == ETIMEDOUT);
        return 0;
      });
    }
    expect_no_child();
  }
}

pid_t hand_of(pid_t hwprof, pid_t worker) {
  for (const pid_t child : children_of(hwprof))
    if (child != worker) return child;
  return 0;
}

// It may die as well: of memory, or by whoever may end it.
TEST(Hand, LeavesAWorkerThatGoesOnWhereItIsKilled) {
  const auto line = in_worker([](MonitorClient& monitor) -> Result<int> {
    ::kill(hand_of(::getppid(), ::getpid()), SIGKILL);
    HOLDS(code_of(monitor.ask({.ask = Ask::kBeginProbes})) == EPIPE);
    return 0;
  });
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace hwprof::observe
