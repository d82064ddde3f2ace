#include "src/commands/run/repetition.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "src/measure/peak.h"
#include "src/measure/repeats.h"
#include "src/observe/proc/child.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/program_file.h"
#include "src/observe/proc/tree_counting.h"

namespace hwprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kPeakBesideSeconds = 0.005;
constexpr int kSignalExitBase = 128;     // exit code of what a signal ended
constexpr int kRepeatNotRunnable = 126;  // as shells and env(1) have it

struct Ended {
  report::TimedRun run;
  int exit = 0;
  std::string migrations_reason;  // why they are absent
  bool goes_on = false;           // a process that it started does
};

// The clock of the CPU on which the runs are pinned; of another CPU it would tell nothing on them.
std::optional<double> peak_where_pinned(const CpuList& pin) {
  if (pin.empty()) return std::nullopt;
  const CpuList before = allowed_cpus();
  if (!pin_to({pin.front()})) return std::nullopt;
  const double gflops = fma_slice_gflops(fastest_fma_kernel(), kPeakBesideSeconds);
  static_cast<void>(pin_to(before));  // where it was a moment ago
  return gflops;
}

void count_migrations(const Result<TreeCounting>& counting, Ended& ended) {
  if (!counting) {
    ended.migrations_reason = counting.error().what;
    return;
  }
  const std::vector<EventCount> counts = counting->finish();
  ended.run.migrations = counts.front().value;
  if (!ended.run.migrations) ended.migrations_reason = counts.front().reason;
}

Result<Ended> time_command(const RunRequest& request, const std::string& path,
                           const Machine& machine, PassedSignals& signals) {
  Orphans orphans;
  auto child = Child::start(path, request.command,
                            {.cpus = request.pin, .environment = {}, .user = request.user});
  if (!child) return error_of(child);
  const std::string counted[] = {"migrations"};
  const Result<TreeCounting> counting =
      request.counters ? TreeCounting::open(machine, child->pid(), counted, true)
                       : environment_error(0, "not counted (--no-counters)");

  const auto begin = Clock::now();
  if (auto released = child->release(); !released) return error_of(released);
  Watch watch{
      .exit_descriptor = child->exit_descriptor(),
      .signals = signals.watch(),
      .on_signal = [&](SignalWatch::Signal signal) { return signals.pass(signal, *child); }};
  watch_until_end(watch);
  const std::chrono::duration<double> wall = Clock::now() - begin;
  const std::optional<double> waited_s = waited_for_cpu_s(child->pid());  // gone once waited for
  const Result<ChildEnd> end = child->wait();
  if (!end) return error_of(end);
  orphans.reap(child->pid());

  Ended ended{.run = {.wall_s = wall.count(),
                      .user_s = end->user_s + orphans.user_s(),
                      .system_s = end->system_s + orphans.system_s(),
                      .page_faults = end->page_faults,
                      .major_faults = end->major_faults,
                      .voluntary_switches = end->voluntary_switches,
                      .involuntary_switches = end->involuntary_switches,
                      .waited_s = waited_s,
                      .migrations = std::nullopt,
                      .peak_gflops = std::nullopt},
              .exit = end->exit,
              .migrations_reason = {},
              .goes_on = !orphans.running(child->pid()).empty()};
  count_migrations(counting, ended);
  return ended;
}

// Why nothing more is run after `what`; empty: more is.
std::string why_to_stop(const std::string& what, int exit, const RunRequest& request,
                        const PassedSignals& signals) {
  if (signals.end_wanted() != 0)
    return fmt::format("{} was ended by SIG{}", what, ::sigabbrev_np(signals.end_wanted()));
  if (exit == 0 || request.ignore_failure) return {};
  return fmt::format("{} failed with exit code {}; --ignore-failure goes on all the same", what,
                     exit);
}

// Once: if one run leaves a process behind, each does.
void warn_of_going_on(const std::string& run, report::Run& record) {
  record.warnings.push_back(
      {"processes-go-on", "a process that " + run + " started goes on beside the runs after it"});
}

}  // namespace

Result<Repetition> Repetition::prepare() {
  Repetition repetition;
  struct stat input = {};
  if (::fstat(STDIN_FILENO, &input) != 0) return repetition;  // closed, for each of them
  const off_t begin = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  if (begin >= 0) {
    repetition.input_begin_ = begin;
  } else if (!S_ISCHR(input.st_mode)) {
    return usage_error(
        "--repeat: standard input is a pipe or a socket, which the first run would leave empty",
        "give a file, which each run reads from where it stands now, or < /dev/null");
  }
  return repetition;
}

void Repetition::run(const RunRequest& request, PassedSignals& signals, report::Run& record) const {
  report::Repeats& repeats = record.repeats.emplace();
  repeats.wanted = request.repeat;
  repeats.warmup = request.warmup;
  repeats.notes.emplace_back(
      "These runs were timed and not observed: no probe, no sample. All else in this report is of "
      "a run of its own before them, which observing may have slowed down.");
  if (request.pin.empty()) repeats.peak_reason = "the clock is watched where --pin is given";
  signals.take_waiting();
  repeats.stopped = why_to_stop("the observed run", record.exit, request, signals);
  const Result<std::string> path = find_program(request.command.front());
  std::optional<double> peak = peak_where_pinned(request.pin);
  bool said_going_on = false;
  for (unsigned i = 0; i < request.warmup + request.repeat && repeats.stopped.empty(); ++i) {
    const bool measured = i >= request.warmup;
    const std::string name =
        measured ? fmt::format("run {} of {}", i - request.warmup + 1, request.repeat)
                 : fmt::format("warm-up run {} of {}", i + 1, request.warmup);
    if (input_begin_) ::lseek(STDIN_FILENO, *input_begin_, SEEK_SET);
    auto ended = path ? time_command(request, *path, record.machine, signals) : error_of(path);
    if (!ended) {
      record.exit = kRepeatNotRunnable;
      repeats.stopped = fmt::format("{} could not be started: {}", name, ended.error().what);
      break;
    }
    spdlog::info("{}: {} s", name, ended->run.wall_s);
    const std::optional<double> peak_before = peak;
    peak = peak_where_pinned(request.pin);
    if (peak && peak_before) ended->run.peak_gflops = (*peak + *peak_before) / 2;
    if (ended->goes_on && !said_going_on) {
      warn_of_going_on(name, record);
      said_going_on = true;
    }
    signals.take_waiting();
    record.exit = ended->exit;
    repeats.stopped = why_to_stop(name, ended->exit, request, signals);
    if (!measured || !repeats.stopped.empty()) continue;
    if (!ended->run.waited_s)
      repeats.waited_reason = "the kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)";
    if (!ended->migrations_reason.empty()) repeats.migrations_reason = ended->migrations_reason;
    repeats.runs.push_back(ended->run);
  }
  if (signals.end_wanted() != 0 && record.exit == 0)
    record.exit = kSignalExitBase + signals.end_wanted();
  if (!repeats.stopped.empty()) record.warnings.push_back({"repeat", repeats.stopped});
  summarise(repeats);
}

}  // namespace hwprof
