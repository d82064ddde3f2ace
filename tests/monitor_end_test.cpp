// The parts of hwprof: what is left of a worker when it dies, hangs, or will not end.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <string>
#include <thread>

#include "src/observe/monitor/channel.h"
#include "src/observe/monitor/monitor.h"
#include "src/observe/proc/processes.h"
#include "tests/monitor_setup.h"

namespace hwprof::observe {
namespace {

TEST(Monitor, LeavesNoCommandThatWasNeverReleased) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}));
        return 0;
      },
      {.command = {"true"}});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().what,
            "true did not run: hwprof's worker ended with exit code 0 before it could be started");
  EXPECT_TRUE(children_but_keepers(::getpid()).empty()) << "a child is left";
}

// Exit 0 of a command that nobody has started would be a lie.
TEST(Monitor, SaysThatTheCommandDidNotRunWhereTheWorkerDiesBefore) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}));
        TRY(monitor.save_report("a lie"));
        ::raise(SIGKILL);
        return 0;
      },
      {.command = {"true"}});
  ASSERT_FALSE(line);
  EXPECT_EQ(line.error().fault, Fault::kEnvironment);
  EXPECT_EQ(line.error().what,
            "true did not run: hwprof's worker was killed by SIGKILL before it could be started");
}

TEST(Monitor, OutlivesACommandThatIsKilledBeforeItBegan) {
  const auto code = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(const pid_t pid, monitor.start({}));
        ::kill(pid, SIGKILL);
        for (auto info = process_info(pid); info && !info->ended; info = process_info(pid)) {
        }
        HOLDS(monitor.release().error().code == EPIPE);
        return 7;
      },
      {.command = {"true"}});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 7);
}

TEST(Monitor, ExitCodeOfTheCommandWinsOverAnErrorOfTheWorker) {
  std::string said;
  const auto code = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(run_command(monitor));
        return environment_error(EIO, "what it says");
      },
      {.command = {"sh", "-c", "exit 5"},
       .say_error = [&](const Error& error) { said = error.what; }});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 5);
  EXPECT_EQ(said, "what it says");
}

TEST(Monitor, CommandsExitCodeOutlivesTheWorker) {
  std::string report;
  const auto code = run_split(
      {.command = {"sh", "-c", "exit 5"},
       .write_report = [&](const std::string& bytes) { report = bytes; }},
      [](MonitorClient& monitor) -> Result<int> {
        TRY(run_command(monitor));
        TRY(monitor.save_report("so far"));
        ::raise(SIGKILL);
        return 0;
      },
      [](MonitorClient&, const WorkerDeath&) -> Result<int> { return -1; });
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 5);
  EXPECT_EQ(report, "so far");
}

TEST(Monitor, SaysHowItsWorkerDiedWhereNothingWasSaved) {
  std::string report;
  const auto code = run_split(
      {.command = {"sh", "-c", "exit 5"},
       .write_report = [&](const std::string& bytes) { report = bytes; }},
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}));
        TRY(monitor.release());
        ::raise(SIGSEGV);
        return 0;
      },
      [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
        HOLDS(death.end && death.end->facts.exit == 5);
        TRY(monitor.save_report("worker " + death.how));
        return 0;
      });
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 5);
  EXPECT_EQ(report, "worker was killed by SIGSEGV");
}

// A zombie counts for the limits on its user's processes: a command that makes many short orphans
// would run into them.
constexpr const char* kFewChildrenAreLeft =
    "for round in $(seq 100); do "
    "  [ $(wc -w < /proc/$PPID/task/$PPID/children) -lt 20 ] && exit 5; sleep 0.1; "
    "done; exit 9";

TEST(Monitor, TakesOrphansThatEndWhileTheCommandRuns) {
  const auto code = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(run_command(monitor));
        return 0;
      },
      {.command = {"sh", "-c",
                   std::string("for i in $(seq 100); do (true &); done; ") + kFewChildrenAreLeft}});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 5);
}

TEST(Monitor, TakesOrphansOfTheCommandBefore) {
  const std::string once = ::testing::TempDir() + "hwprof-orphans-" + std::to_string(::getpid());
  const auto code = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(const CommandEnd first, run_command(monitor));
        HOLDS(first.facts.exit == 3);
        TRY(const CommandEnd second, run_command(monitor));
        HOLDS(second.left.empty());
        return 0;
      },
      {.command = {"sh", "-c",
                   "if mkdir " + once +
                       "; then "
                       "  for i in $(seq 40); do "
                       "    (sh -c 'while [ -e " +
                       once +
                       " ]; do sleep 0.1; done' &) ; done; exit 3; "
                       "fi; rmdir " +
                       once + "; " + kFewChildrenAreLeft},
       .runs = 2});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 5);
}

// How a worker ended that was given up, after a command that ended with 5.
std::string end_of_worker(const WorkerTask& after_command, const MonitorPatience& patience) {
  std::string how;
  const auto code = run_split(
      {.command = {"sh", "-c", "exit 5"},
       .patience = patience,
       .write_report = [&](const std::string& bytes) { how = bytes; }},
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(run_command(monitor));
        return after_command(monitor);
      },
      [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
        TRY(monitor.save_report(death.how));
        return 0;
      });
  EXPECT_TRUE(code && *code == 5);
  return how;
}

[[noreturn]] void hang() {
  while (true) ::pause();
}

TEST(Monitor, EndsAWorkerThatHangs) {
  EXPECT_EQ(end_of_worker([](MonitorClient&) -> Result<int> { hang(); }, {.silence = kSoon}),
            "was killed by SIGKILL");
}

TEST(Monitor, EndsAWorkerThatNeverStopsAsking) {
  const WorkerTask ask_on = [](MonitorClient& monitor) -> Result<int> {
    while (true) monitor.end_wanted();
  };
  EXPECT_EQ(end_of_worker(ask_on, {.work = kSoon}), "was killed by SIGKILL");
}

TEST(Monitor, EndsAWorkerThatHasFinishedAndStays) {
  const auto code = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        monitor.finish(7);
        while (true) monitor.end_wanted();
      },
      {.patience = {.end = kSoon}});
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 7);
}

TEST(Monitor, ASecondSignalEndsTheWorker) {
  const WorkerTask signal_twice = [](MonitorClient&) -> Result<int> {
    constexpr timespec kBetween{.tv_sec = 0, .tv_nsec = 700'000'000};
    sigset_t terminate;
    sigemptyset(&terminate);
    sigaddset(&terminate, SIGTERM);
    ::sigprocmask(SIG_BLOCK, &terminate, nullptr);
    for (int i = 0; i < 2; ++i) {
      ::kill(::getppid(), SIGTERM);
      ::nanosleep(&kBetween, nullptr);
    }
    hang();
  };
  EXPECT_EQ(end_of_worker(signal_twice, {}), "was killed by SIGKILL");
}

// Who has inherited the channel of a worker that has ended is nobody's worker.
TEST(Monitor, HearsNobodyInTheNameOfADeadWorker) {
  enum class Heir : int { kNone, kRuns, kUnheard };
  void* memory = ::mmap(nullptr, sizeof(std::atomic<Heir>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& heir = *new (memory) std::atomic<Heir>(Heir::kNone);
  const WorkerTask leave_an_heir = [&](MonitorClient& monitor) -> Result<int> {
    if (::fork() == 0) {
      ::alarm(20);
      while (monitor.ask({.ask = Ask::kEndWanted})) heir = Heir::kRuns;
      heir = Heir::kUnheard;
      ::_exit(0);
    }
    while (heir == Heir::kNone) ::sched_yield();
    ::raise(SIGKILL);
    return 0;
  };
  EXPECT_EQ(end_of_worker(leave_an_heir, {}), "was killed by SIGKILL");
  for (int i = 0; i < 5'000 && heir == Heir::kRuns; ++i) ::usleep(1000);
  EXPECT_EQ(heir.load(), Heir::kUnheard);
  ::munmap(memory, sizeof(std::atomic<Heir>));
}

// What the command of a test does: it has the user's rights, and is not under the worker's filter.
std::vector<std::string> this_program(const std::string& test) {
  return {std::filesystem::read_symlink("/proc/self/exe").string(),
          "--gtest_also_run_disabled_tests", "--gtest_filter=" + test};
}

std::string variable(const std::string& name, long value) {
  return "HWPROF_TEST_" + name + "=" + std::to_string(value);
}

long value_of(const std::string& name) {
  const char* value = std::getenv(("HWPROF_TEST_" + name).c_str());
  return value == nullptr ? 0 : std::atol(value);
}

// As root, for whom a worker is closed to others until it calls execve. The tracer outlives the
// command that starts it, and keeps the end of the worker that it kills.
TEST(Monitor, DISABLED_ProgramThatTracesTheWorker) {
  const auto worker = static_cast<pid_t>(value_of("WORKER"));
  if (::fork() == 0) {
    for (int i = 0; i < 5'000 && ::ptrace(PTRACE_SEIZE, worker, 0, 0) != 0; ++i) ::usleep(1000);
    ::kill(worker, SIGKILL);
    ::sleep(30);
    ::_exit(0);
  }
}

TEST(Monitor, DoesNotWaitForAWorkerWhoseEndATracerKeeps) {
  std::string how;
  const auto before = std::chrono::steady_clock::now();
  const auto code = run_split(
      {.command = this_program("Monitor.DISABLED_ProgramThatTracesTheWorker"),
       .write_report = [&](const std::string& bytes) { how = bytes; }},
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({variable("WORKER", ::getpid())}));
        TRY(monitor.release());
        ::execl("/bin/sleep", "sleep", "20", nullptr);
        return 1;
      },
      [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
        TRY(monitor.save_report(death.how));
        return 0;
      });
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(how, "was killed by SIGKILL");
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(15));
}

// Who observes it may be stopped by the user whose rights it has.
TEST(Monitor, EndsAnAttachedWorkerThatIsStopped) {
  for (const bool for_some_time : {true, false}) {
    const pid_t observed = ::fork();
    if (observed == 0) {
      if (for_some_time) ::pause();
      ::usleep(200'000);
      ::_exit(0);
    }
    std::string how;
    const auto before = std::chrono::steady_clock::now();
    const auto code = run_split(
        {.attach = observed,
         .attach_for = for_some_time ? std::optional(kSoon) : std::nullopt,
         .patience = {.silence = kSoon, .end = kSoon},
         .write_report = [&](const std::string& bytes) { how = bytes; }},
        [](MonitorClient&) -> Result<int> {
          ::raise(SIGSTOP);
          return 0;
        },
        [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
          TRY(monitor.save_report(death.how));
          return 0;
        });
    ::kill(observed, SIGKILL);
    ::waitpid(observed, nullptr, 0);
    ASSERT_TRUE(code) << code.error().what;
    EXPECT_EQ(how, "was killed by SIGKILL");
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(15));
  }
}

// Nobody but the monitor knows what became of the process, and since when it was watched.
TEST(Monitor, SaysWhatBecameOfAProcessWhoseWorkerDied) {
  for (const bool goes_on : {true, false}) {
    const pid_t observed = ::fork();
    if (observed == 0) {
      while (true) ::pause();
    }
    constexpr std::chrono::milliseconds kWatched{300};
    std::string said;
    const auto before = std::chrono::steady_clock::now();
    const auto code = run_split(
        {.attach = observed, .write_report = [&](const std::string& bytes) { said = bytes; }},
        [&](MonitorClient&) -> Result<int> {
          std::this_thread::sleep_for(kWatched);
          if (!goes_on) {
            ::kill(observed, SIGKILL);
            std::this_thread::sleep_for(kWatched);
          }
          ::raise(SIGKILL);
          return 0;
        },
        [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
          TRY(monitor.save_report(
              fmt::format("{} {:.6f}", death.goes_on ? "goes on" : "has ended", death.watched_s)));
          return 0;
        });
    const double took =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
    ::kill(observed, SIGKILL);
    ::waitpid(observed, nullptr, 0);
    ASSERT_TRUE(code) << code.error().what;
    const auto blank = said.rfind(' ');
    ASSERT_NE(blank, std::string::npos) << said;
    EXPECT_EQ(said.substr(0, blank), goes_on ? "goes on" : "has ended");
    const double watched_s = std::stod(said.substr(blank));
    EXPECT_GE(watched_s, std::chrono::duration<double>(kWatched).count());
    EXPECT_LE(watched_s, took);
  }
}

// A connection whose last close waits for 20 s: its peer, which does not read, lives as long.
UniqueFd socket_that_lingers() {
  const UniqueFd listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* name = reinterpret_cast<sockaddr*>(&address);
  UniqueFd end(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(listening.get(), name, size) != 0 ||
      ::getsockname(listening.get(), name, &size) != 0 || ::listen(listening.get(), 1) != 0 ||
      ::connect(end.get(), name, size) != 0) {
    return {};
  }
  if (::fork() == 0) {
    end.reset();
    const UniqueFd peer(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    ::sleep(20);
    ::_exit(0);
  }
  const linger forever{.l_onoff = 1, .l_linger = INT_MAX};
  ::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &forever, sizeof forever);
  ::fcntl(end.get(), F_SETFL, O_NONBLOCK);
  const std::string bytes(65536, 'x');
  for (int full = 0; full < 20; ++full, ::usleep(10'000))
    while (::write(end.get(), bytes.data(), bytes.size()) > 0) {
    }
  ::fcntl(end.get(), F_SETFL, 0);
  return end;
}

// The filter forbids the worker such a socket, the command may have one.
TEST(Monitor, DISABLED_ProgramThatGivesASocketAway) {
  const UniqueFd lingers = socket_that_lingers();
  const sockaddr_un name = hidden_name("socket", value_of("WORKER"));
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  ASSERT_TRUE(lingers.valid() && send_with(socket.get(), "x", 1, std::array{lingers.get()}));
}

// Through each channel: the hand waits, and is killed; those of the monitor stay unread.
TEST(Monitor, DoesNotWaitForASocketThatAWorkerGives) {
  for (const std::size_t channel : {0, 1, 2}) {
    const auto before = std::chrono::steady_clock::now();
    const auto code = run_split(
        {.command = this_program("Monitor.DISABLED_ProgramThatGivesASocketAway"),
         .passes_exit_code = false,
         .patience = {.end = kSoon}},
        [&](MonitorClient& monitor) -> Result<int> {
          const int to = channels().at(channel);
          const sockaddr_un name = hidden_name("socket", ::getpid());
          const UniqueFd listening(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
          HOLDS(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) ==
                0);
          HOLDS(::listen(listening.get(), 1) == 0);
          TRY(monitor.start({variable("WORKER", ::getpid())}));
          TRY(monitor.release());
          UniqueFd way(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
          const int given = receive_descriptor(way.get()).release();
          HOLDS(given >= 0);
          way.reset();
          TRY(monitor.wait());  // the program's own descriptor is closed
          const Question question{.ask = Ask::kEndWanted};
          HOLDS(send_with(to, &question, sizeof question, std::array{given}));
          ::_exit(0);  // an exit does not wait
        },
        [](MonitorClient&, const WorkerDeath&) -> Result<int> { return 7; });
    ASSERT_TRUE(code) << code.error().what;
    EXPECT_EQ(*code, 7);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10)) << channel;
  }
}

}  // namespace
}  // namespace hwprof::observe
