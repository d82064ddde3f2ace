// All watchers of one program's BLAS together, one a level of evidence: prepared before it starts,
// attached while it is held, drained while it runs, and asked at its end.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "src/blas/evidence/called.h"
#include "src/commands/run/options.h"
#include "src/model/run_record.h"

namespace hwprof {

class Evidence {
 public:
  // E0, and what must be in place before the program is mapped. Never fails: a level that cannot be
  // had says why in finish().
  static Evidence prepare(const RunRequest& request);
  Evidence(Evidence&&) noexcept;
  Evidence& operator=(Evidence&&) noexcept;
  ~Evidence();

  [[nodiscard]] std::vector<std::string> environment() const;  // NAME=value for the command
  // `on_exec`: it is held before its execve; else it runs.
  void attach(pid_t pid, bool on_exec);
  // To be polled; where one of them is readable, drain() must be called.
  [[nodiscard]] std::vector<int> descriptors() const;
  void drain();
  void look();  // at the live processes; to be called often
  // Removes whatever was put into the system.
  // `left`: processes of a command that has ended that may go on.
  void finish(report::Run& record, const std::vector<pid_t>& left = {});
  // After it, with --layers.
  [[nodiscard]] blas::CallWatch::ByModule calls_by_module() const;

 private:
  struct State;
  explicit Evidence(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hwprof
