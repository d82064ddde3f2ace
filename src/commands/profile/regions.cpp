#include "src/commands/profile/regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

#include "counters/regions/region.h"
#include "counters/regions/region_report.h"
#include "counters/regions/region_runtime.h"
#include "src/base/text.h"
#include "src/blas/evidence/executed.h"
#include "src/commands/interrupt.h"
#include "src/measure/regions_view.h"
#include "src/measure/statistics.h"
#include "src/observe/proc/maps.h"
#include "src/observe/proc/trace_spans.h"
#include "src/observe/samples/sampling.h"
#include "src/report/data/writers.h"
#include "src/report/documents/content.h"
#include "src/report/flame/flame.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

constexpr double kRegionSeconds = 0.3;
constexpr int kMostPasses = 100;
constexpr double kSampledSeconds = 1;

std::string shape_text(const Task& task) {
  std::vector<std::string> sizes;
  for (const auto& [name, value] : task.shape) sizes.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(sizes, " "));
}

constexpr std::size_t kOverheadRounds = 15;
constexpr double kTurnSeconds = 0.010;

// One way of watching: its row, and what it was measured by.
struct WatchedTurns {
  report::OverheadRow row;
  std::optional<double> seconds;  // of this round
  std::vector<double> pass_ns, ratios;
};

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

// Over calls of its own: what is measured is never sampled.
report::Executed sampled(const RegionPasses& work) {
  auto sampling = observe::Sampling::open(::getpid(), false, {.stacks = true});
  if (!sampling) {
    report::Executed none;
    none.reason = sampling.error().what;
    return none;
  }
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  do {
    work.plain();
    sampling->drain();
  } while (!interrupted() &&
           std::chrono::duration<double>(Clock::now() - begin).count() < kSampledSeconds);
  report::Executed executed = blas::executed(sampling->finish());
  // A program that knows every BLAS by name looks like one.
  std::error_code ignored;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  for (report::LibraryLoops& loops : executed.loops)
    if (loops.library == self) loops.provider = report::Provider::kNone;
  executed.notes.insert(executed.notes.begin(),
                        fmt::format("sampled over {}, after all else was measured", work.what));
  return executed;
}

}  // namespace

Result<void> check_region_options(const MeasureOptions& options,
                                  std::span<const std::string> events) {
  if (auto done = check_region_view(options.regions.view, events); !done) return done;
  return report::check_outputs(options.output,
                               {options.regions.trace, options.regions.csv, options.regions.flame});
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
    if (auto done = report::write_output(options.trace, trace.json); !done) return error_of(done);
    regions.trace = {.path = options.trace, .calls = trace.calls, .dropped = trace.dropped};
    observe::add_spans(trace.json, *regions.trace);
  }
  if (!options.csv.empty()) {
    auto done = report::write_output(options.csv, report::regions_csv(regions));
    if (!done) return error_of(done);
  }
  return regions;
}

void sample_passes(ProfileSession& session, const RegionPasses& work) {
  const std::string& flame = session.options.regions.flame;
  if ((flame.empty() && !makes_page(session.options.output)) || !work.plain) return;
  report::Profile& record = session.record;
  record.executed = sampled(work);
  if (flame.empty()) return;
  const report::Executed& executed = *record.executed;
  const auto draw = [&]() -> Result<void> {
    if (executed.stacks.empty())
      return environment_error(0,
                               executed.reason.empty() ? "no stack was sampled" : executed.reason);
    return report::write_output(
        flame, report::flame_for(flame, executed.stacks,
                                 {shell_command(session.options.command), executed.frequency_hz}));
  };
  if (auto drawn = draw(); !drawn)
    record.warnings.push_back({"flame", flame + " is not written: " + drawn.error().what});
}

Result<void> profile_regions(ProfileSession& session, const RegionPasses& work) {
  if (interrupted()) return {};
  const RegionOptions& options = session.options.regions;
  session.progress->show("regions", 0, 1);
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
  sample_passes(session, work);
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
  using enum report::WatchMode;
  RegionRuntime& runtime = RegionRuntime::instance();
  std::vector<WatchedTurns> modes;
  for (const auto& mode : model::EnumNames<report::WatchMode>::kAll)
    modes.emplace_back().row.mode = mode.value;
  int passes = 1;
  while (seconds_of(work.plain, passes) < kTurnSeconds) passes *= 2;

  // Seconds of a turn; sampling begins and ends outside of them.
  const auto turn = [&](report::OverheadRow& row) -> std::optional<double> {
    runtime.pause_trace(row.mode != kTracing);
    if (row.mode != kSampling)
      return seconds_of(row.mode == kNone ? work.plain : work.pass, passes);
    auto sampling = observe::Sampling::open(::getpid(), false, {});
    if (!sampling) {
      row.reason = sampling.error().what;
      return std::nullopt;
    }
    row.memory_bytes = mapped_ring_bytes();
    const double seconds = seconds_of(work.plain, passes);
    sampling->drain();
    return seconds;
  };
  for (std::size_t round = 0; round < kOverheadRounds && !stop; ++round) {
    for (std::size_t i = 0; i < modes.size(); ++i) {
      // Nobody is always first, nor always behind the same one.
      WatchedTurns& mode = modes[(i + round) % modes.size()];
      mode.seconds = turn(mode.row);
    }
    for (WatchedTurns& mode : modes) {
      if (!mode.seconds) continue;
      mode.pass_ns.push_back(*mode.seconds / passes * 1e9);
      mode.ratios.push_back(*mode.seconds / *modes.front().seconds);
    }
  }
  runtime.pause_trace(false);

  const RegionRuntime::Bytes bytes = runtime.bytes_of_caller();
  std::vector<report::OverheadRow> rows;
  for (WatchedTurns& mode : modes) {
    report::OverheadRow& row = rows.emplace_back(std::move(mode.row));
    if (row.mode == kNone) row.memory_bytes = 0;
    if (row.mode == kCounting) row.memory_bytes = bytes.regions;
    if (row.mode == kTracing) row.memory_bytes = bytes.regions + bytes.trace;
    if (mode.pass_ns.empty()) {
      if (row.reason.empty()) row.reason = "interrupted";
      continue;
    }
    row.pass_ns = median(mode.pass_ns);
    row.ratio = median(mode.ratios);
    if (row.mode == kNone) continue;  // 1 by definition
    const Interval interval = median_interval(mode.ratios);
    row.ratio_low = interval.low;
    row.ratio_high = interval.high;
  }
  return rows;
}

}  // namespace hwprof
