#include "src/observe/proc/signals.h"

#include <fmt/format.h>
#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace hwprof {
namespace {

constexpr int kWatchedSignals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

// As hwprof was started; the child of fork reads it. Statics, since a process has one mask.
sigset_t inherited_mask;
struct sigaction inherited_child_action;
bool watching = false;

// A signal that ends nothing but the call.
struct Ignored {
  int number;
  bool ignoring = false;
  struct sigaction inherited = {};

  // Also after restore(), in a child.
  void begin() {
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;
    if (::sigaction(number, &ignore, &before) != 0) return;
    if (!ignoring) inherited = before;
    ignoring = true;
  }
  void restore() const {
    if (ignoring) ::sigaction(number, &inherited, nullptr);
  }
};
Ignored file_size{SIGXFSZ}, closed_pipe{SIGPIPE};

}  // namespace

Result<SignalWatch> SignalWatch::begin() {
  sigset_t watched;
  sigemptyset(&watched);
  for (const int number : kWatchedSignals) sigaddset(&watched, number);
  SignalWatch watch;
  watch.fd_.reset(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
  sigset_t of_children;
  sigemptyset(&of_children);
  sigaddset(&of_children, SIGCHLD);
  watch.child_fd_.reset(::signalfd(-1, &of_children, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!watch.fd_.valid() || !watch.child_fd_.valid())
    return environment_error(errno, fmt::format("signalfd: {}", std::strerror(errno)));
  sigaddset(&watched, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &watched, &inherited_mask);
  // Where SIGCHLD is ignored the kernel reaps children itself, and nobody learns their exit codes.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &standard, &inherited_child_action);
  watching = true;
  return watch;
}

SignalWatch::~SignalWatch() {
  if (!fd_.valid()) return;
  while (take()) {
  }
  take_child_ends();
  ::sigprocmask(SIG_SETMASK, &inherited_mask, nullptr);
  // SIGCHLD stays at its default: our own children are still to be waited for.
  watching = false;
}

std::optional<SignalWatch::Signal> SignalWatch::take() {
  signalfd_siginfo info{};
  const ssize_t got = retry_interrupted([&] { return ::read(fd_.get(), &info, sizeof info); });
  if (got != static_cast<ssize_t>(sizeof info)) return std::nullopt;
  return Signal{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
}

void SignalWatch::take_child_ends() {
  signalfd_siginfo info{};
  while (retry_interrupted([&] { return ::read(child_fd_.get(), &info, sizeof info); }) > 0) {
  }
}

void ignore_file_size_limit() { file_size.begin(); }

void ignore_closed_pipes() { closed_pipe.begin(); }

void SignalWatch::restore_in_child() {
  file_size.restore();
  closed_pipe.restore();
  if (!watching) return;
  ::sigaction(SIGCHLD, &inherited_child_action, nullptr);
  ::sigprocmask(SIG_SETMASK, &inherited_mask, nullptr);
}

}  // namespace hwprof
