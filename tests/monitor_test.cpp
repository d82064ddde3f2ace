// The parts of hwprof: what a worker gets, and what it does not get.
#include "src/observe/monitor/monitor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

#include "counters/perf/open_event.h"
#include "src/observe/calls/routine_file.h"
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
    // Of a terminal of its own, which it could change without the filter.
    const UniqueFd terminal(::posix_openpt(O_RDWR | O_NOCTTY));
    HOLDS(terminal.valid());
    termios settings{};
    HOLDS(::tcgetattr(terminal.get(), &settings) == 0);
    HOLDS(::tcsetattr(terminal.get(), TCSANOW, &settings) == -1 && errno == EPERM);
    HOLDS(::tcflow(terminal.get(), TCOOFF) == -1 && errno == EPERM);
    winsize size{};
    HOLDS(::ioctl(terminal.get(), TIOCGWINSZ, &size) == 0);
    HOLDS(::ioctl(terminal.get(), TIOCSWINSZ, &size) == -1 && errno == EPERM);
    HOLDS(::ioctl(terminal.get(), TIOCSTI, "x") == -1 && errno == EPERM);
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

// What runs may be a program with more rights by the time that it is looked at again.
TEST(Monitor, OnlyWhatIsHeldIsCountedFromItsExecve) {
  const pid_t running = ::fork();
  if (running == 0) {
    ::execl("/bin/sleep", "sleep", "60", nullptr);
    ::_exit(1);
  }
  const auto line = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        perf_event_attr attr = clock_attr();
        const auto open = [&](pid_t task) {
          return code_of(
              monitor.ask({.ask = Ask::kOpenEvent, .pid = task, .cpu = -1, .attr = attr}));
        };
        const int possible = open(running);
        attr.disabled = attr.enable_on_exec = 1;
        if (possible == 0) HOLDS(open(running) == EPERM);
        HOLDS(open(::getpid()) != EPERM || possible == EPERM);
        return 0;
      },
      {.attach = running});
  ::kill(running, SIGKILL);
  ::waitpid(running, nullptr, 0);
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

// Traces a process, of which each child is stopped from its first moment, and stays so.
pid_t stop_children_of(std::atomic<pid_t>& process) {
  const pid_t tracer = ::fork();
  if (tracer != 0) return tracer;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  while (process == 0) ::usleep(1000);
  const pid_t traced = process;
  const bool traces = ::ptrace(PTRACE_SEIZE, traced, nullptr, PTRACE_O_TRACEFORK) == 0;
  process = traces ? -1 : -2;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, __WALL)) > 0;)
    if (pid == traced && WIFSTOPPED(status)) ::ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  ::_exit(0);
}

// Whoever can hold the process that reads a file holds neither the hand nor the session.
TEST(Monitor, DoesNotWaitForAFileThatIsNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root sets probes";
  void* memory = ::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto& traced = *new (memory) std::atomic<pid_t>(0);
  const pid_t tracer = stop_children_of(traced);
  const auto line = in_worker([&](MonitorClient& monitor) -> Result<int> {
    if (!monitor.ask({.ask = Ask::kBeginProbes})) return 0;  // no uprobes here
    pid_t hand = 0;
    for (const pid_t child : children_but_keepers(::getppid()))
      if (child != ::getpid() && child != tracer) hand = child;
    traced = hand;
    while (traced > 0) ::usleep(1000);
    HOLDS(traced == -1);
    const UniqueFd program = own_program();
    HOLDS(code_of(monitor.ask({.ask = Ask::kReadRoutines}, {}, program.get())) == ETIMEDOUT);
    HOLDS(code_of(monitor.ask({.ask = Ask::kReadRoutines}, {}, program.get())) == ETIMEDOUT);
    HOLDS(monitor.end_wanted() == 0);
    HOLDS(children_of(hand).empty());
    return 0;
  });
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::munmap(memory, sizeof traced);
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
          TRY(const pid_t pid, monitor.start({}));
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
          HOLDS(monitor.start({}).error().code == EINVAL);
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

// What it runs then may be closed to its user: a program that may be executed and not read.
TEST(Monitor, AWorkerThatHasCalledExecveIsHwprofNoMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root observes for somebody else";
  const Sleeper sleeper(false);
  ASSERT_EQ(::chmod(sleeper.path().c_str(), 0711), 0);
  const auto code = in_worker(
      [&](MonitorClient& monitor) -> Result<int> {
        TRY(monitor.start({}));
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
        HOLDS(monitor.start({"LD_PRELOAD=/tmp/x.so"}).error().code == EPERM);
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

TEST(Monitor, RunsTheCommandAsOftenAsWasAskedFor) {
  const auto line = in_worker(
      [](MonitorClient& monitor) -> Result<int> {
        for (int i = 0; i < 2; ++i) {
          TRY(run_command(monitor));
        }
        HOLDS(monitor.start({}).error().code == EPERM);
        return 0;
      },
      {.command = {"true"}, .runs = 2});
  ASSERT_TRUE(line) << line.error().what;
  EXPECT_EQ(*line, 0) << "the line that did not hold";
}

}  // namespace
}  // namespace hwprof::observe
