// A command started unchanged, and held before its first instruction until its observers are in
// place. What it gets is what it would have got without us: the same standard descriptors (a closed
// one is closed), process group, signal mask and dispositions, limits, and no descriptor of ours.
//
// fork and a pipe, not ptrace: nothing traces the program, so it goes on if hwprof is killed, and
// setuid programs keep their rights. In the child only async-signal-safe calls are made.
//
// observe: looks at other processes and changes nothing in them: children, maps, regions' files
// (proc/), rings and records of perf_event (perf/), ELF files and generated code (elf/), calls
// (calls/), samples (samples/). It says what was seen; what that means is src/blas's to judge.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/result.h"
#include "src/base/unique_fd.h"

namespace hwprof {

struct ChildSetup {
  CpuList cpus;                          // empty: as hwprof itself
  std::vector<std::string> environment;  // NAME=value to add or to replace; NAME alone: to remove
  int output = -1, error = -1;           // its standard output and error; -1: hwprof's
  std::optional<std::string> user;       // whose rights it gets; only root may ask
};

struct ChildEnd {
  int exit = 0;                     // exit code; 128 + n for signal n
  int signal = 0;                   // that ended it; 0: none
  double user_s = 0, system_s = 0;  // with the children that it waited for, as all that follows
  std::uint64_t page_faults = 0, major_faults = 0;  // with the major ones; those that read a disk
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
  // Of the largest process among them; absent when it is not above what our own copy took before
  // the program began, which the kernel does not tell apart.
  std::optional<std::uint64_t> peak_rss_bytes;
  std::uint64_t start_rss_bytes = 0;  // that copy
};

class Child {
 public:
  // `path` is the file to run, as find_program() found it; `command` its arguments, argv[0] first.
  static Result<Child> start(const std::string& path, const std::vector<std::string>& command,
                             const ChildSetup& setup);
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  // One that was never released ends without having run anything.
  ~Child();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable once it has ended (pidfd_open(2)).
  [[nodiscard]] int exit_descriptor() const { return pidfd_.get(); }
  // execve now. Error::code is its errno (ENOENT, EACCES, ENOEXEC, ...), and the child is gone.
  Result<void> release();
  // Whether wait() would give its end. Not where another process traces it, and looks at it first.
  [[nodiscard]] bool can_be_waited_for() const;
  // Blocks until it has ended. EBUSY where another process keeps its end.
  Result<ChildEnd> wait();

 private:
  Child() = default;

  pid_t pid_ = 0;
  std::string path_;
  UniqueFd pidfd_;
  UniqueFd go_;       // a byte lets it run; closed: it gives up
  UniqueFd failure_;  // errno of what failed in it, or end of file once it runs
  std::uint64_t start_rss_bytes_ = 0;
};

// What the kernel tells of an ended process.
ChildEnd child_end(int status, const rusage& usage, std::uint64_t start_rss_bytes);

// The kernel's list of this process's children: those of its first thread, which starts them all
// here, and to which orphans are given. Not valid where the kernel has none (CONFIG_PROC_CHILDREN).
UniqueFd children_file();

// What a command leaves behind: processes that go on when it ends, daemons and background jobs.
//
// While it runs, hwprof is the one to whom the kernel gives the command's orphans
// (PR_SET_CHILD_SUBREAPER), as `systemd --user` does. Only so are they known for certain, and their
// CPU time is not lost; the price is that an orphan's parent is hwprof and not process 1.
class Orphans {
 public:
  // Children that this process has already are none of the command's. `children`: from
  // children_file(), for as long as this lives.
  explicit Orphans(int children);
  Orphans(const Orphans&) = delete;
  Orphans& operator=(const Orphans&) = delete;
  ~Orphans();  // who still runs goes on, and gets the next parent up

  // From now on another command's are counted; those of the ones before are only reaped.
  void begin_next(const std::set<pid_t>& own);
  // Takes the exit codes of those that have ended, except of hwprof's own. Until then each counts
  // for the limits on its user's processes. False: of so many, some are left for the next time.
  bool reap(const std::set<pid_t>& own);
  [[nodiscard]] double user_s() const { return user_s_; }
  [[nodiscard]] double system_s() const { return system_s_; }

  struct Left {
    pid_t pid = 0;
    std::string name;
  };
  // Of this command: this process's children but `own` and those from before. Looks no name up.
  [[nodiscard]] std::vector<pid_t> adopted(const std::set<pid_t>& own) const;
  // Those of them that run now, with what descends from them.
  [[nodiscard]] static std::vector<Left> running(const std::vector<pid_t>& adopted);

 private:
  [[nodiscard]] std::vector<pid_t> all(const std::set<pid_t>& own) const;
  bool take(pid_t child);

  int children_;
  std::set<pid_t> before_;   // this process's own
  std::set<pid_t> earlier_;  // of commands before this one
  double user_s_ = 0, system_s_ = 0;
};

}  // namespace hwprof
