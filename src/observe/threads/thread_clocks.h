// How long each thread of a process tree ran, was ready and found no CPU, and was blocked: from
// /proc/PID/task/TID/schedstat, read while they live, since nothing is left of it at their end.
// Every 20 ms it has 98.5 % of what the kernel's own account at exit has; a thread that lives
// shorter than that is missed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/model/machine.h"

namespace hwprof::observe {

struct SchedStat {
  std::uint64_t run_ns = 0, ready_ns = 0;
};
// "365881864 363764807 96": ns on a CPU, ns waiting for one, time slices.
std::optional<SchedStat> parse_schedstat(std::string_view text);

// One thread, as the readings saw it.
struct ThreadClock {
  pid_t pid = 0;
  SchedStat first, last;                 // the first counts as zero of a thread that was born here
  double seen_ns = 0, read_ns = 0;       // when it was first and last read
  double pause_ns = 0;                   // between two readings, at the end
  bool born = false;                     // while it was watched: before `seen_ns`
  std::optional<double> lives_until_ns;  // of one that was there to the end
  CpuList cpus;                          // that it may use, at the last reading
};

struct ThreadTimes {
  double run_ns = 0, ready_ns = 0, blocked_ns = 0;
};
// What a thread did after its last reading is taken to be like what it did before. Pure.
ThreadTimes times_of(const ThreadClock& clock);

class ThreadClocks {
 public:
  // `born`: the process is held before its execve; else it has run for some time.
  ThreadClocks(pid_t root, bool born);

  // Reads where it is time to: the more threads, the more rarely, so that it takes at most a
  // twentieth of a CPU.
  void look();
  // Threads that were first seen since the last call, by process.
  [[nodiscard]] std::map<pid_t, std::vector<pid_t>> take_new();
  // Ends the watching.
  const std::map<pid_t, ThreadClock>& finish();
  // "" unless nothing could be read.
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  void read(pid_t pid, pid_t tid, double now_ns);

  pid_t root_;
  bool born_;
  std::vector<pid_t> tree_;
  std::uint64_t looks_ = 0;
  double next_ns_ = 0, tree_read_ns_ = 0, pause_ns_ = 0;
  std::map<pid_t, ThreadClock> clocks_;  // by thread
  std::set<pid_t> alive_;                // at the last reading
  std::map<pid_t, std::vector<pid_t>> new_;
  std::string reason_;
};

}  // namespace hwprof::observe
