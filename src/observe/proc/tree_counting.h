// Events counted over a process and all that it starts, threads and processes alike. A program is
// run once, so there is one pass: what does not fit the PMU together takes turns (multiplexing), is
// extrapolated, and says its coverage.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "counters/machine.h"
#include "counters/perf/group.h"
#include "counters/perf/metrics.h"
#include "counters/perf/reading.h"
#include "counters/perf/selection.h"
#include "src/base/result.h"

namespace hwprof {

class TreeCounting {
 public:
  // `on_exec`: `pid` is stopped before its execve, which begins the counting. Else it runs already,
  // and is counted from now on, with all its threads and descendants.
  // An event that cannot be counted does not make this fail: finish() gives its reason.
  // Fault::kUsage for an unknown name.
  static Result<TreeCounting> open(const Machine& machine, pid_t pid,
                                   std::span<const std::string> names, bool on_exec);

  // Counts until now, of what still runs, too. `never_ran`: why a counter that was opened and never
  // enabled did not count, where the caller knows; may be empty.
  [[nodiscard]] std::vector<EventCount> finish(const std::string& never_ran = {}) const;

 private:
  TreeCounting() = default;
  Result<void> open_groups(pid_t thread, bool on_exec);

  Selection selection_;
  std::vector<std::vector<Group>> threads_;  // of each, one a group of the only pass
  Limits limits_;
};

}  // namespace hwprof
