// Whoever is observed can make the kernel wait for him where hwprof's hand opens, asks and closes:
// that holds up the hand alone.
#include "src/observe/monitor/hand.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "src/observe/calls/tracefs.h"
#include "src/observe/monitor/sandbox.h"
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
  for (int i = 0; i < 10'000 && !children_but_keepers(::getpid()).empty(); ++i) {
    ::waitpid(-1, nullptr, WNOHANG);
    ::usleep(1000);
  }
  EXPECT_TRUE(children_but_keepers(::getpid()).empty()) << "a child is left";
}

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
    const IdleProcess idle;
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
      const IdleProcess idle;
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

// Has an event of that task, and gives it to the first who asks: the worker keeps nothing that it
// has not opened itself.
pid_t start_giver(pid_t task, const sockaddr_un& name) {
  const UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      ::listen(listening.get(), 1) != 0) {
    return -1;
  }
  const pid_t giver = ::fork();
  if (giver != 0) return giver;
  perf_event_attr attr = clock_attr();
  const auto event =
      static_cast<int>(::syscall(SYS_perf_event_open, &attr, task, -1, -1, PERF_FLAG_FD_CLOEXEC));
  const UniqueFd taker(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
  static_cast<void>(send_with(taker.get(), "x", 1, std::array{event}));
  ::_exit(0);
}

// What lies in a channel is closed at the end, and the last close of an event waits for its
// context.
void expect_no_hang_at_exit() {
  const IdleProcess idle;
  const std::array names{hidden_name("questions", ::getpid()), hidden_name("events", ::getpid())};
  for (const sockaddr_un& name : names) ASSERT_GT(start_giver(idle.pid(), name), 0);
  ::usleep(200'000);  // until they have their events
  const FuseOfUser fuse(Held::kReadOfEvent, idle.pid());
  if (!fuse.missing().empty()) {
    for (const sockaddr_un& name : names) {  // or the givers would wait for ever
      const UniqueFd way(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
      static_cast<void>(
          ::connect(way.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name));
    }
    GTEST_SKIP() << fuse.missing();
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto before = std::chrono::steady_clock::now();
    const pid_t hwprof = ::fork();
    ASSERT_GE(hwprof, 0);
    if (hwprof == 0) {
      const auto code = in_worker(
          [&](MonitorClient& monitor) -> Result<int> {
            TRY(monitor.save_report("what is known"));
            const int to = channels().at(1 + i);
            const UniqueFd way(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
            HOLDS(::connect(way.get(), reinterpret_cast<const sockaddr*>(&names.at(i)),
                            sizeof names[0]) == 0);
            const int event = receive_descriptor(way.get()).release();
            HOLDS(event >= 0);
            const Question question{.ask = Ask::kEndWanted};
            HOLDS(send_with(to, &question, sizeof question, std::array{event}));
            ::_exit(0);
          },
          {.patience = kLittle, .write_report = [](const std::string&) {}});
      ::_exit(code ? 5 : 6);
    }
    int status = 0;
    while (::waitpid(hwprof, &status, WNOHANG) == 0 &&
           std::chrono::steady_clock::now() - before < kBounded)
      ::usleep(10'000);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5) << status;
    EXPECT_LT(std::chrono::steady_clock::now() - before, kBounded) << i;
  }
  EXPECT_TRUE(fuse.holds_somebody());
}

TEST(Hand, DoesNotHoldUpHwprofsExitWhereAnEventIsLeftInAChannel) {
  expect_no_hang_at_exit();
  expect_no_child();
}

pid_t hand_of(pid_t hwprof, pid_t worker) {
  for (const pid_t child : children_but_keepers(hwprof))
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
  EXPECT_TRUE(children_but_keepers(::getpid()).empty()) << "a child is left";
}

// It could let whoever reads its stat wait, and it may be a living one that acts as its user.
TEST(DeadProbes, AreLeftWhileTheirNumberIsAnotherUsers) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  const IdleProcess other;
  const auto info = process_info(other.pid());
  ASSERT_TRUE(info);
  EXPECT_NE(info->user, ::geteuid());
  const std::string own = new_group_name();
  const auto second = own.find('_', sizeof("hwprof_") - 1), third = own.find('_', second + 1);
  ASSERT_NE(third, std::string::npos);
  const std::string group =
      fmt::format("hwprof_{}_{}{}", other.pid(), info->start_ticks + 1, own.substr(third));
  const std::string list = "p:" + group + "/entry0 /a:0x1\n";
  EXPECT_EQ(dead_events(list), std::vector<std::string>());
  ::kill(other.pid(), SIGKILL);
  siginfo_t end{};  // while it is a zombie still
  ::waitid(P_PID, static_cast<id_t>(other.pid()), &end, WEXITED | WNOWAIT);
  EXPECT_EQ(dead_events(list), std::vector<std::string>{group + "/entry0"});
}

// As the observed user it could hand the descriptor to a process of another session, which no rule
// of job control keeps from what root types.
TEST(Sandbox, WhoLeavesWhatIsHwprofsHasNoTerminal) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) ::_exit(2);
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    if (::open(::ptsname(master), O_RDWR) < 0 || ::open("/dev/tty", O_RDWR) < 0) ::_exit(3);
    const pid_t part = ::fork();
    if (part == 0) {
      leave_what_is_hwprofs({});
      ::_exit(::open("/dev/tty", O_RDWR) < 0 && errno == ENXIO ? 0 : 4);
    }
    int status = 0;
    ::waitpid(part, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace hwprof::observe
