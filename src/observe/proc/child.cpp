#include "src/observe/proc/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>

#include "src/base/account.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/signals.h"

namespace hwprof {
namespace {

constexpr int kLongestStart = 30'000;  // ms, from "go" to its first instruction

std::string_view name_of(std::string_view entry) { return entry.substr(0, entry.find('=')); }

// Ours, with `changes` in place of or behind it.
std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    bool replaced = false;
    for (const std::string& change : changes)
      replaced = replaced || name_of(change) == name_of(*entry);
    if (!replaced) result.emplace_back(*entry);
  }
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(result),
               [](const std::string& change) { return change.find('=') != std::string::npos; });
  return result;
}

// All that the child needs, made before fork: memory must not be allocated in it.
struct Orders {
  const char* path = nullptr;
  std::vector<char*> arguments, environment;
  std::optional<Account> account;
  std::optional<cpu_set_t> cpus;
  int go = -1, failure = -1;
  int output = -1, error = -1;
};

// Which step failed goes home beside the errno.
enum class Step : int { kReady, kPin, kUser, kOutput, kExec };
struct Failure {
  Step step = Step::kExec;
  int code = 0;  // kReady: KiB of memory that the copy of hwprof had at most
};

[[noreturn]] void give_up(int fd, Step step) {
  const Failure failure{step, errno};
  // Nobody is left to tell when this fails, too.
  [[maybe_unused]] const ssize_t written = ::write(fd, &failure, sizeof failure);
  ::_exit(127);
}

[[noreturn]] void run_child(const Orders& orders) {
  // Before its observers come: they may watch what is the user's.
  const bool refused = orders.account && !become(*orders.account);
  const int why = errno;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const Failure ready{Step::kReady, static_cast<int>(usage.ru_maxrss)};
  if (::write(orders.failure, &ready, sizeof ready) != sizeof ready) ::_exit(127);
  char go = 0;
  const ssize_t got = retry_interrupted([&] { return ::read(orders.go, &go, 1); });
  if (got != 1) ::_exit(127);  // hwprof is gone or gave up: nothing has begun
  if (orders.cpus && ::sched_setaffinity(0, sizeof *orders.cpus, &*orders.cpus) != 0)
    give_up(orders.failure, Step::kPin);
  if (refused) {
    errno = why;
    give_up(orders.failure, Step::kUser);
  }
  if ((orders.output >= 0 && ::dup2(orders.output, STDOUT_FILENO) < 0) ||
      (orders.error >= 0 && ::dup2(orders.error, STDERR_FILENO) < 0))
    give_up(orders.failure, Step::kOutput);
  ::execve(orders.path, orders.arguments.data(), orders.environment.data());
  give_up(orders.failure, Step::kExec);
}

std::string why_not_run(int code) {
  if (code == ENOEXEC)
    return "it is neither a program for this machine nor a script with a #! line, and hwprof uses "
           "no shell";
  if (code == ENOENT) return "it, its interpreter, or its dynamic loader does not exist";
  return std::strerror(code);
}

// Whether it does so in time: its user may stop a child, which would stop hwprof, too.
bool says_something(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return retry_interrupted([&] { return ::poll(&waiting, 1, kLongestStart); }) > 0;
}

double rusage_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

}  // namespace

Result<Child> Child::start(const std::string& path, const std::vector<std::string>& command,
                           const ChildSetup& setup) {
  Orders orders;
  std::vector<std::string> changes = setup.environment;
  if (setup.user) {
    TRY(Account account, find_account(*setup.user));
    changes.push_back("HOME=" + account.home);
    changes.push_back("USER=" + account.name);
    changes.push_back("LOGNAME=" + account.name);
    orders.account = std::move(account);
  }
  const std::vector<std::string> environment = environment_with(changes);
  orders.path = path.c_str();
  orders.arguments = pointers_to(command);
  orders.environment = pointers_to(environment);
  if (!setup.cpus.empty()) {
    CPU_ZERO(&orders.cpus.emplace());
    for (const unsigned cpu : setup.cpus) CPU_SET(cpu, &*orders.cpus);
  }

  TRY(Pipe go, make_pipe());
  TRY(Pipe failure, make_pipe());
  orders.go = go.reader.get();
  orders.failure = failure.writer.get();
  orders.output = setup.output;
  orders.error = setup.error;

  const pid_t pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) {
    ::close(go.writer.get());  // else it would not see that hwprof has ended
    SignalWatch::restore_in_child();
    run_child(orders);
  }
  Child child;
  child.pid_ = pid;
  child.path_ = path;
  child.go_ = std::move(go.writer);
  child.failure_ = std::move(failure.reader);
  // Whose process it is must be settled before anybody asks.
  Failure ready;
  failure.writer.reset();
  if (says_something(child.failure_.get()))
    retry_interrupted([&] { return ::read(child.failure_.get(), &ready, sizeof ready); });
  // It touches more pages on its way to execve.
  constexpr std::uint64_t kKibibyte = 1024, kFewPages = 1024 * kKibibyte;
  child.start_rss_bytes_ = kFewPages;
  if (ready.step == Step::kReady)
    child.start_rss_bytes_ += kKibibyte * static_cast<std::uint64_t>(std::max(0, ready.code));
  TRY(child.pidfd_, watch_child(pid));
  return child;
}

Result<void> Child::release() {
  const char go = 1;
  if (retry_interrupted([&] { return ::write(go_.get(), &go, 1); }) != 1)
    return environment_error(errno,
                             fmt::format("cannot start {}: {}", path_, std::strerror(errno)));
  go_.reset();
  if (!says_something(failure_.get())) {
    end_child(pid_);
    return environment_error(ETIMEDOUT, fmt::format("{}: was held before it began, for {} s", path_,
                                                    kLongestStart / 1000));
  }
  Failure failure;
  const ssize_t got =
      retry_interrupted([&] { return ::read(failure_.get(), &failure, sizeof failure); });
  failure_.reset();
  if (got == 0) return {};  // closed by execve
  end_child(pid_);
  if (got != static_cast<ssize_t>(sizeof failure))
    return environment_error(0, fmt::format("{}: ended before it began", path_));
  switch (failure.step) {
    case Step::kReady:
      break;
    case Step::kPin:
      return environment_error(
          0, fmt::format("cannot pin {}: {}", path_, std::strerror(failure.code)));
    case Step::kUser:
      return environment_error(
          0, fmt::format("cannot become the user: {}", std::strerror(failure.code)));
    case Step::kOutput:
      return environment_error(
          0, fmt::format("cannot redirect its output: {}", std::strerror(failure.code)));
    case Step::kExec:
      break;
  }
  return environment_error(failure.code,
                           fmt::format("{}: cannot be run: {}", path_, why_not_run(failure.code)));
}

Child::~Child() {
  if (go_.valid()) end_child(pid_);
}

bool Child::can_be_waited_for() const {
  siginfo_t info{};
  const int done = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  return done != 0 || info.si_pid == pid_;  // an error is one that wait() gives
}

Result<ChildEnd> Child::wait() {
  pollfd ended{pidfd_.get(), POLLIN, 0};
  retry_interrupted([&] { return ::poll(&ended, 1, -1); });
  int status = 0;
  rusage usage{};
  const pid_t got = retry_interrupted([&] { return ::wait4(pid_, &status, WNOHANG, &usage); });
  if (got == 0) return environment_error(EBUSY, "another process traces it, and keeps its end");
  if (got != pid_) return environment_error(errno, fmt::format("wait4: {}", std::strerror(errno)));
  return child_end(status, usage, start_rss_bytes_);
}

ChildEnd child_end(int status, const rusage& usage, std::uint64_t start_rss_bytes) {
  constexpr std::uint64_t kKibibyte = 1024;
  ChildEnd end;
  end.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  end.exit = exit_code_from(status);
  end.user_s = rusage_seconds(usage.ru_utime);
  end.system_s = rusage_seconds(usage.ru_stime);
  end.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  end.page_faults = static_cast<std::uint64_t>(usage.ru_minflt) + end.major_faults;
  end.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  end.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  end.start_rss_bytes = start_rss_bytes;
  // exec counts the memory of the image that it replaces (fs/exec.c, exec_mmap), ours here.
  const std::uint64_t peak = static_cast<std::uint64_t>(usage.ru_maxrss) * kKibibyte;
  if (peak > start_rss_bytes) end.peak_rss_bytes = peak;
  return end;
}

UniqueFd children_file() {
  const pid_t self = ::getpid();
  return UniqueFd(
      ::open(fmt::format("/proc/{0}/task/{0}/children", self).c_str(), O_RDONLY | O_CLOEXEC));
}

Orphans::Orphans(int children) : children_(children) {
  const std::vector<pid_t> before = all({});
  before_.insert(before.begin(), before.end());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);  // Linux 3.4; cannot fail
}

Orphans::~Orphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 0UL, 0UL, 0UL, 0UL); }

void Orphans::begin_next(const std::set<pid_t>& own) {
  reap(own);
  const std::vector<pid_t> living = all(own);
  earlier_ = {living.begin(), living.end()};
  user_s_ = system_s_ = 0;
}

std::vector<pid_t> Orphans::adopted(const std::set<pid_t>& own) const {
  std::vector<pid_t> pids = all(own);
  std::erase_if(pids, [&](pid_t pid) { return earlier_.contains(pid); });
  return pids;
}

std::vector<pid_t> Orphans::all(const std::set<pid_t>& own) const {
  std::vector<pid_t> pids;
  if (::lseek(children_, 0, SEEK_SET) != 0) return pids;
  const std::string text = read_text(children_).value_or("");
  for (const std::string_view word : split(trim(text), ' ')) {
    const auto child = parse_int(word);
    if (child && !own.contains(*child) && !before_.contains(*child)) pids.push_back(*child);
  }
  return pids;
}

bool Orphans::take(pid_t child) {
  rusage usage{};
  if (::wait4(child, nullptr, WNOHANG, &usage) != child) return false;
  if (earlier_.erase(child) != 0) return true;
  const ChildEnd end = child_end(0, usage, 0);
  user_s_ += end.user_s;
  system_s_ += end.system_s;
  return true;
}

bool Orphans::reap(const std::set<pid_t>& own) {
  // One after another, whoever has ended: to read the list of all who live takes long where many
  // do. One of ours that has ended hides those behind it.
  constexpr int kMostAtOnce = 1000;  // a program that makes them faster than this does not stop us
  for (int taken = 0; taken < kMostAtOnce; ++taken) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
      return true;
    const bool ours = own.contains(ended.si_pid) || before_.contains(ended.si_pid);
    if (ours || !take(ended.si_pid)) {
      for (const pid_t child : all(own)) take(child);
      return true;
    }
  }
  return false;
}

std::vector<Orphans::Left> Orphans::running(const std::vector<pid_t>& adopted) {
  std::vector<Left> left;
  for (const pid_t child : adopted) {
    for (const pid_t pid : process_tree(child)) {
      const auto info = process_info(pid);
      if (info && !info->ended) left.push_back({pid, info->name});
    }
  }
  return left;
}

}  // namespace hwprof
