// The signals of the one who watches: taken from a descriptor, so that no disposition changes and
// the observed command inherits what hwprof inherited.
//
// What the terminal sends (Ctrl-C, Ctrl-\, a hang-up) reaches the whole foreground group, and so
// the command as well. What a process sends reaches hwprof alone, and is passed on.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>

#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

class SignalWatch {
 public:
  // From now on SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 wait in the descriptor, and
  // SIGCHLD in one of its own; one that hwprof was started with as ignored stays ignored, but for
  // SIGCHLD. One at a time in a process.
  static Result<SignalWatch> begin();
  SignalWatch(SignalWatch&& other) noexcept = default;
  SignalWatch& operator=(SignalWatch&&) = delete;
  ~SignalWatch();  // what came meanwhile and was not taken is dropped

  [[nodiscard]] int descriptor() const { return fd_.get(); }
  // Readable once a child has ended, or stopped, since take_child_ends().
  [[nodiscard]] int child_descriptor() const { return child_fd_.get(); }
  // Before the children are waited for: then no end is missed.
  void take_child_ends();

  struct Signal {
    int number = 0;
    bool from_kernel = false;  // the terminal's: the whole foreground group has it
    [[nodiscard]] bool asks_for_end() const { return number != SIGUSR1 && number != SIGUSR2; }
  };
  // The next one that came; absent: none.
  std::optional<Signal> take();

  // In a child of fork: mask and dispositions as hwprof was started with. Async-signal-safe.
  static void restore_in_child();

 private:
  SignalWatch() = default;
  UniqueFd fd_, child_fd_;
};

// A pipe whose reader is gone, a held command's or a closed standard error, is an error as well.
void ignore_closed_pipes();

// A file of ours that grows beyond the limit (ulimit -f) is an error to be told, not the end of
// hwprof. SignalWatch::restore_in_child() gives a child what hwprof was started with.
void ignore_file_size_limit();

}  // namespace hwprof
