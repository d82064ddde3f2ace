// What the hand (hand.h) does for a worker that it does not trust: a worker asks, it may only have
// what concerns the observed processes, and no more rights than the observed user has.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/account.h"
#include "src/base/result.h"
#include "src/observe/calls/probe_set.h"
#include "src/observe/monitor/protocol.h"
#include "src/observe/monitor/routine_reader.h"

namespace hwprof::observe {

class Requests {
 public:
  // Of that user's processes alone.
  explicit Requests(Account user) : user_(std::move(user)) {}

  // What descends from this process is observed, while it lives. `process` is its pidfd.
  // `own`: a process of hwprof's, until its execve: the worker, and the command that is held. It
  // may be measured; its memory is a copy of the monitor's, and nobody's to read.
  void observe(pid_t pid, UniqueFd process, bool own);

  // `leader`: the group's, or none.
  Result<UniqueFd> open_event(const Question& question, const UniqueFd& leader);
  [[nodiscard]] Result<UniqueFd> open_file(const Question& question, const std::string& path) const;
  Result<void> begin_probes();
  // Where a file is read before it is probed: a probe elsewhere than at the beginning of a function
  // could disturb a program (docs/security.md).
  [[nodiscard]] Result<RoutineReader> start_reader(UniqueFd file) const;
  // Once it has ended, or has run for long enough. Gives the number of the file.
  Result<int> take_routines(RoutineReader& reader);
  Result<std::vector<EventFormat>> define_probes(const Question& question, std::string_view points);
  std::vector<std::string> remove_probes();
  // Of the budgets of probes and of rings, in words.
  [[nodiscard]] std::string spent() const;
  // The worker has its own by now. The last who unmaps one waits for the kernel. Their memory is
  // given back to nobody's budget: who was given a ring may keep it.
  void leave_rings() { rings_.clear(); }

 private:
  void map_ring(const UniqueFd& event, std::size_t bytes);
  [[nodiscard]] Result<bool> is_own(pid_t task) const;
  [[nodiscard]] Result<void> check_task(pid_t task) const;
  static UniqueFd open_inside(const ForeignFile& file, const Account& account,
                              const std::function<Result<void>()>& check);
  [[nodiscard]] Result<perf_event_attr> checked(const perf_event_attr& asked) const;

  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const;
  };
  struct Root {
    pid_t pid = 0;
    UniqueFd process;  // readable once it has ended
    bool own = false;
  };
  [[nodiscard]] const Root* find_root(pid_t pid) const;

  Account user_;
  std::vector<Root> roots_;
  std::vector<std::unique_ptr<void, Unmap>> rings_;
  std::size_t ring_bytes_ = 0;
  std::unique_ptr<ProbeSet> probes_;
  std::vector<unsigned> probe_events_;
  std::size_t probes_defined_ = 0;
  struct ProbedFile {
    UniqueFd file;
    std::unordered_map<std::uint64_t, EntryPoint> routines;  // by offset
  };
  std::vector<ProbedFile> probed_files_;
  bool reads_no_more_ = false;  // a file could hold one reader after the other
};

}  // namespace hwprof::observe
