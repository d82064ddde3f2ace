#include "src/observe/monitor/errands.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "src/base/files.h"
#include "src/base/spawn.h"
#include "src/observe/monitor/protocol.h"
#include "src/observe/monitor/sandbox.h"

namespace hwprof::observe {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kLingers{100};  // who was killed and lives on waits in the kernel

// What goes home before a text: its own, or that of an error.
struct Said {
  bool failed = false;
  Fault fault = Fault::kEnvironment;
  int code = 0;
};

std::string in_bytes(const Result<std::string>& result) {
  Said said;
  if (!result) said = {true, result.error().fault, result.error().code};
  const std::string bytes(reinterpret_cast<const char*>(&said), sizeof said);
  return bytes + (result ? *result : text_of(result.error()));
}

Result<std::string> from_bytes(const std::string& bytes) {
  Said said;
  if (bytes.size() < sizeof said) return environment_error(EIO, "its process has ended");
  std::memcpy(&said, bytes.data(), sizeof said);
  std::string text = bytes.substr(sizeof said);
  if (said.failed) return tl::make_unexpected(error_in(said.fault, said.code, text));
  return text;
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

}  // namespace

std::set<pid_t> Errands::left() const {
  std::set<pid_t> pids;
  for (const auto& [pid, about] : left_) pids.insert(pid);
  return pids;
}

Result<std::string> Errands::run(milliseconds patience, const std::string& about,
                                 const Errand& errand, std::size_t most) {
  std::erase_if(
      left_, [](const auto& one) { return ::waitpid(one.first, nullptr, WNOHANG) == one.first; });
  if (left_.size() >= most_left_) {
    std::set<std::string> waited_for;
    for (const auto& [pid, file] : left_) waited_for.insert(file);
    return environment_error(ECANCELED,
                             fmt::format("hwprof waits already for {}, which a process holds",
                                         fmt::join(waited_for, ", ")));
  }
  TRY(Pipe said, make_pipe());
  std::fflush(nullptr);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0)
    return environment_error(errno, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (pid == 0) do_errand(errand, said.writer.get(), parent);
  said.writer.reset();
  std::string bytes;
  const bool ended = read_until(said.reader.get(), Clock::now() + patience, most, bytes);
  ::kill(pid, SIGKILL);
  int status = 0;
  if (!reap_until(pid, Clock::now() + kLingers, status)) left_.emplace(pid, about);
  if (!ended) return environment_error(ETIMEDOUT, "it waited in the kernel for too long");
  if (bytes.size() >= most)
    return environment_error(EFBIG, fmt::format("{}: more than {} bytes", about, most));
  return from_bytes(bytes);
}

Result<void> at_file(Errands& errands, const std::string& path, milliseconds patience,
                     const std::function<Result<void>()>& work) {
  if (::geteuid() != 0 || is_open_file(path)) return work();
  const auto done = errands.run(patience, path, [&]() -> Result<std::string> {
    TRY(work());
    return std::string();
  });
  if (done) return {};
  const Error& error = done.error();
  const std::string why = error.code == ETIMEDOUT
                              ? fmt::format(
                                    "it took more than {} s: a process holds the file, or a "
                                    "folder on its way, or the file system is slow",
                                    std::chrono::ceil<std::chrono::seconds>(patience).count())
                          : error.code == ECANCELED ? error.what
                                                    : "";
  if (why.empty()) return error_of(done);
  return environment_error(error.code, fmt::format("cannot write {}: {}", path, why),
                           "choose a folder that other users cannot read");
}

}  // namespace hwprof::observe
