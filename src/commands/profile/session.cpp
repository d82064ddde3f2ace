#include "src/commands/profile/session.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/simd/simd.h"
#include "src/base/clock.h"
#include "src/base/utc.h"
#include "src/cli/groups.h"
#include "src/commands/interrupt.h"
#include "src/commands/kept_calibration.h"
#include "src/commands/profile/record.h"
#include "src/commands/profile/regions.h"
#include "src/exact/exact.h"
#include "src/measure/exact_excess.h"
#include "src/measure/statistics.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

constexpr double kLadderSeconds = 2;
// Threads of a BLAS spin for a while when they have nothing to do: those of OpenBLAS for 2^26
// cycles (THREAD_TIMEOUT in its Makefile.rule), some 25 ms.
constexpr std::chrono::milliseconds kUntilThreadsSleep{50};

// With steps both ways: what they execute must be the same in every field, else one of them is
// wrong.
Result<exact::Counted> count_by(exact::Engine engine, const std::function<void()>& run) {
  constexpr std::uint64_t kMostSteps = 5'000'000;  // a minute
  auto by_blocks = exact::count(run);
  if (!by_blocks || engine == exact::Engine::kBlocks) return by_blocks;
  const std::uint64_t instructions = by_blocks->counts.instructions;
  if (instructions > kMostSteps) {
    return environment_error(
        0,
        fmt::format("not counted: {} instructions would take too long by single steps, and {} "
                    "is the most",
                    instructions, kMostSteps),
        "a smaller --shape, or --engine blocks");
  }
  TRY(const exact::Counted by_steps, exact::count(run, exact::Engine::kSteps));
  if (by_steps.counts == by_blocks->counts) return by_blocks;
  return environment_error(
      0, fmt::format("not counted: by single steps it executed {} instructions and {} FLOP, in a "
                     "copy of the code {} and {}",
                     by_steps.counts.instructions, by_steps.counts.total_flops(), instructions,
                     by_blocks->counts.total_flops()));
}

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

void Progress::show(const std::string& step, double share, double until) {
  constexpr std::size_t kWidth = 30;
  if (step != step_) {
    step_ = step;
    from_ = until_;
    until_ = std::max(from_, until);
  }
  shown_ = std::max(shown_, from_ + (until_ - from_) * std::clamp(share, 0.0, 1.0));
  const auto now = std::chrono::steady_clock::now();
  if (!active_ || (drawn_ && now - last_ < std::chrono::milliseconds(100))) return;
  drawn_ = true;
  last_ = now;
  const auto filled = static_cast<std::size_t>(shown_ * kWidth);
  std::fputs(fmt::format("\r\x1b[K[{}{}] {:3.0f} %  {}", std::string(filled, '#'),
                         std::string(kWidth - filled, '.'), 100 * shown_, step)
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
  record.started_utc = utc_now();
  session.progress = std::make_unique<Progress>(!options.quiet);

  if (!machine.isa.empty()) {
    if (auto done = check_simd_cap(machine.isa); !done) return error_of(done);
  }
  TRY(report::check_outputs(options.output));

  // CPUs first, since libraries size their thread pools by them when loaded.
  if (!machine.pin.empty()) {
    if (auto done = pin_to(machine.pin); !done) return error_of(done);
  }
  session.cpus = allowed_cpus();
  record.pin.requested = machine.pin;
  record.pin.actual = session.cpus;
  record.threads =
      machine.threads.empty() ? static_cast<int>(session.cpus.size()) : machine.threads.front();
  record.machine = probe_machine(session.cpus.front());
  use_kept_calibration(record.machine, session.cpus.front());
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
  Result<LoadedBlas> loaded = load_blas(options.machine.blas, record.threads);
  if (!loaded) return error_of(loaded);
  blas = *std::move(loaded);
  if (blas.library && record.threads > 1) start_blas_threads(*blas.library);
  const CpuList places = options.machine.pin.empty() ? CpuList{} : cpus;
  crew_ = &crews_[record.threads];
  crew_->blas_threads = blas.threads;
  crew_->team = std::make_unique<ThreadTeam>(static_cast<std::size_t>(record.threads), places);
  if (static_cast<std::size_t>(record.threads) > cpus.size())
    crew_->one_a_cpu = std::make_unique<ThreadTeam>(cpus.size(), places);
  return {};
}

void ProfileSession::go_on_with(Crew& crew) {
  crew_ = &crew;
  record.peak = crew.peak;
  blas.threads = crew.blas_threads;
  if (blas.library) (void)blas.library->set_threads(record.threads);
}

Result<void> ProfileSession::set_threads(int threads) {
  if (crew_ != nullptr && threads == record.threads) return {};
  const bool fewer = crew_ != nullptr && threads < record.threads;
  const bool pinned = !options.machine.pin.empty();
  record.threads = threads;
  // The caller may stand on one CPU since another number of threads was measured.
  if (pinned) {
    TRY(pin_to(options.machine.pin));
  }
  const auto known = crews_.find(threads);
  if (known != crews_.end()) {
    go_on_with(known->second);
  } else {
    TRY(start_threads());
  }
  // With several threads the caller is number 0 of the team and goes to the first CPU, once the
  // BLAS has started its own threads on all of them.
  if (pinned && threads > 1) {
    TRY(pin_to({cpus.front()}));
  }
  if (known == crews_.end()) {
    record.peak = measure_peak(record.machine, peak_team());
    settle_peak(*record.peak, {});
    crew_->peak = record.peak;
  }
  if (fewer) std::this_thread::sleep_for(kUntilThreadsSleep);
  return {};
}

Result<void> ProfileSession::set_up() {
  watch_interrupts();
  progress->show("FMA peak and bandwidth", 0, kCheckedProgress / 2);
  TRY(set_threads(record.threads));
  spdlog::info("BLAS: {}", blas.library ? blas.library->path() : blas.reason);
  spdlog::info("FMA peak {:.1f} GFLOP/s by {}, after {:.2f} s", record.peak->f32_gflops,
               record.peak->isa, seconds());

  progress->show("BLAS core types", 0, kCheckedProgress);
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
  Result<TaskTurns> turns = begin_turns(tasks, how);
  if (!turns) return error_of(turns);
  take_turn(*turns, 1);
  add_rows(*std::move(turns));
  return {};
}

Result<TaskTurns> ProfileSession::begin_turns(std::span<const Task> tasks, const TaskOptions& how,
                                              std::size_t others) {
  tell_first_result(tasks);
  TaskTurns turns{.tasks = tasks,
                  .checked_documents = how.checked_documents,
                  .repeated = how.loops || how.repeat,
                  .measured = std::vector<std::optional<std::size_t>>(tasks.size()),
                  .work = {},
                  .errors = {},
                  .exact = std::vector<std::optional<report::ExactWork>>(tasks.size()),
                  .counting = nullptr,
                  .users = nullptr,
                  .measuring = std::nullopt,
                  .turns_ns = {tasks.size(), std::vector<std::optional<double>>{}}};
  // A task's row takes what was measured of it; one that cannot run has a reason instead.
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task& task = tasks[i];
    if (!task.run || interrupted()) continue;
    progress->show("checking results", 0, kCheckedProgress);
    const double before_s = seconds();
    task.run();
    const double first_call_ns = 1e9 * (seconds() - before_s);
    turns.errors.push_back(task.check());
    if (options.exact) {
      progress->show("counting instructions", 0, kCheckedProgress);
      turns.exact[i] = count_exactly(task, task.library.empty() ? library() : how.own_library);
    }
    turns.measured[i] = turns.work.size();
    turns.work.push_back({.parts = {{task.run, task.cost.flops}},
                          .threads = threads_of(task),
                          .first_call_ns = first_call_ns});
  }

  Result<Counting> counting =
      Counting::open(record.machine, cpus.front(), events, {.max_passes = options.machine.passes});
  if (!counting) return error_of(counting);
  turns.counting = std::make_unique<Counting>(*std::move(counting));
  spdlog::info("{} rows, events in {} passes, {:.2f} s left to measure", turns.work.size(),
               turns.counting->passes(), seconds_left());
  turns.share = how.budget_share / static_cast<double>(others + 1);
  turns.progress_until =
      kCheckedProgress + how.budget_share * (kMeasuredProgress - kCheckedProgress);
  turns.before_s = seconds();
  turns.users = std::make_unique<CpuUsers>(cpus);
  ScheduleOptions schedule{.budget_s = seconds_left() * turns.share, .cpus = cpus};
  schedule.loops = how.loops;
  schedule.repeat = how.repeat;
  turns.measuring.emplace(turns.work, peak_team(), turns.counting.get(), schedule);
  return turns;
}

report::ExactWork ProfileSession::count_exactly(const Task& task, const BlasLibrary* library) {
  report::ExactWork work;
  const bool blas_shares = library != nullptr && task.needs_blas && threads_of(task) > 1;
  if (blas_shares) (void)library->set_threads(1);
  team().set_serial(true);
  const auto counted = count_by(options.exact_engine, [&task] { task.run(); });
  team().set_serial(false);
  if (blas_shares) (void)library->set_threads(threads_of(task));
  if (!counted) {
    work.reason = in_words(counted.error());
    return work;
  }
  work.count = own_count(*counted, symbol_of_);
  work.stepped = options.exact_engine == exact::Engine::kSteps;
  if (task.cost.flops > 0) {
    work.to_model = static_cast<double>(work.count->flops) / task.cost.flops;
  }
  work.excess = exact_excess(task.cost, *work.count, task.needs_blas);
  return work;
}

void ProfileSession::take_turn(TaskTurns& turns, double until_share) {
  const auto slices = [&](std::size_t task) -> const std::vector<report::Slice>& {
    return turns.measuring->so_far().work[*turns.measured[task]].whole.slices;
  };
  // More threads than CPUs wait for each other: that is what they cost.
  const bool crowded = static_cast<std::size_t>(record.threads) > cpus.size();
  std::vector<std::size_t> before(turns.tasks.size());
  for (std::size_t i = 0; i < turns.tasks.size(); ++i)
    if (turns.measured[i]) before[i] = slices(i).size();
  turns.measuring->run_until(until_share, interrupted(), [&](double share) {
    progress->show("measuring", share, turns.progress_until);
  });
  for (std::size_t i = 0; i < turns.tasks.size(); ++i) {
    std::vector<double> ns;
    for (std::size_t at = before[i]; turns.measured[i] && at < slices(i).size(); ++at)
      if (!slices(i)[at].waited || crowded) ns.push_back(slices(i)[at].work_ns);
    turns.turns_ns[i].push_back(ns.empty() ? std::nullopt : std::optional(median(std::move(ns))));
  }
}

void ProfileSession::add_rows(TaskTurns turns) {
  const ScheduleResult result = std::move(*turns.measuring).result();
  spdlog::info("{} slices of the peak, after {:.2f} s", result.peak_gflops.size(), seconds());

  settle_peak(*record.peak, result.peak_gflops);
  for (std::size_t i = 0; i < turns.tasks.size(); ++i) {
    const Task& task = turns.tasks[i];
    const auto as = turns.measured[i];
    const Measurement* measured = as ? &result.work[*as].whole : nullptr;
    record.rows.push_back(make_row(
        task, measured, as ? std::optional(turns.errors[*as]) : std::nullopt,
        turns.checked_documents, *record.peak, result.peak_gflops, threads_of(task),
        turns.counting->evaluate(measured ? measured->tally : Tally{}), turns.counting->limits()));
    record.rows.back().library = library_of(task);
    record.rows.back().exact = std::move(turns.exact[i]);
    if (measured && turns.repeated) add_repetition(record.rows.back(), measured->calls_a_slice);
    if (!measured) continue;
    const std::vector<report::Slice>& slices = measured->slices;
    record.pin.migrations += measured->left_out.moved;
    record.pin.migrations += static_cast<std::uint64_t>(
        std::count_if(slices.begin(), slices.end(),
                      [](const report::Slice& slice) { return slice.migrated.value_or(false); }));
  }
  record.partial = record.partial || result.interrupted;
  note_clock_steps(result.clock_steps);
  const std::string few =
      too_few_slices_text(result.work, turns.before_s, turns.share, options.budget);
  if (!few.empty() && !result.interrupted) record.warnings.push_back({"short-budget", few});
  note_load(result, *turns.users);
  // That of the first number of threads: more of them than CPUs take the CPU from each other.
  if (!record.pin.involuntary_switches_per_s)
    record.pin.involuntary_switches_per_s = result.involuntary_switches_per_s;
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
