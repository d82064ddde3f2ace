// E3: who called which BLAS routine of which library, how often, with which shapes, for how long.
// A program that is started is watched by LD_AUDIT; one that ignores it (static, setuid), or runs
// already, by uprobes, for root. By both where that is asked for: then the calls count that come
// from a stub of LD_AUDIT, and of the uprobes' those that do not.
//
// Shapes are those of a product m x k times k x n, whatever the routine: a matrix by a vector has
// n = 1, an outer product k = 1, a dot product m = n = 1. FLOP count 2 m n k, of complex numbers 8.
// Calls into oneDNN (dnnl_primitive_execute) are among the sites: they are not BLAS, and the
// verdict must know of them.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/exact_call.h"
#include "src/observe/calls/audited_calls.h"
#include "src/observe/calls/exact_wish.h"
#include "src/observe/routines/call_stacks.h"
#include "src/observe/routines/timed_call.h"

namespace hwprof::blas {

struct CallWatchOptions {
  std::vector<std::string> command;
  std::optional<pid_t> attach;
  bool allow_uprobes = true;
  bool allow_audit = true;
  bool both = false;     // where both are allowed; else the first that is there
  bool modules = false;  // the program tells in which module of a framework it is
  std::optional<observe::ExactWish> exact = {};  // to be counted instruction by instruction
};

class CallWatch {
 public:
  // Never fails: where there is no way, nothing is watched, and finish() says why. With uprobes,
  // this is where they are defined; first, those of killed sessions are removed.
  static CallWatch prepare(const CallWatchOptions& options);
  CallWatch(CallWatch&&) noexcept;
  CallWatch& operator=(CallWatch&&) noexcept;
  ~CallWatch();

  // For the command, as NAME=value; replaces variables of the same names. Empty with uprobes.
  [[nodiscard]] std::vector<std::string> environment() const;
  // A child that waits for its exec, or the process that options.attach named.
  void attach(pid_t pid);
  // Readable when there is much to drain. drain() is to be called every 20 ms besides: it finds
  // the libraries that nobody could foresee, too.
  [[nodiscard]] std::vector<int> descriptors() const;
  // `ended` gets the calls whose begin and end are known one by one: of the audit library.
  void drain(std::vector<observe::TimedCall>* ended = nullptr);
  // Long calls get the lines of Python that they came from. To be said before the command runs.
  void read_stacks_by(observe::CallStacks stacks);
  // Takes out of the system what was put into it. To be called once.
  // `left`: processes of a command that has ended that may go on. `exit_code`: 128 + n for signal
  // n.
  report::Called finish(const std::vector<pid_t>& left = {}, int exit_code = 0);
  // After it: the calls by module, and how many found no room there.
  struct ByModule {
    std::vector<observe::CallsOfModule> calls;
    std::uint64_t unplaced = 0;
    std::string reason;  // why there are none
  };
  [[nodiscard]] ByModule take_by_module() const;
  // After it: the calls that options.exact named.
  struct Exact {
    std::vector<model::ExactCall> calls;
    std::string reason;  // why there are none, or fewer
    std::string note;    // what was changed for it
  };
  [[nodiscard]] Exact take_exact() const;
  // What the calls that drain() gave were, after finish().
  [[nodiscard]] const std::vector<observe::CallKind>& kinds() const;
  // Who made the long ones, after finish().
  [[nodiscard]] const std::vector<observe::CallingThread>& callers() const;

 private:
  struct State;
  explicit CallWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// By how much watching calls has slowed a program with that CPU time; absent where it is too little
// to matter.
std::optional<double> slowed_by_watching(const report::Called& called, double cpu_ns);

}  // namespace hwprof::blas
