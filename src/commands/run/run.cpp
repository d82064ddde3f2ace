#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <limits>
#include <memory>

#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/run/fix.h"
#include "src/commands/run/observe.h"
#include "src/commands/run/options.h"
#include "src/report/documents/documents.h"

namespace hwprof {
namespace {

constexpr std::uint64_t kMaxFrequency = 10000;
constexpr std::uint64_t kMostRuns = 10000;
constexpr cli::Choice<CallsBy> kCallsBy[] = {{"best", CallsBy::kBest},
                                             {"audit", CallsBy::kAudit},
                                             {"uprobes", CallsBy::kUprobes},
                                             {"both", CallsBy::kBoth}};

// The runs after the observed one.
void declare_reruns(cli::Options& options, RunRequest& request) {
  options.group(cli::kBudget);
  const auto repeat = options.value(
      "--repeat", "N", request.repeat, cli::whole(1, kMostRuns),
      "Repeat the work N times and record each: after the observed run the command, to time it "
      "and no more: best, median, 95 % interval, outliers. At most 10000. Default: 0.");
  options
      .value("--warmup", "W", request.warmup, cli::whole(0, kMostRuns),
             "Before the N runs, run it W times that do not count. Default: 0.")
      .needs(repeat);
  declare_fix(options, request.fix);
  const auto ignore =
      options.flag("--ignore-failure", request.ignore_failure,
                   "Go on repeating when a run fails. Default: stop, and say which.");
  options.check([&request, ignore, repeat]() -> Result<void> {
    if (!ignore.given() || repeat.given() || request.fix.wanted()) return {};
    return usage_error("--ignore-failure needs --repeat, --try-fix or --try",
                       "hwprof run --help lists the options");
  });
}

// How it is observed; the options that others exclude.
struct Observation {
  cli::Option no_samples, no_calls;
};
Observation declare_observation(cli::Options& options, RunRequest& request,
                                const cli::Option& events) {
  options.group(cli::kBudget);
  options.value("--frequency", "HZ", request.frequency_hz, cli::whole(1, kMaxFrequency),
                "Sample so many times in a second of CPU time. Default: 997, at most 10000.");
  options.flag("--no-counters", request.counters, "Count no events. Default: count.", false)
      .excludes(events);
  const auto no_calls =
      options.flag("--no-calls", request.calls,
                   "Do not watch calls of a BLAS: no probe, no LD_AUDIT. Default: watch.", false);
  const auto no_samples =
      options.flag("--no-samples", request.samples,
                   "Do not sample where the time goes. Default: sample.", false);
  cli::no_ladder(options, request.ladder);
  return {no_samples, no_calls};
}

// Which calls are counted; nothing of it without the stubs that hand them over.
void declare_exact(cli::Options& options, RunRequest& request, const cli::Option& no_calls) {
  options.group(cli::kWork);
  const auto exact =
      options
          .value(
              "--exact", "SYMBOL[:CALL]", request.exact, observe::parse_exact_wish,
              "Count a call of this routine of a BLAS or LAPACK instruction by instruction, "
              "without "
              "a PMU: FLOP by vector width, bytes, by function. The first call of the program and "
              "all that it starts; :5 the fifth; :/100 the first of each 100, 1000 calls at most. "
              "Only what one thread does can be counted: OPENBLAS_NUM_THREADS, OMP_NUM_THREADS, "
              "MKL_NUM_THREADS and BLIS_NUM_THREADS are 1 for the command where they are not set. "
              "x86-64. Default: count none.")
          .excludes(no_calls);
  options
      .value("--exact-region", "NAME[:CALL]", request.exact, observe::parse_exact_region,
             "Count an entry to this region of libhwprof, or with --layers to this module, in the "
             "same way: from where hwprof_enter() returns to hwprof_leave(). Default: count none.")
      .excludes(no_calls)
      .excludes(exact);
  options.check([&request]() -> Result<void> {
    if (!request.exact) return {};
    const char* const option = request.exact->of_region ? "--exact-region" : "--exact";
#if !defined(__x86_64__)
    return usage_error(fmt::format("{} counts on x86-64 only", option));
#else
    if (request.calls_by == CallsBy::kUprobes)
      return usage_error(
          fmt::format("{} needs the audit library, which --calls-by uprobes leaves out", option),
          "leave out --calls-by");
    return {};
#endif
  });
}

// The drawings of samples.
void declare_drawings(cli::Options& options, RunOptions& to, const cli::Option& no_samples) {
  options.group(cli::kReport);
  options
      .flag("--lines", to.request.lines,
            "List the lines of the program and what ran under each: of Python, and of C, C++ and "
            "Fortran that was built with -g; of long calls of a BLAS tell the line of Python. "
            "Default: do not.")
      .excludes(no_samples);
  cli::flame(options, to.flame).excludes(no_samples);
  options
      .value("--folded", "FILE", to.folded, cli::any_text,
             "Write the stacks as folded lines, as flamegraph.pl takes them. Default: do not.")
      .excludes(no_samples);
  options
      .value("--speedscope", "FILE", to.speedscope, cli::any_text,
             "Write the stacks as JSON for speedscope. Default: do not.")
      .excludes(no_samples);
  options
      .value("--pprof", "FILE", to.pprof, cli::any_text,
             "Write the stacks with files, lines and inlined functions as a profile for pprof, as "
             "FILE.pb.gz. Default: do not.")
      .excludes(no_samples);
}

// Whoever draws needs them; a page has them, too.
void ask_for_stacks(RunOptions& options) {
  options.request.places = !options.pprof.empty();
  options.request.stacks = !options.flame.empty() || !options.folded.empty() ||
                           !options.speedscope.empty() || options.request.places ||
                           (options.request.samples && makes_page(options.output));
}

Result<pid_t> read_pid(const std::vector<std::string>& words) {
  if (words.size() != 1) {
    return usage_error(words.empty() ? "the process to attach to is missing"
                                     : fmt::format("unexpected argument '{}'", words[1]),
                       "hwprof attach [OPTIONS] PID");
  }
  TRY(const auto pid, cli::parse_whole("PID", words.front(), 1, std::numeric_limits<pid_t>::max()));
  return static_cast<pid_t>(pid);
}

Result<int> conclude_run(const report::Run& record, const RunOptions& options) {
  constexpr int kUnknown = 3;
  if (!record.not_run.empty() || record.exit != 0 || !options.require_optimal_blas ||
      record.blas.verdict == report::VerdictKind::kOptimal) {
    return record.exit;
  }
  spdlog::error("--require optimal-blas: the verdict is {}", to_text(record.blas.verdict));
  return record.blas.verdict == report::VerdictKind::kInconclusive ? kUnknown : 1;
}

// Of a process that is not our child the kernel tells no exit code.
Result<int> conclude_attach(const report::Run& /*record*/, const RunOptions& /*options*/) {
  return 0;
}

}  // namespace

cli::Action run_command(cli::Options& options) {
  auto to = std::make_shared<RunOptions>();
  RunRequest& request = to->request;
  options.group(cli::kWork);
  options.value("--user", "NAME", request.user, cli::any_text,
                "Run the command with the rights of this user; hwprof keeps its own. Only for "
                "root. Default: as hwprof itself.");
  cli::pin(options, request.pin,
           "Run the command on these CPUs only, as in 0 or 0,2-3. Default: wherever the kernel "
           "puts it.");
  const auto events = cli::events(options, request.events, cli::kProgramEvents);
  declare_reruns(options, request);
  const auto [no_samples, no_calls] = declare_observation(options, request, events);
  options.value(
      "--calls-by", "WAY", request.calls_by, cli::choice(kCallsBy),
      "Watch calls of a BLAS by WAY: audit, stubs that the dynamic loader binds (60 ns a "
      "call); uprobes, probes of the kernel (3 us a call, only for root), which see static "
      "programs and those in containers, too; both, audit with uprobes beside it, which tell the "
      "calls that audit misses (3 us a call); best, audit where the command loads it. "
      "Default: best.");
  options.flag("--layers", request.layers,
               "Make a region of each forward and backward of PyTorch's modules in a Python "
               "program, and list them by name and type with time, FLOP and who computed them; "
               "with --events, with counters. Default: do not.");
  declare_exact(options, request, no_calls);
  cli::region_view(options, request.region_view);
  cli::trace(options, request.trace);
  declare_drawings(options, *to, no_samples);
  cli::require(options, {{"optimal-blas", &to->require_optimal_blas}},
               "Exit with 1 unless optimal-blas holds, with 3 where it cannot be told; a command "
               "that fails keeps its own exit code. Default: no check.");
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml},
              "standard error; standard output is the command's");
  options.footer(
      "hwprof run [OPTIONS] -- COMMAND [ARGUMENTS...]: what follows the dashes is run\n"
      "as it is.\n\n"
      "hwprof run -- python3 train.py         the report follows on standard error\n"
      "hwprof run --layers -- python3 main.py    which layer takes the time\n"
      "hwprof run --exact cblas_sgemm -- python3 main.py    its first product\n"
      "hwprof run --format json -o run.json -- ./solver input\n"
      "\nThe exit code is the command's (128 + n for signal n), 127 when there is no such\n"
      "command, 126 when it cannot be run; 2 for wrong options, before anything runs.");
  return [to](const cli::CommandLine& line) -> Result<int> {
    to->request.command = line.command;
    ask_for_stacks(*to);
    if (line.command.empty()) {
      return usage_error("the command to run is missing", "hwprof run [OPTIONS] -- COMMAND ARGS");
    }
    return observe_apart(*to, report::run_document, true, conclude_run);
  };
}

cli::Action attach_command(cli::Options& options) {
  auto to = std::make_shared<RunOptions>();
  auto words = std::make_shared<std::vector<std::string>>();
  options.words("pid", "PID", *words, "The process to observe.");
  const auto events = cli::events(options, to->request.events, cli::kProgramEvents);
  options.group(cli::kBudget);
  options.value("--seconds", "S", to->request.attach_seconds, cli::seconds(cli::kMaxSeconds),
                "Detach after S seconds. Default: when it ends, or at Ctrl-C.");
  declare_drawings(options, *to, declare_observation(options, to->request, events).no_samples);
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown, Format::kHtml},
              "standard error");
  options.footer("The process is never stopped, and goes on when hwprof detaches or is killed.");
  return [to, words](const cli::CommandLine&) -> Result<int> {
    TRY(to->request.attach, read_pid(*words));
    ask_for_stacks(*to);
    return observe_apart(*to, report::run_document, true, conclude_attach);
  };
}

}  // namespace hwprof
