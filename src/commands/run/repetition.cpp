#include "src/commands/run/repetition.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <string>

#include "src/measure/peak.h"
#include "src/measure/repeats.h"

namespace hwprof {
namespace {

constexpr double kPeakBesideSeconds = 0.005;
constexpr int kRepeatNotRunnable = 126;  // as shells and env(1) have it

// The clock of the CPU on which the runs are pinned; of another CPU it would tell nothing on them.
std::optional<double> peak_where_pinned(const CpuList& pin) {
  if (pin.empty()) return std::nullopt;
  const CpuList before = allowed_cpus();
  if (!pin_to({pin.front()})) return std::nullopt;
  const double gflops = fma_slice_gflops(fastest_fma_kernel(), kPeakBesideSeconds);
  static_cast<void>(pin_to(before));  // where it was a moment ago
  return gflops;
}

// Once: if one run leaves a process behind, each does.
void warn_of_going_on(const std::string& run, report::Run& record) {
  record.warnings.push_back(
      {"processes-go-on", "a process that " + run + " started goes on beside the runs after it"});
}

}  // namespace

std::string why_to_stop(const std::string& what, int exit, const RunRequest& request,
                        int end_wanted) {
  if (end_wanted != 0)
    return fmt::format("{} was ended by SIG{}", what, ::sigabbrev_np(end_wanted));
  if (exit == 0 || request.ignore_failure) return {};
  return fmt::format("{} failed with exit code {}; --ignore-failure goes on all the same", what,
                     exit);
}

void take_wanted_end(observe::MonitorClient& monitor, report::Run& record) {
  constexpr int kSignalExitBase = 128;  // exit code of what a signal ended
  if (const int wanted = monitor.end_wanted(); wanted != 0 && record.exit == 0)
    record.exit = kSignalExitBase + wanted;
}

void repeat_command(const RunRequest& request, const CommandInput& input,
                    observe::MonitorClient& monitor, report::Run& record) {
  report::Repeats& repeats = record.repeats.emplace();
  repeats.wanted = request.repeat;
  repeats.warmup = request.warmup;
  repeats.notes.emplace_back(
      "These runs were timed and not observed: no probe, no sample. All else in this report is of "
      "a run of its own before them, which observing may have slowed down.");
  if (request.pin.empty()) repeats.peak_reason = "the clock is watched where --pin is given";
  repeats.stopped = why_to_stop("the observed run", record.exit, request, monitor.end_wanted());
  std::optional<double> peak = peak_where_pinned(request.pin);
  const TimedStart start{.no_migrations = request.counters ? "" : "not counted (--no-counters)"};
  bool said_going_on = false;
  for (unsigned i = 0; i < request.warmup + request.repeat && repeats.stopped.empty(); ++i) {
    const bool measured = i >= request.warmup;
    const std::string name =
        measured ? fmt::format("run {} of {}", i - request.warmup + 1, request.repeat)
                 : fmt::format("warm-up run {} of {}", i + 1, request.warmup);
    input.rewind();
    auto ended = time_command(start, record.machine, monitor);
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
    record.exit = ended->exit;
    repeats.stopped = why_to_stop(name, ended->exit, request, monitor.end_wanted());
    if (!measured || !repeats.stopped.empty()) continue;
    if (!ended->run.waited_s)
      repeats.waited_reason = "the kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)";
    if (!ended->migrations_reason.empty()) repeats.migrations_reason = ended->migrations_reason;
    repeats.runs.push_back(ended->run);
  }
  take_wanted_end(monitor, record);
  if (!repeats.stopped.empty()) record.warnings.push_back({"repeat", repeats.stopped});
  summarise(repeats);
}

}  // namespace hwprof
