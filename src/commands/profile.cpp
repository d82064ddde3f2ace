#include "src/commands/profile.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "counters/counting.h"
#include "kernels/registry.h"
#include "kernels/simd.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile_blas.h"
#include "src/commands/profile_input.h"
#include "src/commands/profile_record.h"
#include "src/commands/progress.h"
#include "src/measure/agreement.h"
#include "src/measure/ceilings.h"
#include "src/measure/statistics.h"
#include "src/report/output.h"
#include "src/report/writers.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kDefaultEvents[] = {
    "cycles", "instructions", "flops", "llc-miss", "task-clock", "context-switches", "page-faults"};

// Seconds of the budget that the steps before the interleaved run may leave it at least.
constexpr double kLeastRunSeconds = 1;
constexpr double kLadderSeconds = 2;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<void> check_variants(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = variant_names();
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return usage_error(fmt::format("unknown variant '{}'", name),
                       fmt::format("known: {}", fmt::join(known, ", ")));
  }
  return {};
}

bool some_row_measured(const report::Profile& record) {
  return std::any_of(record.rows.begin(), record.rows.end(),
                     [](const report::Row& row) { return row.time_ns.has_value(); });
}

Result<void> write_report(const report::Profile& record, const ProfileOptions& options) {
  std::string bytes;
  switch (options.format) {
    case Format::kText:
      bytes = report::profile_text(
          record, options.output.empty() ? report::stdout_style() : report::TextStyle());
      break;
    case Format::kJson:
      bytes = report::profile_json(record);
      break;
    case Format::kCsv:
      bytes = report::profile_csv(record);
      break;
    case Format::kMarkdown:
      bytes = report::profile_markdown(record);
      break;
  }
  return options.output.empty() ? report::write_stdout(bytes)
                                : report::write_file(options.output, bytes);
}

int exit_code(const report::Profile& record, const ProfileOptions& options) {
  if (record.partial) return interrupt_exit_code();
  if (!some_row_measured(record)) return 3;
  bool refused = false;
  if (options.require_optimal_blas && record.blas.verdict != "optimal") {
    spdlog::error("--require optimal-blas: the verdict is {}", record.blas.verdict);
    refused = true;
  }
  if (options.require_counters) {
    std::set<std::string> named;  // an event that no row counted is said once
    for (const report::Row& row : record.rows) {
      for (const EventCount& count : row.counters) {
        if (count.value || !row.time_ns || !named.insert(count.name).second) continue;
        spdlog::error("--require counters: {} is {} in {} {}: {}", count.name,
                      to_string(count.status), row.op, row.variant, count.reason);
        refused = true;
      }
    }
  }
  return refused ? 1 : 0;
}

}  // namespace

Result<int> run_profile(const ProfileOptions& options) {
  const auto begin = Clock::now();
  report::Profile record;
  record.version = HWPROF_VERSION;
  record.command = options.command;
  record.started_utc =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));

  // 1. What the user can get wrong, before anything takes time.
  if (auto done = check_variants(options.variants); !done) return error_of(done);
  if (!options.isa.empty()) {
    if (auto done = check_simd_cap(options.isa); !done) return error_of(done);
  }
  if (!options.output.empty()) {
    if (auto done = report::check_writable(options.output); !done) return error_of(done);
  }

  // 2. The place: CPUs first, since libraries size their thread pools by them when loaded.
  if (!options.pin.empty()) {
    if (auto done = pin_to(options.pin); !done) return error_of(done);
  }
  const CpuList cpus = allowed_cpus();
  record.pin.requested = options.pin;
  record.pin.actual = cpus;
  record.threads = options.threads.value_or(static_cast<int>(cpus.size()));
  record.machine = probe_machine(cpus.front());
  std::vector<std::string> events = options.events;
  if (events.empty()) events.assign(std::begin(kDefaultEvents), std::end(kDefaultEvents));
  if (auto done = check_event_names(record.machine, events); !done) return error_of(done);

  spdlog::info("runs on CPUs {} with {} threads: {}, PMU: {}", format_cpu_list(cpus),
               record.threads, record.machine.cpu_name,
               record.machine.pmu.present() ? "present" : record.machine.pmu.reason);

  // 3. The input.
  Result<Input> input = load_input(options);
  if (!input) return error_of(input);
  record.workload = describe(*input, options);
  spdlog::info("{} documents, {} words in rows of {} floats", input->batch.documents(),
               input->batch.rows(), input->batch.d_e);

  // 4. The BLAS and the threads. With several threads the caller is number 0 of the team and goes
  // to the first CPU, once the BLAS has started its own threads on all of them.
  Result<LoadedBlas> blas = load_blas(options.blas, record.threads);
  if (!blas) return error_of(blas);
  const bool pinned = !options.pin.empty();
  if (blas->library && record.threads > 1) start_blas_threads(*blas->library);
  ThreadTeam team(static_cast<std::size_t>(record.threads), pinned ? cpus : CpuList{});
  if (pinned && record.threads > 1) {
    if (auto done = pin_to({cpus.front()}); !done) return error_of(done);
  }
  spdlog::info("BLAS: {}", blas->library ? blas->library->path() : blas->reason);

  watch_interrupts();
  Progress progress(!options.quiet);
  const auto seconds_left = [&] { return options.time_budget_s - seconds_since(begin); };

  // 5. The ceilings.
  progress.show("FMA peak and bandwidth", 0);
  // More threads than CPUs add nothing to what the machine can do.
  std::optional<ThreadTeam> one_a_cpu;
  if (static_cast<std::size_t>(record.threads) > cpus.size()) {
    one_a_cpu.emplace(cpus.size(), pinned ? cpus : CpuList{});
  }
  ThreadTeam& peak_team = one_a_cpu ? *one_a_cpu : team;
  record.peak = measure_peak(record.machine, peak_team);
  settle_peak(*record.peak, {});

  spdlog::info("FMA peak {:.1f} GFLOP/s by {}, after {:.2f} s", record.peak->f32_gflops,
               record.peak->isa, seconds_since(begin));

  // 6. Which BLAS is it, and how good is it here?
  progress.show("BLAS core types", 0.05);
  record.blas = judge_blas(
      *blas, record.machine,
      {.requested = options.blas,
       .ladder = options.ladder,
       .ladder_seconds = std::clamp((seconds_left() - kLeastRunSeconds) / 2, 0.0, kLadderSeconds),
       .cpus = cpus,
       .stop = &interrupted()});

  spdlog::info("ladder of {} rungs: {}, after {:.2f} s", record.blas.ladder.size(),
               record.blas.verdict, seconds_since(begin));

  // 7. Every layer in every variant, checked against double precision. The cap comes after the
  // ceilings: they are the machine's, whatever the kernels may use of it.
  if (!options.isa.empty()) {
    if (auto done = cap_simd(options.isa); !done) return error_of(done);
  }
  record.simd_target = simd_target();
  Result<TextCnn> model = TextCnn::create(
      input->batch,
      {.filter_sizes = options.shape.filter_sizes, .d_c = options.shape.d_c, .l = options.shape.l},
      blas->library ? &*blas->library : nullptr, blas->reason, team, options.variants,
      options.seed);
  if (!model) return error_of(model);
  std::vector<const Task*> runnable;
  std::vector<Work> work;
  std::vector<double> errors;
  for (const Task& task : model->tasks()) {
    if (!task.run || interrupted()) continue;
    progress.show("checking results", 0.1);
    const auto before = Clock::now();
    task.run();
    const double first_call_ns = 1e9 * seconds_since(before);
    errors.push_back(task.check());
    runnable.push_back(&task);
    work.push_back({.run = task.run, .flops = task.cost.flops, .first_call_ns = first_call_ns});
  }

  // 8. Times and counts, interleaved with the peak.
  Result<Counting> counting =
      Counting::open(record.machine, cpus.front(), events, {.max_passes = options.passes});
  if (!counting) return error_of(counting);
  spdlog::info("{} rows, events in {} passes, {:.2f} s left to measure", work.size(),
               counting->passes(), seconds_left());
  const RunnerOptions runner{.budget_s = std::max(kLeastRunSeconds, seconds_left())};
  RunResult result = run_interleaved(work, peak_team, &*counting, runner, interrupted(),
                                     [&](double share) { progress.show("measuring", share); });

  spdlog::info("{} slices of the peak, after {:.2f} s", result.peak_gflops.size(),
               seconds_since(begin));

  // 9. From samples to rows.
  settle_peak(*record.peak, result.peak_gflops);
  std::vector<BandwidthResult> bandwidth;
  for (const report::Bandwidth& level : record.peak->bandwidth) {
    bandwidth.push_back({.level = level.level, .read_gbs = level.read_gbs});
  }
  const Ceilings ceilings{
      record.peak->f32_gflops,
      measured_levels(cache_levels(record.machine, record.peak->threads), bandwidth)};
  for (const Task& task : model->tasks()) {
    const auto found = std::find(runnable.begin(), runnable.end(), &task);
    const auto index = static_cast<std::size_t>(found - runnable.begin());
    const Measurement* measured = index < runnable.size() ? &result.work[index] : nullptr;
    record.rows.push_back(make_row(
        task, measured, measured ? std::optional(errors[index]) : std::nullopt,
        model->checked_documents(), ceilings, task.needs_blas ? blas->threads : record.threads,
        counting->evaluate(measured ? measured->tally : Tally{}), counting->limits()));
    record.pin.migrations += measured ? measured->migrations : 0;
  }

  // 10. Does the time agree with the analysis?
  record.passes = forward_passes(record.rows, text_cnn_passes());
  set_forward_shares(record.rows, record.passes);
  record.complexity = complexity_agreement(record.rows, record.passes, record.blas.factor);
  record.partial = result.interrupted;
  record.pin.involuntary_switches_per_s = result.involuntary_switches_per_s;
  add_warnings(record, options);
  record.elapsed_s = seconds_since(begin);

  // 11. The report.
  progress.clear();
  if (auto done = write_report(record, options); !done) return error_of(done);
  return exit_code(record, options);
}

}  // namespace hwprof
