#include "src/observe/monitor/errands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "src/base/files.h"
#include "src/base/spawn.h"
#include "src/base/text.h"
#include "src/observe/monitor/sandbox.h"

namespace hwprof::observe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kMostSaid = 1U << 20U;
constexpr std::size_t kMostLeft = 4;
constexpr milliseconds kLingers{100};  // who was killed and lives on waits in the kernel

// An error goes home as its fault, its code, and two texts.
struct Said {
  bool failed = false;
  Fault fault = Fault::kEnvironment;
  int code = 0;
};

std::string in_bytes(const Result<std::string>& result) {
  Said said;
  if (!result) said = {true, result.error().fault, result.error().code};
  std::string bytes(reinterpret_cast<const char*>(&said), sizeof said);
  return bytes + (result ? *result : result.error().what + '\0' + result.error().hint);
}

Result<std::string> from_bytes(const std::string& bytes) {
  Said said;
  if (bytes.size() < sizeof said) return environment_error(EIO, "its process has ended");
  std::memcpy(&said, bytes.data(), sizeof said);
  std::string text = bytes.substr(sizeof said);
  if (!said.failed) return text;
  const auto parts = split(text, '\0');
  return tl::make_unexpected(Error{said.fault, said.code, std::string(parts[0]),
                                   parts.size() > 1 ? std::string(parts[1]) : ""});
}

// Until its other end is closed; false where that takes too long.
bool read_all(int fd, Clock::time_point until, std::string& bytes) {
  std::array<char, 4096> part{};
  while (bytes.size() < kMostSaid) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    pollfd waiting{fd, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (retry_interrupted([&] { return ::poll(&waiting, 1, static_cast<int>(left.count())); }) <= 0)
      return false;
    const ssize_t got = retry_interrupted([&] { return ::read(fd, part.data(), part.size()); });
    if (got <= 0) return true;
    bytes.append(part.data(), static_cast<std::size_t>(got));
  }
  return true;
}

// An exception would go on in the copy of whoever wanted the errand.
[[noreturn]] void do_errand(const Errand& errand, int said, pid_t parent) noexcept {
  end_with_parent(parent);
  close_all_but({said});
  // Not /dev/null: what leads to them by a link must fail, not vanish. Nor closed: a file would get
  // their numbers, and what a library has to complain of.
  const int nothing = ::open("/", O_PATH | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (standard != said) ::dup2(nothing, standard);
  static_cast<void>(write_all(said, in_bytes(errand())));
  ::_exit(0);
}

// An errand has none of them. /dev/shm is a folder that all may read.
bool is_open_file(const std::string& path) {
  return path == "/dev/null" || path == "/dev/tty" || path == "/dev/full" ||
         path.starts_with("/dev/std") || path.starts_with("/dev/fd/") ||
         path.starts_with("/dev/pts/") || path.starts_with("/proc/self/") ||
         path.starts_with("/proc/thread-self/");
}

}  // namespace

Result<std::string> Errands::run(milliseconds patience, const Errand& errand) {
  std::erase_if(left_, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) == pid; });
  if (left_.size() >= kMostLeft)
    return environment_error(ETIMEDOUT, "those before it wait in the kernel");
  TRY(Pipe said, make_pipe());
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) do_errand(errand, said.writer.get(), parent);
  said.writer.reset();
  std::string bytes;
  const bool ended = read_all(said.reader.get(), Clock::now() + patience, bytes);
  ::kill(pid, SIGKILL);
  const auto until = Clock::now() + kLingers;
  pid_t reaped = 0;
  while ((reaped = ::waitpid(pid, nullptr, WNOHANG)) == 0 && Clock::now() < until)
    ::poll(nullptr, 0, 1);
  if (reaped == 0) left_.insert(pid);
  if (!ended) return environment_error(ETIMEDOUT, "it waited in the kernel for too long");
  return from_bytes(bytes);
}

Result<void> at_files(Errands& errands, std::span<const std::string> paths, milliseconds patience,
                      const std::function<Result<void>()>& work) {
  if (::geteuid() != 0 || std::any_of(paths.begin(), paths.end(), is_open_file)) return work();
  const auto done = errands.run(patience, [&]() -> Result<std::string> {
    TRY(work());
    return std::string();
  });
  if (done) return {};
  if (done.error().code != ETIMEDOUT) return error_of(done);
  std::string names;
  for (const std::string& path : paths)
    if (!path.empty()) names += (names.empty() ? "" : ", ") + path;
  return environment_error(
      ETIMEDOUT,
      fmt::format("cannot write {}: a process holds the file, or a folder on its way", names),
      "choose a folder that other users cannot read");
}

}  // namespace hwprof::observe
