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
//
// What a process maps is told apart by the kernel's numbers of the file, not by its name: in
// another mount namespace a name is another file. A library that nobody could foresee is probed
// when it is first mapped, in every process that lives; what had mapped it before is said
// (executions()). What is known of a file is known of the state in which it was looked at
// (mapped_file.h): it is looked at anew where it has changed. Where a probed one has, its probes
// are taken away and none are set again: the kernel would run, in their place, the instructions
// that were there before.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/base/unique_fd.h"
#include "src/observe/calls/call_tally.h"
#include "src/observe/calls/executions.h"
#include "src/observe/calls/known_files.h"
#include "src/observe/calls/mapped_file.h"
#include "src/observe/calls/probe_event.h"
#include "src/observe/calls/probe_group.h"
#include "src/observe/calls/routine_file.h"
#include "src/observe/perf/rings.h"

namespace hwprof::observe {

class Uprobes {
 public:
  // Not `timed`: their returns are left alone.
  static Result<Uprobes> open(bool timed);
  ~Uprobes();
  Uprobes(Uprobes&&) = default;
  Uprobes& operator=(Uprobes&&) = delete;

  // Before attach(): defines the probes.
  Result<void> add(const RoutineFile& file);
  // Calls are not timed where this file may throw exceptions through them.
  void beware_of_exceptions(int file, const std::string& path);
  // A process that waits for its exec, or one that runs: with all that it has started.
  Result<void> attach(pid_t pid, bool before_exec);
  [[nodiscard]] std::vector<int> descriptors() const;
  void drain();
  // Stops everything, and takes every probe out of the system. `left`: processes that may go on
  // after the end of what was watched.
  std::vector<report::CallSite> finish(const std::vector<pid_t>& left);
  [[nodiscard]] std::optional<double> wall_ns() const { return tally_.wall_ns(); }  // after it

  // Calls that the kernel counted, but had no room to record. Known after finish(). Its own records
  // of lost ones are not enough: of those lost at the end, none tells.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  // CPU time that the probes have cost the program, estimated. Known after finish().
  [[nodiscard]] double added_ns() const { return added_ns_; }
  // Known after finish().
  [[nodiscard]] const Executions& executions() const { return executions_; }
  // Files with routines whose path is no file here, or another one.
  [[nodiscard]] const std::set<std::string>& elsewhere() const { return elsewhere_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Span {  // of events: of those in opened_, and whether the records of tasks come with them
    std::size_t first = 0, last = 0;
    bool records = false;
  };

  explicit Uprobes(ProbeGroup probes);
  [[nodiscard]] bool is_return(std::size_t event) const { return probes_.formats()[event].leaves; }
  Result<void> open_thread(const Span& span, pid_t tid, bool before_exec);
  Result<void> open_event(std::size_t event, pid_t tid, bool before_exec);
  Result<void> open_in_all(const Span& span);
  [[nodiscard]] std::vector<pid_t> processes() const;
  Result<void> keep_within_budget(std::size_t descriptors);
  void read();
  void note(const Record& record);
  [[nodiscard]] bool sees_all_calls(const Mapped& mapped, std::uint64_t time_ns) const;
  void apply(bool all);
  void apply(const Record& record);
  void look_at_new_files();
  void look_at(const Mapped& mapped, std::uint64_t time_ns);
  void watch_late(const RoutineFile& file);
  void give_up_changed_files();
  void give_up(int generation);
  void close_later(std::vector<UniqueFd> events);
  void say(std::string note);
  void stop_timing(std::string why);
  void stop_recording();
  void count_by_sample(std::uint64_t recorded, std::uint64_t others);
  void remove_probes();

  ProbeGroup probes_;
  std::vector<ProbeEvent> opened_;  // as probes_.events()
  Rings rings_;
  std::vector<UniqueFd> further_threads_;  // their mappings, forks and ends
  CallTally tally_;
  bool timing_ = true;
  std::string throws_;     // who throws exceptions through calls, as a note; empty: nobody known
  bool recording_ = true;  // every call
  bool attached_ = false;
  std::uint64_t entered_ = 0, lost_ = 0;
  double added_ns_ = 0;
  std::set<std::uint64_t> samplers_;  // events whose records are samples
  struct WatchedFile {
    std::string path;           // by which it is known
    std::uint64_t from_ns = 0;  // all calls into it are seen
    UniqueFd file;
    FileVersion version;  // that is probed
    int generation = 0;   // of its probes
    bool given_up = false;
  };
  std::map<FileId, WatchedFile> watched_files_;  // by what fstat() says of it
  UniqueFd changes_;                             // readable once one of them was written to
  KnownFiles known_files_;
  struct NewlyMapped {
    Mapped mapped;
    std::uint64_t time_ns = 0;
  };
  std::vector<NewlyMapped> newly_mapped_;
  Hits given_up_;  // of events that were closed since
  Executions executions_;
  std::set<std::string> elsewhere_;
  pid_t root_ = 0;
  std::size_t descriptors_ = 0;
  bool ending_ = false;
  std::vector<std::string> notes_;
  std::size_t unsaid_ = 0;
  std::jthread closing_;  // of the returns' events
  std::chrono::steady_clock::time_point began_;
};

}  // namespace hwprof::observe
