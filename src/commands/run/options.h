// What `hwprof run` and `hwprof attach` were asked: plain data, checked by the command line.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "src/model/regions_record.h"
#include "src/observe/calls/exact_wish.h"
#include "src/report/render/write_report.h"

namespace hwprof {

// kBest: the audit library where the program loads it, else uprobes.
enum class CallsBy { kBest, kAudit, kUprobes, kBoth };

// Runs after the observed one, by turns with other settings.
struct FixRequest {
  bool verdict = false;                            // with the fix that the verdict names, or
  std::vector<std::vector<std::string>> settings;  // with each of these changes of the environment
  std::optional<double> budget_s;
  [[nodiscard]] bool wanted() const { return verdict || !settings.empty(); }
};

// What is observed, and with which means. `hwprof blas -- COMMAND` asks the same.
struct RunRequest {
  std::vector<std::string> command;      // run unchanged, without a shell
  std::optional<pid_t> attach;           // or this process, which runs already
  std::optional<double> attach_seconds;  // until then; absent: until it ends or a signal comes
  CpuList pin;                           // empty: where hwprof itself may run
  std::vector<std::string> events;       // empty: the default list
  std::optional<std::string> user;       // whose rights the command gets
  bool counters = true, calls = true, samples = true, ladder = true;
  // Of the ladder: so long at most, with the square product alone. Absent: as long as it takes to
  // make the program's calls again.
  std::optional<std::chrono::milliseconds> short_ladder;
  CallsBy calls_by = CallsBy::kBest;
  unsigned repeat = 0, warmup = 0;  // runs for the times alone, after the observed one
  bool ignore_failure = false;      // repeat whatever the exit code
  FixRequest fix;
  bool layers = false;                      // the modules of PyTorch as regions
  std::optional<observe::ExactWish> exact;  // calls to be counted instruction by instruction
  // Of samples: by source line; call stacks; these with files, lines and objects.
  bool lines = false, stacks = false, places = false;
  report::RegionView region_view;
  std::string trace;          // file for each call of a region; empty: none
  double frequency_hz = 997;  // of samples, a CPU; a prime, so as not to beat with periodic work
};

struct RunOptions {
  RunRequest request;
  Output output;
  std::string flame, folded, speedscope, pprof;  // files for the sampled stacks; empty: none
  bool require_optimal_blas = false;             // exit with 1 unless it is
  bool reports_not_run = false;  // of a command that cannot be started, in place of an error
};

}  // namespace hwprof
