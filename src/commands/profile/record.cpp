#include "src/commands/profile/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/measure/outliers.h"
#include "src/measure/statistics.h"

namespace hwprof {
report::TimeNs summarise(const Measurement& measured) {
  const std::vector<double> call_ns = measured.call_ns();
  report::TimeNs time;
  time.median = median(call_ns);
  time.min = measured.min_ns;
  time.mean = measured.total_ns / static_cast<double>(measured.calls);
  time.samples = static_cast<int>(call_ns.size());
  if (call_ns.size() >= kMinSamplesForInterval) {
    const Interval interval = median_interval(call_ns);
    time.ci95_low = interval.low;
    time.ci95_high = interval.high;
  }
  time.slices = measured.slices;
  return time;
}

report::Row make_row(const Task& task, const Measurement* measured,
                     std::optional<double> max_rel_error, std::size_t checked_documents,
                     const report::Peak& peak, int threads, std::vector<EventCount> counters,
                     Limits limits) {
  report::Row row;
  row.op = task.op;
  row.variant = task.variant;
  row.shape = task.shape;
  row.threads = threads;
  row.optimised = task.optimised;
  row.model = task.cost;
  row.max_rel_error = max_rel_error;
  row.checked_documents = max_rel_error ? checked_documents : 0;
  row.counters = std::move(counters);
  const Roofline limit = roofline(task.cost, peak);
  row.intensity = limit.intensity;
  if (!limit.level.empty()) {
    row.roofline_ns = limit.ns;
    row.bound = limit.compute_bound ? report::Bound::kCompute : report::Bound::kMemory;
    row.bandwidth_level = limit.level;
  }
  if (measured == nullptr || measured->slices.empty()) {
    row.reason = task.reason.empty() ? "interrupted before it was measured" : task.reason;
    return row;
  }
  row.time_ns = summarise(*measured);
  row.calls = measured->calls;
  if (row.roofline_ns) row.roofline_fraction = *row.roofline_ns / row.time_ns->median;
  if (task.cost.flops > 0) row.gflops = task.cost.flops / row.time_ns->median;
  if (!measured->peak_ratio.empty()) {
    row.peak_fraction = median(measured->peak_ratio);
    if (measured->peak_ratio.size() >= kMinSamplesForInterval) {
      const Interval interval = median_interval(measured->peak_ratio);
      row.peak_fraction_low = interval.low;
      row.peak_fraction_high = interval.high;
    }
  }
  limits.peak_gflops = peak.f32_gflops;
  limits.seconds = row.time_ns->median * 1e-9;
  flag_implausible(row.counters, limits);
  const auto flops = std::find_if(row.counters.begin(), row.counters.end(),
                                  [](const EventCount& count) { return count.name == "flops"; });
  if (flops != row.counters.end() && flops->value && task.cost.flops > 0) {
    row.counted_to_model_flops = *flops->value / task.cost.flops;
  }
  return row;
}

void add_repetition(report::Row& row, std::uint64_t loops) {
  if (!row.time_ns || row.time_ns->slices.empty()) return;
  const std::vector<report::Slice>& slices = row.time_ns->slices;
  report::Repetition& repeated = row.repeated.emplace();
  repeated.loops = loops;
  repeated.best_ns =
      std::min_element(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
        return a.ns < b.ns;
      })->ns;
  repeated.outliers = find_outliers(slices);
  if (slices.size() < kMinSamplesForOutliers) {
    repeated.outliers_reason = fmt::format("fewer than {} repeats", kMinSamplesForOutliers);
  }
}

void add_warnings(report::Profile& record, const BudgetOptions& budget) {
  const auto warn = [&record](std::string code, std::string text) {
    record.warnings.push_back({std::move(code), std::move(text)});
  };
  const auto cpus = static_cast<int>(record.pin.actual.size());
  if (record.threads > cpus || record.blas.threads.value_or(1) > cpus) {
    warn("oversubscribed",
         fmt::format("{} runnable threads share {} CPU{}: oversubscribed. Times say little; use "
                     "--threads {} or pin more CPUs",
                     std::max(record.threads, record.blas.threads.value_or(1)), cpus,
                     cpus == 1 ? "" : "s", cpus));
  }
  if (record.pin.migrations > 0) {
    warn("migrated", fmt::format("{} measured slices ended on another CPU than they began; pin "
                                 "with --pin",
                                 record.pin.migrations));
  }
  constexpr double kBusySwitches = 25;  // a quiet CPU has a few a second, from kernel threads
  // Where there are more threads than CPUs, they take the CPU from each other.
  if (record.threads <= cpus && record.pin.involuntary_switches_per_s.value_or(0) > kBusySwitches) {
    warn("busy-cpu",
         fmt::format("other programs took the CPU {:.0f} times a second (involuntary context "
                     "switches); times are too long by what they took",
                     *record.pin.involuntary_switches_per_s));
  }
  for (const report::Row& row : record.rows) {
    for (const EventCount& count : row.counters) {
      if (count.implausible.empty()) continue;
      warn("implausible",
           fmt::format("{} of {} {}: {}", count.name, row.op, row.variant, count.implausible));
    }
  }
  std::size_t wide = 0, wrong = 0;
  for (const report::Row& row : record.rows) {
    constexpr double kLargestError = 1e-3;
    wrong += row.max_rel_error && *row.max_rel_error > kLargestError;
    if (!row.time_ns) continue;
    const report::TimeNs& time = *row.time_ns;
    wide += !time.ci95_low || relative_half_width({*time.ci95_low, *time.ci95_high}, time.median) >
                                  ScheduleOptions{}.target_half_width;
  }
  if (wrong > 0) {
    warn("wrong-result",
         fmt::format("{} rows differ from double precision by more than rounding explains: do not "
                     "trust that library",
                     wrong));
  }
  if (wide > 0) {
    warn("wide-interval",
         fmt::format("{} of {} rows have no interval of the median within {:.0f} %: the machine "
                     "is noisy or {}",
                     wide, record.rows.size(), 100 * ScheduleOptions{}.target_half_width,
                     budget.repeat ? fmt::format("--repeat {} is too few", *budget.repeat)
                                   : fmt::format("--time-budget {} s is short", budget.seconds)));
  }
}

}  // namespace hwprof
