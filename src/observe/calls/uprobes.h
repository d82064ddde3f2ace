// Uprobes on the BLAS routines of a process and all that it starts, for root: counts every call,
// from whichever library, with its shape and its time, through perf ring buffers.
//
// Never the uprobe PMU with inherit: the kernel then reads a user pointer of ours in the observed
// program's address space, and its fork() fails with EFAULT. Probes are defined in tracefs, and
// opened as tracepoints.
//
// A record costs the program some us (probes.h). Each entry is therefore opened twice: once to
// record every call, and once to count all and to record 1 in kSamplePeriod. When calls become too
// many, the first is disabled, which reaches every process and thread that has inherited it, and
// misses none.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/call_tally.h"
#include "src/observe/calls/probe_group.h"
#include "src/observe/calls/routine_file.h"
#include "src/observe/perf/rings.h"

namespace hwprof::observe {

class Uprobes {
 public:
  static Result<Uprobes> open();
  ~Uprobes();
  Uprobes(Uprobes&&) = default;
  Uprobes& operator=(Uprobes&&) = delete;

  // Before attach(): defines the probes.
  Result<void> add(const RoutineFile& file);
  // The threads of a running process, or one process that waits for its exec.
  Result<void> attach(pid_t pid, bool before_exec);
  [[nodiscard]] std::vector<int> descriptors() const { return rings_.descriptors(); }
  void drain();
  // Stops everything, and takes every probe out of the system.
  std::vector<report::CallSite> finish();
  [[nodiscard]] std::optional<double> wall_ns() const { return tally_.wall_ns(); }  // after it

  // Calls that the kernel counted, but had no room to record. Known after finish(). Its own records
  // of lost ones are not enough: of those lost at the end, none tells.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // CPU time that the probes have cost the program, estimated. Known after finish().
  [[nodiscard]] double added_ns() const { return added_ns_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Opened {                    // of an event
    std::vector<UniqueFd> recorded;  // a record for each hit
    std::vector<UniqueFd> sampled;   // of entries: count all hits, record some
  };

  explicit Uprobes(ProbeGroup probes);
  [[nodiscard]] bool is_return(std::size_t event) const { return probes_.formats()[event].leaves; }
  Result<void> add_running(pid_t pid);
  Result<void> open_thread(pid_t tid, bool before_exec);
  Result<void> open_event(std::size_t event, pid_t tid, bool before_exec);
  void read();
  void note(const Record& record);
  void apply(bool all);
  void watch_late_files();
  void watch_late_file(const std::string& path);
  void stop_timing();
  void stop_recording();
  void count_by_sample(std::uint64_t recorded, std::uint64_t others);
  void remove_probes();

  ProbeGroup probes_;
  std::vector<Opened> opened_;  // as probes_.events()
  Rings rings_;
  std::vector<UniqueFd> further_threads_;  // their mappings, forks and ends
  CallTally tally_;
  bool timing_ = true;
  bool recording_ = true;  // every call
  bool attached_ = false;
  std::uint64_t entered_ = 0, lost_ = 0;
  double added_ns_ = 0;
  std::set<std::uint64_t> samplers_;  // events whose records are samples
  // Files that were mapped before they could be probed, and the processes in which they are now.
  struct LateFile {
    std::size_t first_event = 0, last_event = 0;
    std::set<pid_t> covered;
  };
  std::map<FileId, std::string> watched_files_;     // and the path by which each is known
  std::map<std::string, std::string> known_files_;  // a path: that by which its file is known
  std::map<std::string, LateFile> late_files_;
  std::vector<std::pair<pid_t, std::string>> newly_mapped_;
  std::vector<std::string> notes_;
  std::jthread closing_;  // of the returns' events
  std::chrono::steady_clock::time_point began_;
};

}  // namespace hwprof::observe
