// hwprof run and attach are three processes. The worker gives its rights away (sandbox.h) and does
// the work: it reads the files, the memory and the records of the observed program, loads BLAS
// libraries to measure them, judges and renders. The hand (hand.h) keeps the rights of whoever
// started hwprof, reads nothing that another user can have written, and opens for the worker what
// takes rights: events, files in /proc and uprobes of the observed processes. The monitor, which is
// what was started, starts the command and waits for it, and writes the report; it touches nothing
// that the observed user could make it wait for. Each question is checked, since the worker may
// have been taken over by what it read.
//
// Whatever becomes of the two others, the command goes on, its exit code is passed on, and the last
// report that the worker has saved is written. docs/security.md has the whole.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/base/result.h"
#include "src/observe/monitor/client.h"

namespace hwprof::observe {

// How long hwprof waits for a worker that was taken over, hangs, or wants no end. The rungs of a
// ladder take seconds each, all the work after a command tens of seconds.
struct MonitorPatience {
  std::chrono::milliseconds silence{180'000};  // that has the command's end, and asks nothing
  std::chrono::milliseconds work{900'000};     // from the command's end, whatever it asks
  std::chrono::milliseconds end{10'000};       // once it has said its exit code, or was killed
  std::chrono::milliseconds answer{20'000};    // of the hand, to the worker
  std::chrono::milliseconds look{3'000};       // into /proc
  std::chrono::milliseconds file{20'000};      // until a file is written
};

struct MonitorOptions {
  std::vector<std::string> command = {};                     // or
  std::optional<pid_t> attach = {};                          // this process, which runs already
  std::optional<std::chrono::milliseconds> attach_for = {};  // absent: until it ends
  unsigned runs = 1;                                         // of the command
  CpuList pin = {};
  std::optional<std::string> user = {};  // whose rights command and worker get
  std::vector<std::string> files = {};   // that the worker may have written
  // What the names of variables begin with that the worker may change for the command.
  std::vector<std::string> variables = {};
  // Attached, its starter's environment is not the worker's, but for these.
  std::vector<std::string> kept_variables = {};
  bool passes_exit_code = true;  // of a command that failed, whatever the worker says
  int exit_without_worker = 0;   // where it has died, and the command did not fail
  MonitorPatience patience = {};
  std::string report_file = {};  // of the report; else, and where it cannot be written:
  std::function<void(const std::string& bytes)> write_report = {};
  std::function<void(const Error& error)> say_error = {};  // where the command's exit code wins
};

// What is left to say where the worker has died before it saved a report.
struct WorkerDeath {
  std::string how;                // "was killed by SIGSEGV"
  std::optional<CommandEnd> end;  // absent: the command was not started, or was attached to
  // Of a process that was attached to: how long it was watched, and whether it has not ended.
  double watched_s = 0;
  bool goes_on = false;
};

// What a worker does: what it returns is hwprof's exit code or error.
using WorkerTask = std::function<Result<int>(MonitorClient&)>;
using WorkerTaskAfterDeath = std::function<Result<int>(MonitorClient&, const WorkerDeath&)>;

Result<int> run_split(const MonitorOptions& options, const WorkerTask& work,
                      const WorkerTaskAfterDeath& after_death);

}  // namespace hwprof::observe
