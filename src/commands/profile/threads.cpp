#include "src/commands/profile/threads.h"

#include <algorithm>

#include "src/measure/schedule.h"
#include "src/measure/statistics.h"
#include "src/report/documents/content.h"

namespace hwprof {
namespace {

constexpr double kShareSeconds = 0.1;
// Of less an interval by Student's t says nothing.
constexpr std::size_t kFewestTurns = 3;

// Of how many times faster `run` was in each turn than `base` in the one beside it.
void compare_turns(report::ScalingPoint& point, const ThreadsRun& base, const ThreadsRun& run,
                   std::size_t row) {
  if (row >= base.turns_ns.size() || row >= run.turns_ns.size()) return;
  const auto &slow = base.turns_ns[row], &fast = run.turns_ns[row];
  std::vector<double> ratios;
  for (std::size_t turn = 0; turn < std::min(slow.size(), fast.size()); ++turn)
    if (slow[turn] && fast[turn]) ratios.push_back(*slow[turn] / *fast[turn]);
  if (ratios.size() < kFewestTurns) return;
  const RatioTest test = test_ratio(trimmed_mean_of_logs(ratios));
  point.speedup = test.ratio;
  point.speedup_low = test.interval.low;
  point.speedup_high = test.interval.high;
}

report::ScalingPoint point_of(const ThreadsRun& base, const ThreadsRun& run, std::size_t row) {
  report::ScalingPoint point;
  if (row >= run.rows.size()) {
    point.cpu_shares_reason = "interrupted before it was measured";
    return point;
  }
  point.cpu_shares = run.shares[row].shares;
  point.cpu_shares_reason = run.shares[row].reason;
  if (!run.rows[row].time_ns) return point;
  point.time_ns = work_ns(run.rows[row]);
  point.speedup = work_ns(base.rows[row]) / *point.time_ns;
  const double more_threads =
      static_cast<double>(run.count.threads) / static_cast<double>(base.count.threads);
  if (&run != &base) compare_turns(point, base, run, row);
  const auto per_thread = [&](const std::optional<double>& speedup) {
    return speedup ? std::optional(*speedup / more_threads) : std::nullopt;
  };
  point.efficiency = per_thread(point.speedup);
  point.efficiency_low = per_thread(point.speedup_low);
  point.efficiency_high = per_thread(point.speedup_high);
  return point;
}

}  // namespace

std::vector<ThreadShares> share_cpus(std::span<const Task> tasks, const std::atomic<bool>& stop) {
  std::vector<ThreadShares> shares;
  for (const Task& task : tasks) {
    if (!task.run) {
      shares.push_back({{}, task.reason});
    } else if (!task.optimised) {
      shares.push_back({{}, "the naive reference is not watched"});
    } else if (stop.load(std::memory_order_relaxed)) {
      shares.push_back({{}, "interrupted before it was measured"});
    } else {
      shares.push_back(measure_thread_shares(task.run, kShareSeconds));
    }
  }
  return shares;
}

report::Scaling side_by_side(const std::vector<ThreadsRun>& runs, std::size_t cpus) {
  report::Scaling scaling;
  scaling.cpus = cpus;
  const ThreadsRun& base = *std::min_element(
      runs.begin(), runs.end(),
      [](const auto& a, const auto& b) { return a.count.threads < b.count.threads; });
  scaling.base_threads = base.count.threads;
  for (const ThreadsRun& run : runs) scaling.counts.push_back(run.count);
  for (std::size_t i = 0; i < base.rows.size(); ++i) {
    const report::Row& row = base.rows[i];
    if (!row.time_ns) continue;
    report::ScalingRow& beside = scaling.rows.emplace_back();
    beside.op = row.op;
    beside.variant = row.variant;
    beside.shape = report::shape_of(row);
    for (const ThreadsRun& run : runs) beside.points.push_back(point_of(base, run, i));
  }
  return scaling;
}

}  // namespace hwprof
