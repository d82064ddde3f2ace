// What `hwprof run`, `attach` and `blas -- COMMAND` found out about a program: plain structs with
// the unit in each name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/blas.h"
#include "src/model/exact_call.h"
#include "src/model/line_use.h"
#include "src/model/machine.h"
#include "src/model/memory_record.h"
#include "src/model/modules_record.h"
#include "src/model/record.h"
#include "src/model/thread_use.h"

namespace hwprof::model {

// One run that was timed and not observed, and what the kernel counts of it anyway.
struct TimedRun {
  double wall_s = 0, user_s = 0, system_s = 0;
  // Of the command and the children that it waited for.
  std::uint64_t page_faults = 0, major_faults = 0;  // major ones read from a disk
  std::uint64_t voluntary_switches = 0, involuntary_switches = 0;
  std::optional<double>
      waited_s;  // its first thread, ready to run, for a CPU; absent: waited_reason
  std::optional<double> migrations;  // absent: Repeats::migrations_reason
  std::optional<double>
      peak_gflops;  // on its CPU, mean of just before and after it; absent: peak_reason
};

struct RepeatedTime {
  std::vector<double> samples;                // raw, in the order of the runs
  std::optional<double> best, median, worst;  // absent without a sample
  std::optional<double> ci95_low, ci95_high;  // bootstrap, of the median; absent below six samples
};

struct RepeatOutlier {
  std::size_t index = 0;  // in the samples
  double wall_s = 0;
  double above_median = 0;  // 0.1: 10 % longer
  std::string cause;        // likely ones, or what speaks for none
};

struct Repeats {
  unsigned wanted = 0, warmup = 0;
  std::vector<TimedRun> runs;  // that were measured to their end
  RepeatedTime wall_s, user_s, system_s;
  std::vector<RepeatOutlier> outliers;
  std::string waited_reason, migrations_reason, peak_reason;  // why they are absent
  std::string stopped;  // why there are fewer runs than were wanted; empty: there are not
  std::vector<std::string> notes;  // how it was measured, and what could not be said
};

// A changed environment that the program was run with, by turns with runs as it is.
struct TriedSetting {
  std::vector<std::string> changes;  // NAME=value; NAME alone: unset
  std::string tried;                 // the same in words
  std::string job_line;              // for a shell
  std::size_t rounds = 0;            // in which it and the program as it is ran to their ends
  // Time with it over time as it is: low, estimate, high; empty: ratio_reason.
  std::vector<double> wall_ratio, cpu_ratio;
  std::string ratio_reason;
  std::vector<double> wall_s, cpu_s;  // raw, a round each
  std::optional<bool> same_output;    // absent: output_reason
  std::string output_reason;
  std::string stopped;  // why it has fewer rounds than others; empty: it has not
};

// What --try-fix and --try found. The first setting, the best one where one wins, is the record's
// own; the others stand behind it.
struct Fix : TriedSetting {
  std::string result;     // one sentence
  bool worth_it = false;  // it is, and job_line belongs into the job script
  std::vector<TriedSetting> others;
  std::vector<double> as_is_wall_s, as_is_cpu_s;  // raw, a round each
  std::optional<double> other_programs;           // CPUs that they used during the rounds
  std::string stopped_rounds;  // what ended the rounds early; empty: the rule did
  std::vector<std::string> notes;
};

struct Run {
  std::string version;
  std::vector<std::string> command;  // attach: what /proc says of the process
  std::optional<std::int64_t> attached_pid;
  std::string started_utc;
  int exit = 0;         // as a shell would say it: 128 + n for signal n
  std::string not_run;  // why the command could not be started: exit is 126 or 127, the rest empty
  bool detached = false;  // attach: the process went on
  double wall_s = 0;
  std::optional<double> user_s, system_s;
  std::optional<std::uint64_t> peak_rss_bytes;  // of the largest process of the tree
  std::string peak_rss_reason;                  // why it is absent
  std::optional<double> cpus_used;              // (user + system) / wall
  // CPU time that watching calls added, over the program's own; absent below 0.05.
  std::optional<double> slowed_by_observing;
  CpuList pinned;  // empty: --pin was not given
  Machine machine;
  std::vector<EventCount> counters;  // over the whole process tree; calls is 1
  RunBlas blas;
  // With --repeat: all else here but `exit`, the last run's, is of a run of its own before them.
  std::optional<Repeats> repeats;
  std::optional<Fix> fix;                 // with --try-fix or --try
  std::optional<ThreadUse> threads;       // what they did with their CPUs
  std::optional<LargeMemory> memory;      // where its large areas lay
  std::vector<LineUse> lines;             // with --lines; most CPU time first
  std::optional<LinesKnown> lines_known;  // absent: not asked for, or no sample was taken
  std::optional<Regions> regions;         // that the program made through libhwprof
  // With --layers: the modules of PyTorch by name and by type, most self time first.
  std::vector<Module> modules, module_types;
  std::optional<ModuleHooks> module_hooks;
  std::vector<ExactCall> exact;  // with --exact, in the order of the calls
  std::string exact_reason;      // why there are none, or fewer than were asked for
  std::vector<Warning> warnings;
};

template <>
const Record& record<TimedRun>();
template <>
const Record& record<RepeatedTime>();
template <>
const Record& record<RepeatOutlier>();
template <>
const Record& record<Repeats>();
template <>
const Record& record<TriedSetting>();
template <>
const Record& record<Fix>();
template <>
const Record& record<Run>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::TimedRun, model::RepeatedTime, model::RepeatOutlier, model::Repeats, model::Run,
    model::TriedSetting, model::Fix;
}  // namespace hwprof::report
