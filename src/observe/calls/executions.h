// The programs that ran in the observed processes, one an execve and one a process that ran before,
// and of which of them every call could be seen: where no call was seen, this tells whether there
// was none. Pure: the kernel's records in.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "src/observe/perf/records.h"

namespace hwprof::observe {

class Executions {
 public:
  // In the order of time.
  void apply(const Record& record);
  // The kernel exchanges the events of tasks that have inherited the same ones (kKeepsEvents,
  // src/observe/perf/records.h): what a task then has is another one's, and once that has ended the
  // kernel takes the probes away, and sets none for a new program.
  void events_are_exchanged() { exchanged_ = true; }
  // Some calls of the program that runs in this process cannot be seen.
  void miss(pid_t pid) { missed_.insert(in(pid)); }

  // To be called at the end: of these processes, those that have not ended run programs whose later
  // calls nobody will see.
  void miss_what_goes_on(const std::vector<pid_t>& pids);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // By miss_what_goes_on().
  [[nodiscard]] std::uint64_t going_on() const { return going_on_; }
  [[nodiscard]] std::uint64_t watched() const;
  // Records were lost: there may have been more. That is all that is known.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::vector<pid_t> processes() const;  // that live, as far as the records go

 private:
  struct Process {
    std::uint64_t execution = 0;
    int threads = 1;
    pid_t parent = 0;                   // 0: not known
    bool may_have_lost_events = false;  // then what it calls execve for is not watched either
  };
  std::uint64_t in(pid_t pid);
  void lose_events_shared_with(pid_t pid, bool goes_on);

  std::map<pid_t, Process> processes_;
  std::set<std::uint64_t> missed_;
  // The kernel takes the events from a program with other rights, or that its user may not read,
  // at its execve; it tells of that, and then of no mapping.
  std::set<std::uint64_t> unmapped_;
  std::uint64_t count_ = 0, going_on_ = 0;
  bool complete_ = true;
  bool exchanged_ = false;
};

}  // namespace hwprof::observe
