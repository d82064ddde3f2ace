#include "src/commands/profile/threads.h"

#include <algorithm>

#include "src/measure/schedule.h"
#include "src/measure/statistics.h"
#include "src/report/documents/content.h"

namespace hwprof {
namespace {

constexpr double kShareSeconds = 0.1;

std::vector<double> slices_of(const report::Row& row) {
  std::vector<double> ns;
  for (const report::Slice& slice : row.time_ns->slices) ns.push_back(slice.work_ns);
  return ns;
}

// Of how many times faster `row` is than `base`.
void add_interval(report::ScalingPoint& point, const report::Row& base, const report::Row& row,
                  double more_threads) {
  const std::vector<double> slow = slices_of(base), fast = slices_of(row);
  if (std::min(slow.size(), fast.size()) < kMinSamplesForInterval) return;
  const Interval interval = median_ratio_interval(fast, slow);
  point.speedup_low = interval.low;
  point.speedup_high = interval.high;
  point.efficiency_low = interval.low / more_threads;
  point.efficiency_high = interval.high / more_threads;
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
  point.efficiency = *point.speedup / more_threads;
  if (&run != &base) add_interval(point, base.rows[row], run.rows[row], more_threads);
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
