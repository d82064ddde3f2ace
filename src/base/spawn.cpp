#include "src/base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// posix_spawn rather than fork: the parent may have threads (a BLAS starts them at load) and fork
// would copy their locks.
class SpawnSetup {
 public:
  explicit SpawnSetup(int out) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, out, STDOUT_FILENO);  // clears close-on-exec
    posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  SpawnSetup(const SpawnSetup&) = delete;
  SpawnSetup& operator=(const SpawnSetup&) = delete;
  ~SpawnSetup() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  [[nodiscard]] const posix_spawn_file_actions_t* actions() const { return &actions_; }
  [[nodiscard]] const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A result is one line. What talks without end is not read to the end.
constexpr std::size_t kMostOutput = 64 * 1024;

pid_t wait_for(pid_t child, int& status, int flags) {
  return retry_interrupted([&] { return ::waitpid(child, &status, flags); });
}

}  // namespace

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return environment_error(errno, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool read_until(int fd, Clock::time_point deadline, std::size_t most, std::string& out) {
  std::array<char, 4096> buffer{};
  while (out.size() < most) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd event{fd, POLLIN, 0};
    const int ready = ::poll(&event, 1, static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t got = retry_interrupted([&] { return ::read(fd, buffer.data(), buffer.size()); });
    if (got <= 0) return true;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return true;
}

bool reap_until(pid_t child, Clock::time_point deadline, int& status) {
  while (wait_for(child, status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

void end_child(pid_t child) {
  int status = 0;
  ::kill(child, SIGKILL);
  reap_until(child, Clock::now() + std::chrono::seconds(1), status);
}

Result<UniqueFd> watch_child(pid_t child) {
  UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (ended.valid()) return ended;
  const int code = errno;
  end_child(child);
  return environment_error(code, fmt::format("pidfd_open: {}", std::strerror(code)),
                           code == ENOSYS ? "hwprof run needs Linux 5.3" : "");
}

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("ended with exit code {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return fmt::format("was killed by SIG{}", name == nullptr ? "?" : name);
}

int exit_code_from(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

Result<ChildOutput> child_output(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 Clock::time_point deadline) {
  TRY(Pipe pipe, make_pipe());
  std::vector<std::string> all{program};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const SpawnSetup setup(pipe.writer.get());
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, program.c_str(), setup.actions(), setup.attributes(),
                                   pointers_to(all).data(), pointers_to(environment).data());
  if (failed != 0) {
    return environment_error(failed,
                             fmt::format("cannot start {}: {}", program, std::strerror(failed)));
  }
  pipe.writer.reset();  // else the pipe never ends

  ChildOutput output;
  int status = 0;
  // The pipe has ended, so the child is about to; one that closed its output and lives on is
  // killed.
  output.timed_out = !read_until(pipe.reader.get(), deadline, kMostOutput, output.out) ||
                     !reap_until(child, deadline, status);
  if (output.timed_out) {
    ::kill(child, SIGKILL);
    wait_for(child, status, 0);
  }
  output.exit_code = exit_code_from(status);
  return output;
}

std::string why_it_ended(const ChildOutput& output, milliseconds allowed) {
  if (output.timed_out) return fmt::format("stopped after {} ms without a result", allowed.count());
  if (output.exit_code > 128) {
    const int signal = output.exit_code - 128;
    return fmt::format("crashed: signal {} ({})", signal, ::strsignal(signal));
  }
  return fmt::format("ended with exit code {} and no result", output.exit_code);
}

}  // namespace hwprof
