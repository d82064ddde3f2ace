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
  // Some calls of the program that runs in this process cannot be seen.
  void miss(pid_t pid) { missed_.insert(in(pid)); }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::uint64_t watched() const { return count_ - missed_.size(); }
  // Records were lost: there may have been more. That is all that is known.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::vector<pid_t> processes() const;  // that live, as far as the records go

 private:
  struct Process {
    std::uint64_t execution = 0;
    int threads = 1;
  };
  std::uint64_t in(pid_t pid);

  std::map<pid_t, Process> processes_;
  std::set<std::uint64_t> missed_;
  std::uint64_t count_ = 0;
  bool complete_ = true;
};

}  // namespace hwprof::observe
