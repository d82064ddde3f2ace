// What /proc tells of the threads of a program while it runs, in one look: their clocks, the quota
// that holds them, the functions that they were started with, and who else used their CPUs.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/observe/threads/start_routines.h"
#include "src/observe/threads/thread_clocks.h"
#include "src/observe/threads/throttling.h"

namespace hwprof::observe {

struct BusyThread {
  pid_t pid = 0, tid = 0;
  ThreadTimes times;
};

struct ThreadFacts {
  std::vector<BusyThread> threads;  // all that were seen
  std::string clocks_reason;        // why there are none
  std::optional<ThrottledTime> throttled;
  std::string throttled_reason;
  CpuList allowed;     // CPUs that the threads together may use; empty: not known
  double wall_ns = 0;  // that was watched
  // CPU time of everybody on those CPUs meanwhile, and what of it was hwprof's.
  std::optional<double> busy_ns;
  double own_ns = 0;
};

class ThreadWatch {
 public:
  // `born`: the process is held before its execve.
  ThreadWatch(pid_t root, bool born);
  // `begins_at` gets each thread's start routine, until it says that it could take it.
  using BeginsAt = std::function<bool(pid_t pid, pid_t tid, std::uint64_t address)>;
  void look(const BeginsAt& begins_at);
  ThreadFacts finish();

 private:
  struct Unknown {
    pid_t pid = 0;
    int looks = 0;
  };

  ThreadClocks clocks_;
  Throttling throttling_;
  StartRoutines routines_;
  std::map<pid_t, Unknown> unknown_;  // by thread: its start routine
  double begin_ns_;
  std::map<unsigned, double> busy_ns_;  // at the beginning, by CPU
  double own_ns_;
};

// "cpu3 100 0 50 900 ..." of /proc/stat: ns that each CPU was used, without what a hypervisor took.
std::map<unsigned, double> parse_busy(std::string_view stat, double ns_a_tick);

}  // namespace hwprof::observe
