// The parts of hwprof: what a worker gets, what it does not get, and what is left of it when
// it dies.
#include "src/observe/monitor/monitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

#include "counters/perf/open_event.h"
#include "src/observe/calls/routine_file.h"
#include "src/observe/monitor/channel.h"
#include "src/observe/proc/processes.h"
#include "tests/monitor_setup.h"

// A routine of a BLAS, to be found in this program.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" __attribute__((used, noinline)) void sgemm_() {}

namespace hwprof::observe {
namespace {

std::string status_line(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return line.substr(name.size() + 1);
  return "";
}

TEST(Monitor, ExitCodeIsThatOfTheWorker) {
  const auto code = in_worker([](MonitorClient&) -> Result<int> { return 7; });
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 7);
}

TEST(Monitor, ErrorOfTheWorkerIsThatOfHwprof) {
  const auto code =
      in_worker([](MonitorClient&) -> Result<int> { return usage_error("no such thing", "try"); });
  ASSERT_FALSE(code);
  EXPECT_EQ(code.error().fault, Fault::kUsage);
  EXPECT_EQ(code.error().what, "no such thing");
  EXPECT_EQ(code.error().hint, "try");
}

TEST(Monitor, WorkerHasNoRightsAndNoWayToThem) {
  const auto line = in_worker([](MonitorClient&) -> Result<int> {
    for (const char* set : {"CapPrm", "CapEff", "CapAmb"})
      HOLDS(std::strtoull(status_line(set + std::string(":")).c_str(), nullptr, 16) == 0);
    HOLDS(std::atoi(status_line("NoNewPrivs:").c_str()) == 1);
    HOLDS(std::atoi(status_line("Seccomp:").c_str()) == 2);
    HOLDS(::setuid(0) == (::getuid() == 0 ? 0 : -1));
    perf_event_attr attr = clock_attr();
    HOLDS(::syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) == -1 && errno == EPERM);
    HOLDS(::socket(AF_INET, SOCK_STREAM, 0) == -1 && errno == EPERM);
    HOLDS(::socket(AF_NETLINK, SOCK_RAW, 0) == -1 && errno == EPERM);
    // The kernel looks at the lower half alone.
    constexpr long kDisguised = (1L << 32) | AF_INET;
    HOLDS(::syscall(SYS_socket, kDisguised, SOCK_STREAM, 0) == -1 && errno == EPERM);
    const UniqueFd within(::socket(AF_UNIX, SOCK_STREAM, 0));
    HOLDS(within.valid());
    HOLDS(::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0) == -1 && errno == EPERM);
    HOLDS(::syscall(SYS_clone3, nullptr, 0) == -1 && errno == ENOSYS);
    HOLDS(::syscall(SYS_ptrace, 0, 0, 0, 0) == -1 && errno == EPERM);
    return 0;
  });
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

TEST(Monitor, EventsOfOthersAreRefused) {
  const auto line = in_worker([](MonitorClient& monitor) -> Result<int> {
    const perf_event_attr attr = clock_attr();
    const auto open = [&](pid_t task, const perf_event_attr& of) {
      return code_of(monitor.ask({.ask = Ask::kOpenEvent, .pid = task, .cpu = -1, .attr = of}));
    };
    HOLDS(open(1, attr) == EPERM);
    HOLDS(open(-1, attr) != 0);  // all that run on a CPU
    HOLDS(open(::getppid(), attr) == EPERM);
    perf_event_attr other = attr;
    other.type = PERF_TYPE_BREAKPOINT;
    HOLDS(open(::getpid(), other) == EPERM);
    other.type = PERF_TYPE_TRACEPOINT;
    other.config = 1;
    HOLDS(open(::getpid(), other) == EPERM);
#if defined(__x86_64__)
    other.type = PERF_TYPE_RAW;
    other.config = 0x3c | 1U << 21U;  // the cycles of both threads of the core
    HOLDS(open(::getpid(), other) == EPERM);
    other.config = 0x3c;
    HOLDS(open(::getpid(), other) != EPERM);
#endif
    return 0;
  });
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

TEST(Monitor, FilesOfOthersAreRefused) {
  const auto line = in_worker([](MonitorClient& monitor) -> Result<int> {
    const auto open = [&](ForeignFile::Kind kind, pid_t pid, const char* path) {
      return code_of(monitor.ask({.ask = Ask::kOpenFile, .pid = pid, .file = kind}, path));
    };
    using Kind = ForeignFile::Kind;
    HOLDS(open(Kind::kMemory, 1, "") == EPERM);
    HOLDS(open(Kind::kMaps, ::getppid(), "") == EPERM);
    for (const Kind inside :
         {Kind::kMaps, Kind::kMemory, Kind::kEnvironment, Kind::kPages, Kind::kPagesByNode})
      HOLDS(open(inside, ::getpid(), "") == EPERM);  // hwprof's own
    HOLDS(open(static_cast<Kind>(99), ::getpid(), "") == EINVAL);
    HOLDS(open(Kind::kInRoot, ::getpid(), "/dev/null") == EINVAL);  // no regular file
    // Rights that are not those on files open these, and "self" would be the monitor.
    HOLDS(open(Kind::kInRoot, ::getpid(), "/proc/kallsyms") == EINVAL);
    HOLDS(open(Kind::kInRoot, ::getpid(), "/proc/self/maps") == EINVAL);
    HOLDS(monitor.ask({.ask = static_cast<Ask>(77)}).error().code == EINVAL);
    return 0;
  });
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

UniqueFd own_program() { return name_of("/proc/self/exe"); }

std::string points_of(std::initializer_list<ProbePoint> points) {
  std::string bytes;
  for (const ProbePoint& point : points)
    bytes.append(reinterpret_cast<const char*>(&point), sizeof point);
  return bytes;
}

TEST(Monitor, ProbesAreSetInRegularFilesWhereBlasRoutinesBegin) {
  const auto line = in_worker([](MonitorClient& monitor) -> Result<int> {
    const auto read = [&](int file) { return monitor.ask({.ask = Ask::kReadRoutines}, {}, file); };
    const auto define = [&](int number, std::initializer_list<ProbePoint> points,
                            int generation = 0) {
      return code_of(
          monitor.ask({.ask = Ask::kDefineProbes, .number = number, .generation = generation},
                      points_of(points)));
    };
    const UniqueFd program = own_program();
    HOLDS(code_of(read(program.get())) == EINVAL);           // not begun
    if (!monitor.ask({.ask = Ask::kBeginProbes})) return 0;  // no uprobes here
    HOLDS(code_of(read(-1)) == EINVAL);
    HOLDS(code_of(read(name_of("/").get())) == EINVAL);
    HOLDS(code_of(read(name_of("/dev/null").get())) == EINVAL);

    TRY(const auto known, read(program.get()));
    const int number = known.head.number;
    const auto routines =
        read_routines(UniqueFd(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)), "");
    HOLDS(routines && routines->entries.size() == 1);
    const std::uint64_t begin = routines->entries[0].offset;
    HOLDS(define(number, {{begin, 1, EventKind::kEntry}, {begin, 1, EventKind::kReturn}}) == 0);
    HOLDS(define(number, {{begin + 1, 2, EventKind::kEntry}}) == EINVAL);
    HOLDS(define(number, {{begin, 2, EventKind::kEntry}, {0, 3, EventKind::kEntry}}) == EINVAL);
    HOLDS(define(number, {{begin, 2, static_cast<EventKind>(9)}}) == EINVAL);
    HOLDS(define(number, {{begin, 2, static_cast<EventKind>(-2)}}) == EINVAL);
    HOLDS(define(number, {{begin, 2, EventKind::kEntry}}, -1) == EINVAL);
    HOLDS(define(number + 1, {{begin, 2, EventKind::kEntry}}) == EINVAL);
    HOLDS(define(-1, {{begin, 2, EventKind::kEntry}}) == EINVAL);

    const UniqueFd other = name_of("/bin/sleep");
    TRY(const auto without, read(other.get()));
    HOLDS(without.head.number != number);
    HOLDS(define(without.head.number, {{begin, 2, EventKind::kEntry}}) == EINVAL);
    TRY(const auto left, monitor.ask({.ask = Ask::kRemoveProbes}));
    HOLDS(left.text.empty());
    return 0;
  });
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

// Whoever can hold the process that reads a file holds neither the hand nor the session.
TEST(Monitor, DoesNotWaitForAFileThatIsNotRead) {
  const auto line = in_worker([](MonitorClient& monitor) -> Result<int> {
    if (!monitor.ask({.ask = Ask::kBeginProbes})) return 0;  // no uprobes here
    pid_t hand = 0;
    for (const pid_t child : children_but_keepers(::getppid()))
      if (child != ::getpid()) hand = child;
    const pid_t stopper = ::fork();
    if (stopper == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      while (true) {
        for (const pid_t child : children_of(hand)) ::kill(child, SIGSTOP);
      }
    }
    const UniqueFd program = own_program();
    int code = 0;
    for (int tries = 0; tries < 200 && code == 0; ++tries)
      code = code_of(monitor.ask({.ask = Ask::kReadRoutines}, {}, program.get()));
    ::kill(stopper, SIGKILL);
    ::waitpid(stopper, nullptr, 0);
    HOLDS(code == ETIMEDOUT);
    HOLDS(code_of(monitor.ask({.ask = Ask::kReadRoutines}, {}, program.get())) == ETIMEDOUT);
    HOLDS(monitor.end_wanted() == 0);
    HOLDS(children_of(hand).empty());
    return 0;
  });
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

// A copy of sleep, with a group's rights or without.
class Sleeper {
 public:
  explicit Sleeper(bool setgid) {
    std::filesystem::copy_file("/bin/sleep", path_,
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(::chown(path_.c_str(), 0, 1), 0);
    EXPECT_EQ(::chmod(path_.c_str(), setgid ? 02755 : 0755), 0);
  }
  ~Sleeper() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "monitor-sleeper";
};

TEST(Monitor, ProcessesWithRightsThatTheUserLacksAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root observes for somebody else";
  for (const bool setgid : {false, true}) {
    const Sleeper sleeper(setgid);
    const auto line = in_worker(
        [&](MonitorClient& monitor) -> Result<int> {
          TRY(const pid_t pid, monitor.start({}, false));
          const auto event = [&] {
            return code_of(
                monitor.ask({.ask = Ask::kOpenEvent, .pid = pid, .cpu = -1, .attr = clock_attr()}));
          };
          const auto open = [&](ForeignFile::Kind kind) {
            return code_of(monitor.ask({.ask = Ask::kOpenFile, .pid = pid, .file = kind}));
          };
          HOLDS(event() == 0);                               // not yet what it will be
          HOLDS(open(ForeignFile::Kind::kMemory) == EPERM);  // a copy of the monitor's
          HOLDS(open(ForeignFile::Kind::kMaps) == EPERM);
          HOLDS(open(ForeignFile::Kind::kPages) == EPERM);
          HOLDS(open(ForeignFile::Kind::kEnvironment) == EPERM);
          HOLDS(monitor.start({}, false).error().code == EINVAL);
          TRY(monitor.release());
          const int expected = setgid ? EPERM : 0;
          HOLDS(event() == expected);
          HOLDS(open(ForeignFile::Kind::kMemory) == expected);
          HOLDS(open(ForeignFile::Kind::kMaps) == expected);
          HOLDS(open(ForeignFile::Kind::kPages) == expected);
          HOLDS(open(ForeignFile::Kind::kEnvironment) == expected);
          ::kill(pid, SIGKILL);
          TRY(monitor.wait());
          HOLDS(event() == ESRCH);
          return 0;
        },
        {.command = {sleeper.path(), "30"}, .user = "nobody", .passes_exit_code = false});
    ASSERT_TRUE(line) << line.error().what;
    EXPECT_EQ(*line, 0) << "the line that did not hold, setgid " << setgid;
  }
}

TEST(Monitor, LeavesNoCommandThatWasNeverReleased) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}, false));
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
        TRY(monitor.start({}, false));
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
        TRY(const pid_t pid, monitor.start({}, false));
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
        TRY(monitor.start({}, true));
        TRY(monitor.release());
        TRY(monitor.wait());
        return environment_error(EIO, "what it says");
      },
      {.command = {"sh", "-c", "exit 5"},
       .say_error = [&](const Error& error) { said = error.what; }});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 5);
  EXPECT_EQ(said, "what it says");
}

// What it runs then may be closed to its user: a program that may be executed and not read.
TEST(Monitor, AWorkerThatHasCalledExecveIsHwprofNoMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root observes for somebody else";
  const Sleeper sleeper(false);
  ASSERT_EQ(::chmod(sleeper.path().c_str(), 0711), 0);
  const auto code = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}, false));
        TRY(monitor.release());
        const pid_t worker = ::getpid();
        if (::fork() == 0) {
          const auto open = [&](ForeignFile::Kind kind) {
            return code_of(monitor.ask({.ask = Ask::kOpenFile, .pid = worker, .file = kind}));
          };
          const auto asked = [&]() -> int {
            for (auto info = process_info(worker); info && info->name != "monitor-sleeper";)
              info = process_info(worker);
            HOLDS(open(ForeignFile::Kind::kMaps) == EPERM);
            HOLDS(open(ForeignFile::Kind::kMemory) == EPERM);
            HOLDS(code_of(monitor.ask(
                      {.ask = Ask::kOpenEvent, .pid = worker, .cpu = -1, .attr = clock_attr()})) ==
                  EPERM);
            return 0;
          };
          monitor.finish(asked());
          ::kill(worker, SIGKILL);
          ::_exit(0);
        }
        ::execl(sleeper.path().c_str(), "sleep", "20", nullptr);
        return __LINE__;
      },
      {.command = {"true"}, .user = "nobody"});
  ASSERT_TRUE(code) << code.error().what;
  EXPECT_EQ(*code, 0) << "the line that did not hold";
}

TEST(Monitor, WorkerHasNoDescriptorOfHwprofs) {
  const int inherited = ::open("/dev/null", O_RDONLY);  // NOLINT(android-cloexec-open)
  const auto line = in_worker([&](MonitorClient&) -> Result<int> {
    HOLDS(::fcntl(inherited, F_GETFD) == -1);
    return 0;
  });
  ::close(inherited);
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

TEST(Monitor, EndsAWorkerThatAsksAndDoesNotRead) {
  std::string how;
  const auto code = run_split(
      {.write_report = [&](const std::string& bytes) { how = bytes; }},
      [](MonitorClient&) -> Result<int> {
        const Question question{.ask = Ask::kEndWanted};
        while (::send(channels()[1], &question, sizeof question, MSG_NOSIGNAL) > 0) {
        }
        return 0;
      },
      [](MonitorClient& monitor, const WorkerDeath& death) -> Result<int> {
        TRY(monitor.save_report(death.how));
        return 0;
      });
  ASSERT_TRUE(code);
  EXPECT_EQ(how, "was killed by SIGKILL");
}

TEST(Monitor, WritesOnlyFilesThatTheCommandLineNames) {
  const std::string allowed = testing::TempDir() + "monitor-allowed", other = allowed + "-not";
  const auto line = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        HOLDS(monitor.save_file(other, "x").error().code == EPERM);
        HOLDS(code_of(monitor.ask({.ask = Ask::kSaveReport})) == EINVAL);
        HOLDS(monitor.save_file(allowed, std::string(100'000, 'x') + "report"));
        return 0;
      },
      {.files = {allowed}});
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
  std::stringstream text;
  text << std::ifstream(allowed).rdbuf();
  EXPECT_EQ(text.str(), std::string(100'000, 'x') + "report");
  EXPECT_NE(::access(other.c_str(), F_OK), 0);
  ::unlink(allowed.c_str());
}

TEST(Monitor, SetsNoVariableButItsOwn) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        HOLDS(monitor.start({"LD_PRELOAD=/tmp/x.so"}, false).error().code == EPERM);
        HOLDS(monitor.release().error().code == EINVAL);  // nothing was started
        return -1;
      },
      {.command = {"true"}});
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, -1) << "the line that did not hold";
}

TEST(Monitor, SetsAndRemovesVariablesThatItWasToldOf) {
  ::setenv("OMP_GONE", "x", 1);
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        HOLDS(monitor.start_quietly({"LD_PRELOAD=/tmp/x.so"}).error().code == EPERM);
        HOLDS(monitor.start_quietly({"PATH"}).error().code == EPERM);
        TRY(const auto quiet, monitor.start_quietly({"OMP_SET=7", "OMP_GONE"}));
        TRY(monitor.release());
        char text[64] = {};
        std::size_t size = 0;
        for (ssize_t got = 1; got > 0; size += static_cast<std::size_t>(got))
          got = ::read(quiet.output.get(), text + size, sizeof text - size);
        TRY(const auto end, monitor.wait());
        HOLDS(end.facts.exit == 0);
        HOLDS(std::string(text, size) == "[7] [none]");
        return 0;
      },
      {.command = {"sh", "-c", "printf '[%s] [%s]' $OMP_SET ${OMP_GONE-none}; echo no >&2"},
       .variables = {"OMP_"}});
  ::unsetenv("OMP_GONE");
  ASSERT_TRUE(line);
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

TEST(Monitor, CommandsExitCodeOutlivesTheWorker) {
  std::string report;
  const auto code = run_split(
      {.command = {"sh", "-c", "exit 5"},
       .write_report = [&](const std::string& bytes) { report = bytes; }},
      [](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}, true));
        TRY(monitor.release());
        TRY(monitor.wait());
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
        TRY(monitor.start({}, true));
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

// How a worker ended that was given up, after a command that ended with 5.
std::string end_of_worker(const WorkerTask& after_command, const MonitorPatience& patience) {
  std::string how;
  const auto code = run_split(
      {.command = {"sh", "-c", "exit 5"},
       .patience = patience,
       .write_report = [&](const std::string& bytes) { how = bytes; }},
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}, true));
        TRY(monitor.release());
        TRY(monitor.wait());
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
        TRY(monitor.start({variable("WORKER", ::getpid())}, true));
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
          TRY(monitor.start({variable("WORKER", ::getpid())}, false));
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

TEST(Monitor, RunsTheCommandAsOftenAsWasAskedFor) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        for (int i = 0; i < 2; ++i) {
          TRY(monitor.start({}, false));
          TRY(monitor.release());
          TRY(monitor.wait());
        }
        HOLDS(monitor.start({}, false).error().code == EPERM);
        return 0;
      },
      {.command = {"true"}, .runs = 2});
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

}  // namespace
}  // namespace hwprof::observe
