// From samples to rows of the record: the arithmetic of `hwprof profile`. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "counters/machine/affinity.h"
#include "counters/perf/counting.h"
#include "src/commands/profile/measure_options.h"
#include "src/measure/roofline.h"
#include "src/measure/schedule.h"
#include "src/measure/statistics.h"
#include "src/model/record.h"
#include "src/workloads/task.h"

namespace hwprof {

// There is a slice. By the wall clock (&Slice::ns), or on the clock that counts (&Slice::work_ns).
// `between`: what runs differ by, for the interval.
report::TimeNs summarise(const Measurement& measured, double report::Slice::*clock,
                         double between = kBetweenRuns);

// Why there is no slice; null: it was not begun.
std::string why_unmeasured(const Measurement* measured);

// `measured` null: the task could not run, its reason is taken over. `peak_pieces`: of the whole
// measurement. `limits`: of the counts.
report::Row make_row(const Task& task, const Measurement* measured,
                     std::optional<double> max_rel_error, std::size_t checked_documents,
                     const report::Peak& peak, std::span<const double> peak_pieces, int threads,
                     std::vector<EventCount> counters, Limits limits);

// For --loops and --repeat: the best repeat and the outliers. Nothing where the row has no time.
void add_repetition(report::Row& row, std::uint64_t loops);

// Of the CPUs `began` on which the work was to run: which of them are gone, now that the caller may
// run on `now` and those of `online` are up; empty: none.
std::string lost_cpus(const CpuList& began, const CpuList& now,
                      const std::optional<CpuList>& online);

// How many rows have fewer slices than an interval takes, and the budget that is enough: `before_s`
// were spent first, and `share` of what is left goes to these rows. "" where each has enough.
std::string too_few_slices_text(std::span<const WorkTimes> work, double before_s, double share,
                                const BudgetOptions& budget);

// What the reader must know before trusting the rows.
void add_warnings(report::Profile& record, const BudgetOptions& budget);

}  // namespace hwprof
