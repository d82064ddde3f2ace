#include "src/commands/profile/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>

#include "src/measure/agreement.h"
#include "src/measure/repeats.h"
#include "src/measure/statistics.h"

namespace hwprof {
namespace {

template <class Time>
void set_interval(Time& time, std::span<const double> in_order, double between) {
  if (in_order.size() < kMinSamplesForInterval) return;
  const Interval interval = runs_interval(in_order, between);
  time.ci95_low = interval.low;
  time.ci95_high = interval.high;
}

// Median of the largest (or least) tenth; absent where that is less than three values.
std::optional<double> best_tenth(std::vector<double> values, bool largest) {
  const std::size_t tenth = values.size() / 10;
  if (tenth < 3) return std::nullopt;
  const auto end = values.begin() + static_cast<std::ptrdiff_t>(tenth);
  if (largest) {
    std::partial_sort(values.begin(), end, values.end(), std::greater<>());
  } else {
    std::partial_sort(values.begin(), end, values.end());
  }
  values.erase(end, values.end());
  return median(std::move(values));
}

// Only what the interval does not hold: else it says nothing new.
std::optional<report::Undisturbed> undisturbed_rate(const report::Row& row, double flops,
                                                    const Measurement& measured,
                                                    std::span<const double> peaks) {
  const std::optional<double> best_ns = best_tenth(measured.pieces, false);
  if (!best_ns || !row.peak_fraction_high || flops == 0) return std::nullopt;
  const double median_reaches = median_interval(measured.peak_ratios()).high;
  const std::optional<double> peak = best_tenth({peaks.begin(), peaks.end()}, true);
  report::Undisturbed rate{.gflops = flops / *best_ns, .peak_fraction = std::nullopt};
  if (peak) rate.peak_fraction = *rate.gflops / *peak;
  if (!peak || *rate.peak_fraction <= median_reaches) return std::nullopt;
  return rate;
}

report::CpuTimeNs summarise_cpu(const Measurement& measured, double between) {
  report::CpuTimeNs time;
  time.slices = measured.values(&report::Slice::work_ns);
  time.median = median(time.slices);
  time.min = measured.min_ns;
  set_interval(time, time.slices, between);
  return time;
}

}  // namespace

report::TimeNs summarise(const Measurement& measured, double report::Slice::*clock,
                         double between) {
  const std::vector<double> all_ns = measured.values(clock);
  report::TimeNs time;
  time.median = median(all_ns);
  time.min = *std::min_element(all_ns.begin(), all_ns.end());
  time.mean =
      std::accumulate(all_ns.begin(), all_ns.end(), 0.0) / static_cast<double>(all_ns.size());
  time.samples = static_cast<int>(all_ns.size());
  set_interval(time, all_ns, between);
  time.slices = measured.slices;
  for (report::Slice& slice : time.slices) slice.ns = slice.*clock;
  return time;
}

std::string why_unmeasured(const Measurement* measured) {
  if (measured != nullptr && measured->left_out.elsewhere > 0)
    return "no slice of it ran where it was to run: the CPU went offline or was taken away; pin to "
           "one that stays";
  if (measured != nullptr && measured->lost) return "a clock stepped back in each of its slices";
  return "interrupted before it was measured";
}

report::Row make_row(const Task& task, const Measurement* measured,
                     std::optional<double> max_rel_error, std::size_t checked_documents,
                     const report::Peak& peak, std::span<const double> peak_pieces, int threads,
                     std::vector<EventCount> counters, Limits limits) {
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
  if (task.cost.bytes > 0) row.intensity = limit.intensity;
  if (!limit.level.empty()) {
    row.roofline_ns = limit.ns;
    row.bound = limit.compute_bound ? report::Bound::kCompute : report::Bound::kMemory;
    row.bandwidth_level = limit.level;
  }
  if (measured != nullptr) row.left_out = measured->left_out;
  if (measured == nullptr || measured->slices.empty()) {
    row.reason = task.reason.empty() ? why_unmeasured(measured) : task.reason;
    return row;
  }
  if (measured->waits_known) row.on_cpu = measured->on_cpu_ns / measured->wall_ns;
  const double between = between_runs(row.bound, row.on_cpu);
  // Of several threads the pieces in which none waited, as the ratios to the peak are.
  row.time_ns =
      summarise(*measured, threads == 1 ? &report::Slice::ns : &report::Slice::work_ns, between);
  if (threads == 1) row.cpu_time_ns = summarise_cpu(*measured, between);
  row.disturbed = measured->disturbed;
  row.calls = measured->calls;
  if (row.roofline_ns) row.roofline_fraction = *row.roofline_ns / work_ns(row);
  row.roofline_flag =
      why_over_roofline(row.roofline_fraction.value_or(0), row.bound, row.bandwidth_level);
  if (task.cost.flops > 0) row.gflops = task.cost.flops / work_ns(row);
  if (const std::vector<double> ratios = measured->peak_ratios(); !ratios.empty()) {
    row.peak_fraction = median(ratios);
    // Of the peak beside each slice: it may be over its own while the rooflines' peak is higher.
    if (row.roofline_flag.empty())
      row.roofline_flag = why_over_roofline(*row.peak_fraction, report::Bound::kCompute, "");
    if (ratios.size() >= kMinSamplesForInterval) {
      const Interval interval = runs_interval(ratios, between_runs(row.bound));
      row.peak_fraction_low = interval.low;
      row.peak_fraction_high = interval.high;
    }
  }
  row.undisturbed = undisturbed_rate(row, task.cost.flops, *measured, peak_pieces);
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

std::string lost_cpus(const CpuList& began, const CpuList& now,
                      const std::optional<CpuList>& online) {
  CpuList offline, taken;
  for (const unsigned cpu : began) {
    const auto has = [cpu](const CpuList& list) {
      return std::find(list.begin(), list.end(), cpu) != list.end();
    };
    if (online && !has(*online))
      offline.push_back(cpu);
    else if (!has(now))
      taken.push_back(cpu);
  }
  std::vector<std::string> text;
  if (!offline.empty())
    text.push_back(fmt::format("CPU {} went offline", format_cpu_list(offline)));
  if (!taken.empty()) {
    text.push_back(fmt::format("CPU {} was taken from it: somebody changed its affinity or cpuset",
                               format_cpu_list(taken)));
  }
  return fmt::format("{}", fmt::join(text, ", and "));
}

// All work gets the same time, so the longest slice decides.
std::string too_few_slices_text(std::span<const WorkTimes> work, double before_s, double share,
                                const BudgetOptions& budget) {
  double longest_s = 0;
  std::size_t few = 0, measured = 0;
  for (const WorkTimes& times : work) {
    const Measurement& whole = times.whole;
    if (whole.slices.empty()) continue;
    ++measured;
    few += whole.slices.size() < kMinSamplesForInterval ? 1 : 0;
    for (const report::Slice& slice : whole.slices)
      longest_s = std::max(longest_s, 1e-9 * slice.ns * static_cast<double>(whole.calls_a_slice));
  }
  if (few == 0) return "";
  const std::string rows =
      fmt::format("{} of {} rows {} no interval", few, measured, few == 1 ? "has" : "have");
  if (budget.repeat)
    return fmt::format("{}: --repeat {} is fewer than the {} slices that it takes", rows,
                       *budget.repeat, kMinSamplesForInterval);
  constexpr double kBesides = 1.5;  // the peak between the slices, and noise
  const auto slices = static_cast<double>(measured * kMinSamplesForInterval);
  return fmt::format("{}: --time-budget {} is too short for {} slices each, {:.0f} is enough", rows,
                     budget.seconds, kMinSamplesForInterval,
                     std::ceil(before_s + kBesides * slices * longest_s / share));
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

namespace {

constexpr double kQuietCpu = 0.97;  // kernel threads and interrupts take less than the rest

std::string busy_text(const report::Pin& pin) {
  std::vector<std::string> others;
  for (const report::CpuUser& user : pin.others)
    others.push_back(fmt::format("{} ({}) {:.0f} %", user.name, user.pid, 100 * user.share));
  return fmt::format(
      "measured work was on its CPU {:.0f} % of the time. Rates and times are of its CPU time, so "
      "they do not count what others took; wall times do. {}",
      100 * *pin.on_cpu,
      others.empty() ? "No process that still runs used these CPUs for long"
                     : fmt::format("On these CPUs ran {}", fmt::join(others, ", ")));
}

report::LeftOut all_left_out(const report::Profile& record) {
  report::LeftOut out;
  for (const report::Row& row : record.rows) {
    out.elsewhere += row.left_out.elsewhere;
    out.moved += row.left_out.moved;
    out.stolen += row.left_out.stolen;
    out.waited += row.left_out.waited;
  }
  return out;
}

// What is lost at the end, and what was lost and is back.
std::string changed_cpus_text(const report::Profile& record) {
  // Pinned, the caller of several threads stands on the first of its CPUs.
  const CpuList& began = record.pin.actual;
  CpuList now = allowed_cpus();
  if (!record.pin.requested.empty() && now == CpuList{began.front()}) now = began;
  std::string text = lost_cpus(began, now, online_cpus());
  if (text.empty() && all_left_out(record).elsewhere > 0)
    text = "a CPU went offline or was taken from it for a time";
  if (text.empty()) return "";
  return fmt::format(
      "while it measured, {}; it may now run on {}. Slices on CPUs other than {} are left out",
      text, format_cpu_list(now), format_cpu_list(began));
}

void warn_of_disturbed(report::Profile& record) {
  const report::LeftOut out = all_left_out(record);
  const auto disturbed = std::count_if(record.rows.begin(), record.rows.end(),
                                       [](const report::Row& row) { return row.disturbed; });
  if (out.total() > 0) {
    std::vector<std::string> why;
    if (out.stolen > 0) why.push_back(fmt::format("in {} the host took the CPU", out.stolen));
    if (out.elsewhere > 0)
      why.push_back(fmt::format("in {} the thread stood on a CPU not its own", out.elsewhere));
    if (out.moved > 0) why.push_back(fmt::format("in {} the thread changed its CPU", out.moved));
    if (out.waited > 0) why.push_back(fmt::format("in {} a thread waited for one", out.waited));
    record.warnings.push_back(
        {"left-out",
         fmt::format("{} {} left out: {}", out.total(),
                     out.total() == 1 ? "slice was" : "slices were", fmt::join(why, ", "))});
  }
  if (disturbed > 0) {
    record.warnings.push_back(
        {"disturbed", fmt::format("of {} rows too few slices were undisturbed, so that all count: "
                                  "their times may be too long. Measure on a quieter CPU, or for "
                                  "longer",
                                  disturbed)});
  }
}

}  // namespace

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
  if (record.pin.migrations > 0 && record.pin.requested.empty()) {
    warn("migrated", fmt::format("{} measured slices ended on another CPU than they began; pin "
                                 "with --pin",
                                 record.pin.migrations));
  }
  // Where there are more threads than CPUs, they take the CPU from each other.
  if (record.threads <= cpus && record.pin.on_cpu.value_or(1) < kQuietCpu) {
    warn("busy-cpu", busy_text(record.pin));
  }
  if (const std::string text = changed_cpus_text(record); !text.empty()) warn("cpus-changed", text);
  warn_of_disturbed(record);
  for (const report::Row& row : record.rows) {
    for (const EventCount& count : row.counters) {
      if (count.implausible.empty()) continue;
      warn("implausible",
           fmt::format("{} of {} {}: {}", count.name, row.op, row.variant, count.implausible));
    }
  }
  std::size_t wrong = 0;
  for (const report::Row& row : record.rows) {
    constexpr double kLargestError = 1e-3;
    wrong += row.max_rel_error && *row.max_rel_error > kLargestError;
  }
  if (wrong > 0) {
    warn("wrong-result",
         fmt::format("{} rows differ from double precision by more than rounding explains: do not "
                     "trust that library",
                     wrong));
  }
  const std::string wide = wide_rows_text(
      record.rows, budget.repeat ? fmt::format("--repeat {} is too few", *budget.repeat)
                                 : fmt::format("--time-budget {} is short", budget.seconds));
  if (!wide.empty()) warn("wide-interval", wide);
}

}  // namespace hwprof
