// Counts the programs that run in a process and all that it starts, by what the kernel records of
// each execve: for an ordinary user, who has the LD_AUDIT table alone, which knows only of programs
// that took part. And the files whose code they had mapped, the shortest-lived too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/base/result.h"
#include "src/observe/calls/executions.h"
#include "src/observe/perf/rings.h"

namespace hwprof::observe {

class ExecutionWatch {
 public:
  // A child that waits for its execve.
  static Result<ExecutionWatch> open(pid_t pid);
  [[nodiscard]] std::vector<int> descriptors() const { return rings_.descriptors(); }
  void drain();
  struct Count {
    std::uint64_t all = 0, going_on = 0;  // the second: of `left`
  };
  // Absent where records were lost, or the kernel took the events away. To be called at the end.
  // `left`: processes that may go on.
  std::optional<Count> finish(const std::vector<pid_t>& left);
  // By their paths; with " (deleted)" where the file is no longer there, or not as it was mapped.
  [[nodiscard]] std::set<std::string> files() const;

 private:
  ExecutionWatch() : rings_(kRingBytes) {}
  void apply(bool all);
  void add_file(const Mapped& mapped, std::uint64_t time_ns);

  static constexpr std::size_t kRingBytes = 64U << 10U;
  static constexpr std::size_t kMostFiles = 16384;
  Rings rings_;
  Executions executions_;
  struct MappedFile {
    std::uint64_t inode = 0, generation = 0;
    std::uint64_t first_ns = 0;  // that it was mapped
    bool gone = false;
  };
  std::map<std::string, MappedFile> files_;
  bool more_files_ = false;
};

}  // namespace hwprof::observe
