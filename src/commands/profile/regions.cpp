#include "src/commands/profile/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <set>
#include <utility>

#include "counters/regions/region.h"
#include "counters/regions/region_report.h"
#include "counters/regions/region_runtime.h"
#include "src/base/text.h"
#include "src/commands/interrupt.h"
#include "src/measure/regions_view.h"
#include "src/measure/statistics.h"
#include "src/observe/proc/maps.h"
#include "src/observe/samples/sampling.h"
#include "src/report/data/writers.h"
#include "src/report/documents/regions.h"
#include "src/report/flame/flame.h"
#include "src/report/render/output.h"

namespace hwprof {
namespace {

constexpr double kRegionSeconds = 0.3;
constexpr int kMostPasses = 100;
constexpr double kFlameSeconds = 1;

std::string shape_text(const Task& task) {
  std::vector<std::string> sizes;
  for (const auto& [name, value] : task.shape) sizes.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(sizes, " "));
}

constexpr int kOverheadRounds = 15;
constexpr double kTurnSeconds = 0.010;
constexpr std::size_t kModes = 4;  // none, counting, sampling, tracing
constexpr const char* kModeNames[kModes] = {"none", "counting", "sampling", "tracing"};
enum WatchMode : std::size_t { kNone, kCounting, kSampling, kTracing };

// Rings of samples, mapped into this process.
std::uint64_t mapped_ring_bytes() {
  std::uint64_t bytes = 0;
  for (const auto& line : observe::parse_maps(read_text_file("/proc/self/maps").value_or(""))) {
    if (line.path.ends_with("[perf_event]")) bytes += line.end - line.start;
  }
  return bytes;
}

double seconds_of(const std::function<void()>& work, int passes) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < passes; ++i) work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Result<void> check_region_options(const MeasureOptions& options,
                                  std::span<const std::string> events) {
  if (auto done = check_region_view(options.regions.view, events); !done) return done;
  std::set<std::string> named{options.output.file};
  for (const std::string& path :
       {options.regions.trace, options.regions.csv, options.regions.flame}) {
    if (path.empty()) continue;
    if (!named.insert(path).second) {
      return usage_error(
          fmt::format("two of --output, --trace, --regions and --flame name the file {}", path),
          "the later would replace the earlier");
    }
    if (auto done = report::check_writable(path); !done) return done;
  }
  return {};
}

Result<void> start_regions(const RegionOptions& options, std::span<const std::string> events) {
  RegionRuntime& runtime = RegionRuntime::instance();
  if (!options.trace.empty() || options.overhead) {
    // Without a path: it is written with the report, not at the end of the process.
    if (auto done = runtime.trace("", options.trace_calls); !done) return done;
  }
  return runtime.start(fmt::format("{}", fmt::join(events, ",")));
}

Result<report::Regions> collect_regions(const RegionOptions& options, const std::string& work) {
  RegionRuntime& runtime = RegionRuntime::instance();
  const RegionReport report = make_region_report(runtime.setup(), runtime.totals());
  report::Regions regions;
  regions.work = work;
  regions.memory_reason = report.memory_reason;
  regions.notes = report.notes;
  regions.rows.assign(report.rows.begin(), report.rows.end());
  regions = view_regions(std::move(regions), options.view);
  if (!options.trace.empty()) {
    const TraceText trace = runtime.trace_text().value_or(TraceText());
    if (auto done = report::write_file(options.trace, trace.json); !done) return error_of(done);
    regions.trace = {.path = options.trace, .calls = trace.calls, .dropped = trace.dropped};
  }
  if (!options.csv.empty()) {
    auto done = report::write_file(options.csv, report::regions_csv(regions));
    if (!done) return error_of(done);
  }
  return regions;
}

void draw_flame(ProfileSession& session, const RegionPasses& work) {
  const std::string& path = session.options.regions.flame;
  if (path.empty() || !work.plain) return;
  const auto draw = [&]() -> Result<void> {
    TRY(observe::Sampling sampling, observe::Sampling::open(::getpid(), false, {.stacks = true}));
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    do {
      work.plain();
      sampling.drain();
    } while (!interrupted() &&
             std::chrono::duration<double>(Clock::now() - begin).count() < kFlameSeconds);
    const observe::SampleProfile sampled = sampling.finish();
    if (sampled.stacks.empty()) return environment_error(0, "no stack was sampled");
    return report::write_file(
        path, report::flame_for(path, sampled.stacks,
                                {shell_command(session.options.command), sampled.hz}));
  };
  if (auto drawn = draw(); !drawn)
    session.record.warnings.push_back({"flame", path + " is not written: " + drawn.error().what});
}

Result<void> profile_regions(ProfileSession& session, const RegionPasses& work) {
  if (interrupted()) return {};
  const RegionOptions& options = session.options.regions;
  session.progress->show("regions", 0.95);
  if (auto done = start_regions(options, session.events); !done) return done;
  if (work.plain) work.plain();  // caches as the passes leave them
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  int passes = 0;
  do {
    work.pass();
    ++passes;
  } while (passes < kMostPasses && !interrupted() &&
           std::chrono::duration<double>(Clock::now() - begin).count() < kRegionSeconds);
  Result<report::Regions> regions =
      collect_regions(options, fmt::format("{} {}", passes, work.what));
  if (!regions) return error_of(regions);
  if (options.overhead && work.plain) regions->overhead = measure_overhead(work, interrupted());
  draw_flame(session, work);
  session.record.regions = *std::move(regions);
  return {};
}

RegionTasks::RegionTasks(std::string around, std::span<const Task* const> tasks)
    : around_(std::move(around)) {
  for (const Task* task : tasks) tasks_.push_back({task, std::string(task->op), shape_text(*task)});
}

RegionPasses RegionTasks::passes(std::string what) const {
  return {.what = std::move(what),
          .pass = [this] { run_in_regions(); },
          .plain = [this] { run_plain(); }};
}

void RegionTasks::run_in_regions() const {
  Region whole(around_);
  for (const Named& named : tasks_) {
    Region region(named.op);
    region.describe(named.op, named.shape);
    region.declare({.flops = named.task->cost.flops, .bytes = named.task->cost.bytes});
    named.task->run();
  }
}

void RegionTasks::run_plain() const {
  for (const Named& named : tasks_) named.task->run();
}

std::vector<report::OverheadRow> measure_overhead(const RegionPasses& work,
                                                  const std::atomic<bool>& stop) {
  RegionRuntime& runtime = RegionRuntime::instance();
  std::vector<report::OverheadRow> rows(kModes);
  std::vector<double> pass_ns[kModes], ratios[kModes];
  int passes = 1;
  while (seconds_of(work.plain, passes) < kTurnSeconds) passes *= 2;

  // Seconds of a turn; sampling begins and ends outside of them.
  const auto turn = [&](WatchMode mode) -> std::optional<double> {
    runtime.pause_trace(mode != kTracing);
    if (mode != kSampling) return seconds_of(mode == kNone ? work.plain : work.pass, passes);
    auto sampling = observe::Sampling::open(::getpid(), false, {});
    if (!sampling) {
      rows[kSampling].reason = sampling.error().what;
      return std::nullopt;
    }
    rows[kSampling].memory_bytes = mapped_ring_bytes();
    const double seconds = seconds_of(work.plain, passes);
    sampling->drain();
    return seconds;
  };
  for (int round = 0; round < kOverheadRounds && !stop; ++round) {
    std::optional<double> seconds[kModes];
    for (std::size_t i = 0; i < kModes; ++i) {
      // Nobody is always first, nor always behind the same one.
      const auto mode = static_cast<WatchMode>((i + static_cast<std::size_t>(round)) % kModes);
      seconds[mode] = turn(mode);
    }
    for (std::size_t mode = 0; mode < kModes; ++mode) {
      if (!seconds[mode]) continue;
      pass_ns[mode].push_back(*seconds[mode] / passes * 1e9);
      ratios[mode].push_back(*seconds[mode] / *seconds[kNone]);
    }
  }
  runtime.pause_trace(false);

  const RegionRuntime::Bytes bytes = runtime.bytes_of_caller();
  rows[kNone].memory_bytes = 0;
  rows[kCounting].memory_bytes = bytes.regions;
  rows[kTracing].memory_bytes = bytes.regions + bytes.trace;
  for (std::size_t mode = 0; mode < kModes; ++mode) {
    report::OverheadRow& row = rows[mode];
    row.mode = kModeNames[mode];
    if (pass_ns[mode].empty()) {
      if (row.reason.empty()) row.reason = "interrupted";
      continue;
    }
    row.pass_ns = median(pass_ns[mode]);
    row.ratio = median(ratios[mode]);
    if (mode == kNone) continue;  // 1 by definition
    const Interval interval = median_interval(ratios[mode]);
    row.ratio_low = interval.low;
    row.ratio_high = interval.high;
  }
  return rows;
}

}  // namespace hwprof
