#include "src/commands/profile/session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>

#include "counters/perf/counting.h"
#include "kernels/simd/simd.h"
#include "src/base/clock.h"
#include "src/cli/groups.h"
#include "src/commands/interrupt.h"
#include "src/commands/profile/record.h"
#include "src/commands/profile/regions.h"
#include "src/measure/schedule.h"
#include "src/measure/statistics.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

constexpr double kLadderSeconds = 2;

}  // namespace

Progress::Progress(bool wanted) : active_(wanted && ::isatty(STDERR_FILENO) == 1) {}

void Progress::clear() {
  // "Erase to end of line": nothing of the bar stays above the report.
  if (drawn_) std::fputs("\r\x1b[K", stderr);
  drawn_ = false;
}

void Progress::tell(const std::string& text) {
  if (!active_) return;
  clear();
  std::fputs((text + "\n").c_str(), stderr);
  std::fflush(stderr);
}

void Progress::show(const std::string& step, double fraction) {
  constexpr std::size_t kWidth = 30;
  const auto now = std::chrono::steady_clock::now();
  if (!active_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  drawn_ = true;
  last_ = now;
  const double share = std::clamp(fraction, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kWidth);
  std::fputs(fmt::format("\r\x1b[K[{}{}] {:3.0f} %  {}", std::string(filled, '#'),
                         std::string(kWidth - filled, '.'), 100 * share, step)
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

Result<ProfileSession> ProfileSession::begin(const MeasureOptions& options) {
  const MachineOptions& machine = options.machine;
  ProfileSession session;
  session.options = options;
  report::Profile& record = session.record;
  record.version = HWPROF_VERSION;
  record.command = options.command;
  record.started_utc =
      fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
  session.progress = std::make_unique<Progress>(!options.quiet);

  if (!machine.isa.empty()) {
    if (auto done = check_simd_cap(machine.isa); !done) return error_of(done);
  }
  TRY(report::check_outputs({options.output.file}));

  // CPUs first, since libraries size their thread pools by them when loaded.
  if (!machine.pin.empty()) {
    if (auto done = pin_to(machine.pin); !done) return error_of(done);
  }
  session.cpus = allowed_cpus();
  record.pin.requested = machine.pin;
  record.pin.actual = session.cpus;
  record.threads =
      machine.threads.empty() ? static_cast<int>(session.cpus.size()) : machine.threads.front();
  session.measurements_left_ = std::max<std::size_t>(1, machine.threads.size());
  record.machine = probe_machine(session.cpus.front());
  session.events = machine.events;
  if (session.events.empty())
    session.events.assign(cli::kKernelEvents.begin(), cli::kKernelEvents.end());
  if (auto done = check_event_names(record.machine, session.events); !done) return error_of(done);
  if (auto done = check_region_options(options, session.events); !done) return error_of(done);

  spdlog::info("runs on CPUs {} with {} threads: {}, PMU: {}", format_cpu_list(session.cpus),
               record.threads, record.machine.cpu_name,
               record.machine.pmu.present() ? "present" : record.machine.pmu.reason);
  return session;
}

Result<void> ProfileSession::start_threads() {
  // The caller may stand on one CPU since another number of threads was measured.
  if (!options.machine.pin.empty()) {
    if (auto done = pin_to(options.machine.pin); !done) return error_of(done);
  }
  // With several threads the caller is number 0 of the team and goes to the first CPU, once the
  // BLAS has started its own threads on all of them.
  Result<LoadedBlas> loaded = load_blas(options.machine.blas, record.threads);
  if (!loaded) return error_of(loaded);
  blas = *std::move(loaded);
  const bool pinned = !options.machine.pin.empty();
  if (blas.library && record.threads > 1) start_blas_threads(*blas.library);
  const CpuList places = pinned ? cpus : CpuList{};
  team_ = std::make_unique<ThreadTeam>(static_cast<std::size_t>(record.threads), places);
  if (pinned && record.threads > 1) {
    if (auto done = pin_to({cpus.front()}); !done) return error_of(done);
  }
  one_a_cpu_.reset();
  if (static_cast<std::size_t>(record.threads) > cpus.size())
    one_a_cpu_ = std::make_unique<ThreadTeam>(cpus.size(), places);
  return {};
}

Result<void> ProfileSession::set_threads(int threads) {
  record.threads = threads;
  if (auto done = start_threads(); !done) return error_of(done);
  record.peak = measure_peak(record.machine, peak_team());
  settle_peak(*record.peak, {});
  return {};
}

Result<void> ProfileSession::set_up() {
  if (auto done = start_threads(); !done) return error_of(done);
  spdlog::info("BLAS: {}", blas.library ? blas.library->path() : blas.reason);

  watch_interrupts();
  progress->show("FMA peak and bandwidth", 0);
  record.peak = measure_peak(record.machine, peak_team());
  settle_peak(*record.peak, {});
  spdlog::info("FMA peak {:.1f} GFLOP/s by {}, after {:.2f} s", record.peak->f32_gflops,
               record.peak->isa, seconds());

  progress->show("BLAS core types", 0.05);
  const double spare_s = (options.budget.seconds - seconds() - kLeastRunSeconds) / 2;
  record.blas = judge_blas(blas, record.machine,
                           {.requested = options.machine.blas,
                            .ladder = options.machine.ladder,
                            .ladder_seconds = std::clamp(spare_s, 0.0, kLadderSeconds),
                            .cpus = cpus,
                            .stop = &interrupted()});
  spdlog::info("ladder of {} rungs: {}, after {:.2f} s", record.blas.ladder.size(),
               to_text(record.blas.verdict), seconds());

  if (!options.machine.isa.empty()) {
    if (auto done = cap_simd(options.machine.isa); !done) return error_of(done);
  }
  record.simd_target = simd_target();
  return {};
}

void ProfileSession::tell_first_result(std::span<const Task> tasks) {
  if (!progress->active() || told_) return;
  told_ = true;
  const report::ProfileBlas& judged = record.blas;
  std::string text = fmt::format("So far: BLAS {}", to_text(judged.verdict));
  if (judged.factor_low.value_or(1) > 1)
    text += fmt::format(", {:.2g} times faster is possible", *judged.factor);
  // The last hand-written one is the most refined: fused, where it is among them.
  const auto task = std::find_if(tasks.rbegin(), tasks.rend(), [](const Task& candidate) {
    return candidate.run && candidate.optimised && !candidate.needs_blas &&
           candidate.cost.flops > 0 && candidate.op != "linear";
  });
  if (task != tasks.rend()) {
    task->run();
    std::vector<double> calls_ns;
    for (int call = 0; call < 5; ++call) {
      const double begin = threads_of(*task) == 1 ? thread_cpu_ns() : wall_ns();
      task->run();
      calls_ns.push_back((threads_of(*task) == 1 ? thread_cpu_ns() : wall_ns()) - begin);
    }
    const double gflops = task->cost.flops / median(calls_ns);
    text += fmt::format("; {} {} {:.3g} GFLOP/s in 5 calls", task->op, task->variant, gflops);
    if (record.peak && record.peak->f32_gflops > 0)
      text += fmt::format(", {:.0f} % of the FMA peak", 100 * gflops / record.peak->f32_gflops);
  }
  progress->tell(text + "; measuring on");
}

Result<void> ProfileSession::measure(std::span<const Task> tasks, const TaskOptions& how) {
  tell_first_result(tasks);
  // A task's row takes what was measured of it; one that cannot run has a reason instead.
  std::vector<std::optional<std::size_t>> measured_as(tasks.size());
  std::vector<Work> work;
  std::vector<double> errors;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    if (!task.run || interrupted()) continue;
    progress->show("checking results", 0.1);
    const double before_s = seconds();
    task.run();
    const double first_call_ns = 1e9 * (seconds() - before_s);
    errors.push_back(task.check());
    measured_as[i] = work.size();
    work.push_back({.parts = {{task.run, task.cost.flops}},
                    .threads = threads_of(task),
                    .first_call_ns = first_call_ns});
  }

  Result<Counting> counting =
      Counting::open(record.machine, cpus.front(), events, {.max_passes = options.machine.passes});
  if (!counting) return error_of(counting);
  spdlog::info("{} rows, events in {} passes, {:.2f} s left to measure", work.size(),
               counting->passes(), seconds_left());
  const std::size_t counts_left = measurements_left_;
  ScheduleOptions schedule{
      .budget_s = seconds_left() * how.budget_share / static_cast<double>(measurements_left_),
      .cpus = cpus};
  measurements_left_ = std::max<std::size_t>(1, measurements_left_ - 1);
  schedule.loops = how.loops;
  schedule.repeat = how.repeat;
  const double share = how.budget_share / static_cast<double>(counts_left);
  const double before_s = seconds();
  const CpuUsers users(cpus);
  const ScheduleResult result =
      run_interleaved(work, peak_team(), &*counting, schedule, interrupted(),
                      [&](double share) { progress->show("measuring", share); });
  spdlog::info("{} slices of the peak, after {:.2f} s", result.peak_gflops.size(), seconds());

  settle_peak(*record.peak, result.peak_gflops);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Measurement* measured = measured_as[i] ? &result.work[*measured_as[i]].whole : nullptr;
    record.rows.push_back(make_row(
        tasks[i], measured, measured ? std::optional(errors[*measured_as[i]]) : std::nullopt,
        how.checked_documents, *record.peak, result.peak_gflops, threads_of(tasks[i]),
        counting->evaluate(measured ? measured->tally : Tally{}), counting->limits()));
    record.rows.back().library = library_of(tasks[i]);
    if (measured && (how.loops || how.repeat))
      add_repetition(record.rows.back(), measured->calls_a_slice);
    if (!measured) continue;
    const std::vector<report::Slice>& slices = measured->slices;
    record.pin.migrations += measured->left_out.moved;
    record.pin.migrations += static_cast<std::uint64_t>(
        std::count_if(slices.begin(), slices.end(),
                      [](const report::Slice& slice) { return slice.migrated.value_or(false); }));
  }
  record.partial = record.partial || result.interrupted;
  note_clock_steps(result.clock_steps);
  const std::string few = too_few_slices_text(result.work, before_s, share, options.budget);
  if (!few.empty() && !result.interrupted) record.warnings.push_back({"short-budget", few});
  note_load(result, users);
  // That of the first number of threads: more of them than CPUs take the CPU from each other.
  if (!record.pin.involuntary_switches_per_s)
    record.pin.involuntary_switches_per_s = result.involuntary_switches_per_s;
  return {};
}

void ProfileSession::note_clock_steps(std::uint64_t pieces) {
  if (pieces == 0) return;
  record.warnings.push_back(
      {"clock-step",
       fmt::format("a clock of the machine stepped back in {} of the measured pieces, "
                   "which were left out; do not trust its times",
                   pieces)});
}

std::string ProfileSession::library_of(const Task& task) const {
  if (!task.library.empty() || !task.needs_blas || !blas.identity) return task.library;
  return library_in_words(*blas.identity);
}

// Of the first measurement, which is the longest.
void ProfileSession::note_load(const ScheduleResult& result, const CpuUsers& users) {
  if (record.pin.on_cpu) return;
  double wall_ns = 0, on_cpu_ns = 0;
  for (const WorkTimes& times : result.work) {
    if (!times.whole.waits_known) continue;
    wall_ns += times.whole.wall_ns;
    on_cpu_ns += times.whole.on_cpu_ns;
  }
  if (wall_ns > 0) record.pin.on_cpu = on_cpu_ns / wall_ns;
  record.pin.others = users.since();
}

double ProfileSession::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

double ProfileSession::seconds_left() const {
  return std::max(kLeastRunSeconds, options.budget.seconds - seconds());
}

}  // namespace hwprof
