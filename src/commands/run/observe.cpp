#include "src/commands/run/observe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>

#include "counters/perf/counting.h"
#include "src/base/utc.h"
#include "src/blas/evidence/called.h"
#include "src/cli/groups.h"
#include "src/commands/kept_calibration.h"
#include "src/commands/run/evidence.h"
#include "src/commands/run/fix.h"
#include "src/commands/run/layers.h"
#include "src/commands/run/repetition.h"
#include "src/commands/run/watch.h"
#include "src/measure/regions_view.h"
#include "src/observe/monitor/client.h"
#include "src/observe/proc/processes.h"
#include "src/observe/proc/program_file.h"
#include "src/observe/proc/region_files.h"
#include "src/observe/proc/trace_spans.h"
#include "src/observe/proc/tree_counting.h"

namespace hwprof {
namespace {

using observe::CommandEnd;
using observe::MonitorClient;
using Clock = std::chrono::steady_clock;

// As shells and env(1) have it.
constexpr int kNotFound = 127, kNoExec = 126;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Asks the kernel by doing it, since a cpuset can forbid what exists; hwprof stays where it was.
Result<void> check_cpus(const CpuList& cpus) {
  if (cpus.empty()) return {};
  const CpuList before = allowed_cpus();
  auto pinned = pin_to(cpus);
  if (auto back = pin_to(before); pinned && !back) return back;
  return pinned;
}

void warn(report::Run& record, std::string code, std::string text) {
  record.warnings.push_back({std::move(code), std::move(text)});
}

// What the program will count is not known yet: any event may be a column.
Result<void> check_view(const Machine& machine, const report::RegionView& view) {
  const std::string columns[] = {view.sort};
  const bool event = !view.sort.empty() && check_event_names(machine, columns);
  return check_region_view(
      view, event ? std::span<const std::string>(columns) : std::span<const std::string>());
}

Result<report::Run> begin_record(const RunRequest& request) {
  report::Run record;
  record.version = HWPROF_VERSION;
  record.started_utc = utc_now();
  record.command = request.command;
  record.pinned = request.pin;
  const unsigned cpu = request.pin.empty() ? allowed_cpus().front() : request.pin.front();
  record.machine = probe_machine(cpu);
  use_kept_calibration(record.machine, cpu);
  TRY(check_event_names(record.machine, request.events));
  TRY(check_view(record.machine, request.region_view));
  return record;
}

std::vector<std::string> events_of(const RunRequest& request) {
  if (!request.counters) return {};
  if (!request.events.empty()) return request.events;
  return {std::begin(cli::kProgramEvents), std::end(cli::kProgramEvents)};
}

// Absent, with a warning, when nothing at all can be counted.
std::optional<TreeCounting> start_counting(const RunRequest& request, report::Run& record,
                                           pid_t pid, bool on_exec) {
  auto counting = TreeCounting::open(record.machine, pid, events_of(request), on_exec);
  if (counting) return *std::move(counting);
  warn(record, "counters", counting.error().what);
  return std::nullopt;
}

std::string rights_note(const ProgramFile& program) {
  return fmt::format("{} takes rights of its own (setuid or file capabilities)", program.path);
}

void warn_of_limits(const ProgramFile& program, report::Run& record) {
  if (program.gains_rights && ::geteuid() != 0) {
    warn(record, "setuid",
         rights_note(program) +
             ": the kernel ends what another user counts or samples in it, and its loader ignores "
             "LD_AUDIT; as root hwprof sees all of it");
  }
  if (program.is_static) {
    warn(record, "static",
         program.path +
             " is linked statically: calls inside one file cannot be watched, only "
             "where its time goes");
  }
}

std::vector<pid_t> pids_of(const std::vector<observe::LeftProcess>& left) {
  std::vector<pid_t> pids;
  for (const observe::LeftProcess& process : left) pids.push_back(process.pid);
  return pids;
}

void warn_of_left(const std::vector<observe::LeftProcess>& left, report::Run& record) {
  if (left.empty()) return;
  constexpr std::size_t kNamed = 5;
  std::string names;
  for (std::size_t i = 0; i < std::min(left.size(), kNamed); ++i) {
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", left[i].pid, left[i].name);
  }
  if (left.size() > kNamed) names += fmt::format(" and {} more", left.size() - kNamed);
  warn(record, "processes-go-on",
       fmt::format("the command has ended, but {} that it started {} on: {}; counted and watched "
                   "until then",
                   left.size() == 1 ? "a process" : fmt::format("{} processes", left.size()),
                   left.size() == 1 ? "goes" : "go", names));
}

// What the regions of a program and the entries that were counted exactly say of each other.
void tell_exact_entries(report::Run& record) {
  std::set<std::string> names;
  if (record.regions)
    for (const report::Region& region : record.regions->rows) names.insert(region.name);
  if (record.exact.empty() && !record.exact_reason.empty()) {
    record.exact_reason += names.empty()
                               ? "; the program reported no region"
                               : fmt::format("; its regions are {}", fmt::join(names, ", "));
  }
  if (record.regions && !record.exact.empty()) {
    record.regions->notes.push_back(fmt::format(
        "{} counted exactly, which takes longer than the work: times of that region, of those in "
        "and around it and of the program have it in them.",
        record.exact.size() == 1 ? report::label_of(record.exact[0]) + " was"
                                 : fmt::format("{} entries were", record.exact.size())));
  }
}

// Of all processes, by path. Absent where no process had any.
std::optional<report::Regions> regions_of(const RegionFiles& files) {
  const std::vector<report::Regions> processes = files.read();
  if (processes.empty()) return std::nullopt;
  return merge_regions(processes);
}

// A file that fails now is a warning: what was observed is not lost.
void write_trace(const RegionFiles& files, const std::string& path, MonitorClient& monitor,
                 report::Run& record) {
  const auto trace = files.trace();
  if (!trace || !record.regions) {
    warn(record, "trace", path + " is not written: the program left no trace of regions");
  } else if (auto written = monitor.save_file(
                 path, observe::with_calls(trace->json, record.blas.evidence.called)
                           .value_or(trace->json));
             !written) {
    warn(record, "trace", written.error().what);
  } else {
    record.regions->trace = {.path = path, .calls = trace->calls, .dropped = trace->dropped};
    observe::add_spans(trace->json, *record.regions->trace);
  }
}

report::Run not_run(report::Run record, const Error& error) {
  record.exit = error.code == ENOENT ? kNotFound : kNoExec;
  record.not_run = in_words(error);
  return record;
}

void take_end(const CommandEnd& end, report::Run& record) {
  const observe::CommandEnded& facts = end.facts;
  record.exit = facts.exit;
  record.wall_s = facts.wall_s;
  record.user_s = facts.user_s;
  record.system_s = facts.system_s;
  if (facts.peak_rss_bytes > 0) {
    record.peak_rss_bytes = facts.peak_rss_bytes;
  } else {
    record.peak_rss_reason =
        fmt::format("below the {} KiB that starting it took, which the kernel counts to it",
                    facts.start_rss_bytes / 1024);
  }
  warn_of_left(end.left, record);
}

Result<report::Run> observe_command(const RunRequest& request, MonitorClient& monitor,
                                    SignalWatch& signals, report::Run record) {
  // 1. The command, before anything is put into the system for it.
  const Result<std::string> path = find_program(request.command.front());
  if (!path) return not_run(std::move(record), path.error());
  const ProgramFile program = inspect_program(*path);
  warn_of_limits(program, record);

  // 2. The watchers that must be there first, then the command, held before its execve.
  Evidence evidence = Evidence::prepare(request);
  const auto regions = RegionFiles::prepare(!request.trace.empty());
  if (!regions) warn(record, "regions", regions.error().what);
  std::vector<std::string> environment = evidence.environment();
  if (regions)
    for (const std::string& variable : regions->environment()) environment.push_back(variable);
  const std::optional<LayerFiles> layers = prepare_layers(request, record);
  if (layers)
    for (std::string& variable : layers_environment(*layers, request))
      environment.push_back(std::move(variable));
  TRY(const pid_t pid, monitor.start(environment));
  evidence.attach(pid, true);
  const auto counting = start_counting(request, record, pid, true);
  spdlog::info("{} is process {}", *path, pid);

  // 3. It runs.
  if (auto released = monitor.release(); !released) {
    // The file was there a moment ago: whatever the kernel says of it now, it cannot be run.
    record = not_run(std::move(record), released.error());
    record.exit = kNoExec;
    return record;
  }
  Watch watch{.exit_descriptor = monitor.end_descriptor(),
              .signals = signals,
              .on_signal = [](SignalWatch::Signal) { return true; },  // the monitor passes them on
              .evidence = &evidence};
  watch_until_end(watch);
  TRY(const CommandEnd end, monitor.wait());

  // 4. What was found out.
  take_end(end, record);
  if (counting)
    record.counters = counting->finish(program.gains_rights ? rights_note(program) : "");
  evidence.finish(record, pids_of(end.left));
  if (regions) record.regions = regions_of(*regions);
  if (request.exact && request.exact->of_region) tell_exact_entries(record);
  if (layers) take_layers(*layers, record.regions, evidence.calls_by_module(), record);
  if (record.regions)
    record.regions = view_regions(*std::move(record.regions), request.region_view);
  if (regions && !request.trace.empty()) write_trace(*regions, request.trace, monitor, record);
  return record;
}

// The observed run, then those that are only timed.
Result<report::Run> run_command(const RunRequest& request, const std::optional<CommandInput>& input,
                                MonitorClient& monitor, report::Run record) {
  TRY(SignalWatch signals, SignalWatch::begin());
  auto observed = observe_command(request, monitor, signals, std::move(record));
  if (observed && observed->not_run.empty() && request.repeat > 0)
    repeat_command(request, *input, monitor, *observed);
  return observed;
}

// Of runs after the first, where there are to be some.
Result<std::optional<CommandInput>> prepare_input(const RunRequest& request) {
  if (request.repeat == 0 && !request.fix.wanted()) return std::nullopt;
  TRY(auto input, CommandInput::prepare(request.repeat > 0    ? "--repeat"
                                        : request.fix.verdict ? "--try-fix"
                                                              : "--try"));
  return input;
}

Result<ProcessInfo> check_process(pid_t pid) {
  if (pid == ::getpid() || pid == ::getppid())
    return usage_error(fmt::format("PID {} is hwprof itself", pid), "give the process to observe");
  const auto info = process_info(pid);
  if (!info)
    return usage_error(fmt::format("there is no process {}", pid), "ps -e lists what runs");
  if (info->process != pid)
    return usage_error(fmt::format("{} ({}) is a thread of process {}, and no process itself", pid,
                                   info->name, info->process),
                       fmt::format("hwprof attach {} observes all threads of it", info->process));
  if (info->kernel_thread)
    return usage_error(fmt::format("process {} ({}) is a thread of the kernel", pid, info->name),
                       "only programs can be observed");
  if (info->ended)
    return usage_error(fmt::format("process {} ({}) has already ended", pid, info->name));
  // Its memory map, its program and its events are asked for by that thread.
  if (info->main_ended)
    return usage_error(fmt::format("the main thread of process {} ({}) has ended, and other "
                                   "threads go on: hwprof cannot join such a process",
                                   pid, info->name),
                       "hwprof run observes it from its start");
  if (launched_by_root() && ::geteuid() != 0 && info->user != ::geteuid()) {
    return environment_error(
        EPERM,
        fmt::format("process {} ({}) has the rights of user {}, who is not the one who started it "
                    "(uid {}): hwprof looks at it with that user's rights, which do not suffice",
                    pid, info->name, info->user, ::geteuid()),
        "attach to the program that it starts, once it has its user's rights");
  }
  if (::geteuid() != 0 && info->user != ::geteuid()) {
    return environment_error(
        EPERM,
        fmt::format("process {} ({}) belongs to another user (uid {}): the kernel lets only its "
                    "owner and root observe it",
                    pid, info->name, info->user),
        "run hwprof as root or as that user");
  }
  return *info;
}

Result<report::Run> observe_process(const RunRequest& request, report::Run record) {
  const pid_t pid = *request.attach;
  TRY(const ProcessInfo first, check_process(pid));
  // From here on the descriptor means this process, whatever becomes of its number.
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid())
    return environment_error(
        errno, fmt::format("cannot attach to process {}: {}", pid, std::strerror(errno)));
  record.attached_pid = pid;
  record.command = command_of(pid);
  if (record.command.empty()) record.command = {first.name};

  TRY(SignalWatch signals, SignalWatch::begin());
  Evidence evidence = Evidence::prepare(request);
  evidence.attach(pid, false);
  const auto counting = start_counting(request, record, pid, false);

  const auto begin = Clock::now();
  ProcessInfo last = first;
  bool seen = false;
  const auto remember = [&] {
    auto now = process_info(pid);
    if (!now || now->start_ticks != first.start_ticks || now->ended) return;
    last = *std::move(now);
    seen = true;
    if (const auto peak = peak_rss_bytes(pid)) record.peak_rss_bytes = peak;
  };
  Watch watch{.exit_descriptor = pidfd.get(),
              .signals = signals,
              .on_signal = [](SignalWatch::Signal) { return false; },
              .evidence = &evidence,
              .on_tick =
                  [&] {
                    remember();
                    return !request.attach_seconds ||
                           seconds_since(begin) < *request.attach_seconds;
                  }};
  record.detached = !watch_until_end(watch);
  record.wall_s = seconds_since(begin);
  remember();
  if (seen) {
    record.user_s = last.user_s - first.user_s;
    record.system_s = last.system_s - first.system_s;
  } else {
    warn(record, "process",
         "the CPU time of the process is not known: it ended before it could be read");
  }
  if (!record.peak_rss_bytes) record.peak_rss_reason = "it ended before it could be read";
  if (counting) record.counters = counting->finish();
  evidence.finish(record);
  return record;
}

}  // namespace

Result<report::Run> observe_program(const RunRequest& request, MonitorClient& monitor,
                                    const KnownSoFar& known) {
  TRY(check_cpus(request.pin));
  TRY(report::Run begun, begin_record(request));
  TRY(const std::optional<CommandInput> input, prepare_input(request));
  TRY(report::Run record, request.attach ? observe_process(request, std::move(begun))
                                         : run_command(request, input, monitor, std::move(begun)));
  if (!record.not_run.empty()) return record;
  if (record.user_s && record.system_s)
    record.slowed_by_observing = blas::slowed_by_watching(
        record.blas.evidence.called, 1e9 * (*record.user_s + *record.system_s));
  if (record.wall_s > 0 && record.user_s && record.system_s)
    record.cpus_used = (*record.user_s + *record.system_s) / record.wall_s;
  measure_run_blas(request, known, record);
  add_layer_evidence(request, record);
  if (request.fix.wanted()) {
    known(record);
    try_settings(request, *input, monitor, record);
  }
  return record;
}

Result<report::Run> program_without_worker(const RunRequest& request,
                                           const observe::WorkerDeath& death) {
  TRY(report::Run record, begin_record(request));
  const std::string reason = "hwprof's worker " + death.how + ", and what it had found out is lost";
  warn(record, "worker", reason);
  if (request.attach) {
    record.attached_pid = request.attach;
    record.detached = death.goes_on;
    record.wall_s = death.watched_s;
    record.peak_rss_reason = reason;
  }
  if (death.end) take_end(*death.end, record);
  record.blas.evidence.called.reason = reason;
  record.blas.evidence.executed.reason = reason;
  judge_run_blas(request, record);
  // No time that it runs for would have told more.
  record.blas.fix = !request.attach ? "run it again" : death.goes_on ? "attach again" : "";
  return record;
}

}  // namespace hwprof
