// What `hwprof run --repeat` found out: the same command again and again, for its times alone. Part
// of run_record.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

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

template <>
const Record& record<TimedRun>();
template <>
const Record& record<RepeatedTime>();
template <>
const Record& record<RepeatOutlier>();
template <>
const Record& record<Repeats>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::TimedRun, model::RepeatedTime, model::RepeatOutlier, model::Repeats;
}  // namespace hwprof::report
