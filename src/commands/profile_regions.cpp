#include "src/commands/profile_regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <utility>

#include "counters/regions/region.h"
#include "counters/regions/region_report.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile_overhead.h"
#include "src/measure/regions_view.h"
#include "src/report/documents/regions.h"
#include "src/report/render/output.h"

namespace hwprof {
namespace {

constexpr double kSeconds = 0.3;
constexpr int kMostPasses = 100;

std::string shape_text(const Task& task) {
  std::vector<std::string> sizes;
  for (const auto& [name, value] : task.shape) sizes.push_back(fmt::format("{}={}", name, value));
  return fmt::format("{}", fmt::join(sizes, " "));
}

report::Region to_row(const RegionRow& row, const std::vector<EventCount>& events) {
  report::Region region;
  region.name = row.name;
  region.type = row.type;
  region.shape = row.shape;
  region.path = row.path;
  region.depth = row.depth;
  region.threads = row.threads;
  region.calls = row.calls;
  if (row.calls != 0) {
    region.total_ns = row.total_ns.corrected;
    region.self_ns = row.self_ns.corrected;
  }
  region.flops = row.flops;
  region.bytes = row.bytes;
  region.gflops = row.gflops;
  if (row.memory)
    region.memory = {.self_bytes = row.memory->self,
                     .total_bytes = row.memory->total,
                     .peak_bytes = row.memory->peak};
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RegionEventRow& event = row.events[i];
    report::RegionCount& count = region.counts.emplace_back();
    count.name = events[i].shown_as;
    count.unit = events[i].unit;
    if (event.total) count.total = event.total->corrected;
    if (event.self) count.self = event.self->corrected;
    count.status = to_string(event.status);
    count.reason = event.reason;
  }
  return region;
}

}  // namespace

Result<void> check_region_options(const ProfileOptions& options,
                                  std::span<const std::string> events) {
  if (auto done = check_region_view(options.region_view, events); !done) return done;
  for (const std::string& path : {options.trace, options.regions_csv}) {
    if (path.empty()) continue;
    if (auto done = report::check_writable(path); !done) return done;
  }
  const std::string &trace = options.trace, &csv = options.regions_csv, &report = options.output.file;
  if ((!trace.empty() && (trace == csv || trace == report)) || (!csv.empty() && csv == report)) {
    return usage_error(fmt::format("two of --output, --trace and --regions name the file {}",
                                   trace == csv || trace == report ? trace : csv),
                       "the later would replace the earlier");
  }
  return {};
}

Result<void> start_regions(const ProfileOptions& options, std::span<const std::string> events) {
  RegionRuntime& runtime = RegionRuntime::instance();
  if (!options.trace.empty() || options.overhead) {
    // Without a path: it is written with the report, not at the end of the process.
    if (auto done = runtime.trace("", options.trace_calls); !done) return done;
  }
  return runtime.start(fmt::format("{}", fmt::join(events, ",")));
}

Result<report::Regions> collect_regions(const ProfileOptions& options, const std::string& work) {
  RegionRuntime& runtime = RegionRuntime::instance();
  const RegionReport report = make_region_report(runtime.setup(), runtime.totals());
  report::Regions regions;
  regions.work = work;
  regions.memory_reason = report.memory_reason;
  regions.notes = report.notes;
  for (const RegionRow& row : report.rows) regions.rows.push_back(to_row(row, report.events));
  regions = view_regions(std::move(regions), options.region_view);
  if (!options.trace.empty()) {
    const TraceText trace = runtime.trace_text().value_or(TraceText());
    if (auto done = report::write_file(options.trace, trace.json); !done) return error_of(done);
    regions.trace = {.path = options.trace, .calls = trace.calls, .dropped = trace.dropped};
  }
  if (!options.regions_csv.empty()) {
    auto done = report::write_file(options.regions_csv, report::regions_csv(regions));
    if (!done) return error_of(done);
  }
  return regions;
}

Result<void> profile_regions(ProfileSession& session, const ProfileOptions& options,
                             const RegionPasses& work) {
  if (interrupted()) return {};
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
           std::chrono::duration<double>(Clock::now() - begin).count() < kSeconds);
  Result<report::Regions> regions =
      collect_regions(options, fmt::format("{} {}", passes, work.what));
  if (!regions) return error_of(regions);
  if (options.overhead && work.plain) regions->overhead = measure_overhead(work, interrupted());
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

}  // namespace hwprof
