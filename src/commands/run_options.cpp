// The options of `hwprof run` and `hwprof attach`.
#include "src/commands/run_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <memory>

#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"
#include "src/commands/region_options.h"

namespace hwprof::cli {
namespace {

constexpr double kMaxSeconds = 1e6;
constexpr std::uint64_t kMaxFrequency = 10000;
constexpr std::uint64_t kMostRuns = 10000;

constexpr Choice<Format> kFormats[] = {
    {"text", Format::kText}, {"json", Format::kJson}, {"markdown", Format::kMarkdown}};

constexpr const char* kWork = "What is run";
constexpr const char* kMeasure = "How it is observed";
constexpr const char* kReport = "The report";

using Text = const std::string&;
using Row = ValueOption<RunOptions>;

constexpr Row kPin = {
    "--pin",
    "CPUS",
    kWork,
    Occurs::kOnce,
    [](Text, Text text, RunOptions& to) { return store(parse_cpu_list(text), to.request.pin); },
    "Run the command on these CPUs only, as in 0 or 0,2-3. Default:\n"
    "wherever the kernel puts it."};
constexpr Row kUser = {"--user",
                       "NAME",
                       kWork,
                       Occurs::kOnce,
                       [](Text, Text text, RunOptions& to) {
                         return store<std::string>(text, to.request.user.emplace());
                       },
                       "Run the command with the rights of this user; hwprof keeps its\n"
                       "own. Only for root. Default: as hwprof itself."};
constexpr Row kRepeat = {"--repeat",
                         "R",
                         kWork,
                         Occurs::kOnce,
                         [](Text name, Text text, RunOptions& to) {
                           return store(parse_whole(name, text, 1, kMostRuns), to.request.repeat);
                         },
                         "Run the command R times more, after the observed run, to time it and\n"
                         "no more: best, median, 95 % interval, outliers. At most 10000.\n"
                         "Default: 0."};
constexpr Row kWarmup = {"--warmup",
                         "W",
                         kWork,
                         Occurs::kOnce,
                         [](Text name, Text text, RunOptions& to) {
                           return store(parse_whole(name, text, 0, kMostRuns), to.request.warmup);
                         },
                         "Before the R runs, run it W times that do not count. Default: 0."};
constexpr Row kSeconds = {"--seconds",
                          "S",
                          kWork,
                          Occurs::kOnce,
                          [](Text name, Text text, RunOptions& to) {
                            return store(parse_seconds(name, text, kMaxSeconds),
                                         to.request.attach_seconds.emplace());
                          },
                          "Detach after S seconds. Default: when it ends, or at Ctrl-C."};
constexpr Row kEvents = {"--events",
                         "LIST",
                         kMeasure,
                         Occurs::kAddsUp,
                         [](Text name, Text text, RunOptions& to) {
                           return store(parse_events(name, text), to.request.events);
                         },
                         "Count these events, separated by commas: names, r01c2, or\n"
                         "cpu/event=0xc2,umask=0x1/. Default: cycles, instructions, flops,\n"
                         "llc-miss, task-clock, context-switches, migrations, page-faults."};
constexpr Row kFrequency = {
    "--frequency",
    "HZ",
    kMeasure,
    Occurs::kOnce,
    [](Text name, Text text, RunOptions& to) {
      return store(parse_whole(name, text, 1, kMaxFrequency), to.request.frequency_hz);
    },
    "Sample so many times in a second of CPU time. Default: 997, at most\n10000."};
constexpr Row kFormat = {"--format",
                         "FORMAT",
                         kReport,
                         Occurs::kOnce,
                         [](Text name, Text text, RunOptions& to) {
                           return store(parse_choice(name, text, kFormats), to.output.format);
                         },
                         "Print text, json or markdown. Default: text."};
constexpr Row kOutput = {"-o,--output",
                         "FILE",
                         kReport,
                         Occurs::kOnce,
                         [](Text, Text text, RunOptions& to) {
                           return store<std::string>(text == "-" ? "" : text, to.output.file);
                         },
                         "Write the report to FILE, whole or not at all. Default: \"-\",\n"
                         "standard error; standard output is the command's."};

// A file for the sampled call stacks.
template <std::string RunOptions::*kMember>
Result<void> set_stacks(Text, Text text, RunOptions& to) {
  to.request.stacks = true;
  return store<std::string>(text, to.*kMember);
}

Result<void> set_flame(Text name, Text text, RunOptions& to) {
  if (!text.ends_with(".svg") && !text.ends_with(".html")) {
    return usage_error(
        fmt::format("{} takes a file that ends in .svg or .html, not '{}'", name, text));
  }
  return set_stacks<&RunOptions::flame>(name, text, to);
}

constexpr Row kFlame = {"--flame", "FILE",
                        kReport,   Occurs::kOnce,
                        set_flame, "Draw a flame graph: FILE.svg, or FILE.html to look at."};
constexpr Row kFolded = {"--folded",
                         "FILE",
                         kReport,
                         Occurs::kOnce,
                         set_stacks<&RunOptions::folded>,
                         "Write the stacks as folded lines, as flamegraph.pl takes them."};
constexpr Row kSpeedscope = {"--speedscope",
                             "FILE",
                             kReport,
                             Occurs::kOnce,
                             set_stacks<&RunOptions::speedscope>,
                             "Write the stacks as JSON for speedscope."};

report::RegionView& region_view(RunOptions& options) { return options.request.region_view; }
constexpr const auto& kViewOptions = kRegionOptions<RunOptions, region_view>;

constexpr Row kRunOptions[] = {
    kPin,        kUser,           kRepeat,         kWarmup,         kEvents,
    kFrequency,  kFormat,         kOutput,         kFlame,          kFolded,
    kSpeedscope, kViewOptions[0], kViewOptions[1], kViewOptions[2], kViewOptions[3]};
constexpr Row kAttachOptions[] = {kSeconds, kEvents, kFrequency, kFormat,
                                  kOutput,  kFlame,  kFolded,    kSpeedscope};

struct Typed {
  TypedValues values;
  std::vector<std::string> pids;
  bool no_ladder = false, no_counters = false, no_calls = false, no_samples = false;
  bool lines = false, ignore_failure = false, full = false;
  bool verbose = false;
};

void declare_flags(CLI::App& app, Typed& typed) {
  declare_flag(app, "--no-counters", kMeasure, "Count no events. Default: count.",
               typed.no_counters);
  declare_flag(app, "--no-calls", kMeasure,
               "Do not watch calls of a BLAS: no probe, no LD_AUDIT. Default:\nwatch.",
               typed.no_calls);
  declare_flag(app, "--no-samples", kMeasure, "Do not sample where the time goes. Default: sample.",
               typed.no_samples);
  declare_flag(app, "--lines", kReport,
               "List the hottest source lines, where there is debug information.\nDefault: do not.",
               typed.lines);
  declare_flag(app, "--no-ladder", kMeasure,
               "Skip comparing the BLAS with its other core types after the\n"
               "command has ended, which takes up to 2 s. Default: compare.",
               typed.no_ladder);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed.full);
  declare_flag(app, "-v,--verbose", kReport, "Log each step on standard error. Default: off.",
               typed.verbose);
}

Result<RunOptions> judge(std::span<const Row> table, const Typed& typed) {
  RunOptions options;
  if (auto done = set_values(table, typed.values, options); !done) return error_of(done);
  options.request.ladder = !typed.no_ladder;
  options.request.counters = !typed.no_counters;
  options.request.calls = !typed.no_calls;
  options.request.samples = !typed.no_samples;
  options.request.lines = typed.lines;
  options.output.full = typed.full;
  options.request.ignore_failure = typed.ignore_failure;
  if (typed.no_samples && (typed.lines || options.request.stacks)) {
    return usage_error("--lines, --flame, --folded and --speedscope need samples",
                       "leave out --no-samples");
  }
  const std::vector<std::string> given = given_names(table, typed.values);
  const bool warmup = std::find(given.begin(), given.end(), "--warmup") != given.end();
  if (options.request.repeat == 0 && (warmup || typed.ignore_failure)) {
    return usage_error(fmt::format("{} needs --repeat", warmup ? "--warmup" : "--ignore-failure"),
                       "add --repeat 20, or as many runs as you want");
  }
  if (typed.no_counters && !options.request.events.empty())
    return usage_error("--events and --no-counters exclude each other");
  return options;
}

Result<pid_t> parse_pid(const std::vector<std::string>& pids) {
  if (pids.size() != 1) {
    return usage_error(pids.empty() ? "the process to attach to is missing"
                                    : fmt::format("unexpected argument '{}'", pids[1]),
                       "hwprof attach [OPTIONS] PID");
  }
  const auto pid = parse_whole("PID", pids.front(), 1, std::numeric_limits<pid_t>::max());
  if (!pid) return error_of(pid);
  return static_cast<pid_t>(*pid);
}

}  // namespace

Action declare_run(CLI::App& app, std::function<Result<int>(const RunOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  declare_values<RunOptions>(app, kRunOptions, typed->values);
  declare_flag(app, "--ignore-failure", kWork,
               "Go on repeating when a run fails. Default: stop, and say which.",
               typed->ignore_failure);
  declare_flags(app, *typed);
  app.footer(
      "\nhwprof run [OPTIONS] -- COMMAND [ARGUMENTS...]: what follows the dashes is run as it "
      "is.\n\n"
      "hwprof run -- python3 train.py         the report follows on standard error\n"
      "hwprof run --format json -o run.json -- ./solver input\n"
      "\nThe exit code is the command's (128 + n for signal n), 127 when there is no such\n"
      "command, 126 when it cannot be run; 2 for wrong options, before anything runs.");
  return [typed,
          run = std::move(run)](const std::vector<std::string>& command_line) -> Result<int> {
    auto options = judge(kRunOptions, *typed);
    if (!options) return error_of(options);
    options->request.command = words_behind_dashes(command_line);
    if (options->request.command.empty()) {
      return usage_error("the command to run is missing", "hwprof run [OPTIONS] -- COMMAND ARGS");
    }
    start_log(typed->verbose ? Verbosity::kVerbose : Verbosity::kNormal);
    return run(*options);
  };
}

Action declare_attach(CLI::App& app, std::function<Result<int>(const RunOptions&)> run) {
  auto typed = std::make_shared<Typed>();
  declare_values<RunOptions>(app, kAttachOptions, typed->values);
  declare_flags(app, *typed);
  app.add_option("pid", typed->pids, "The process to observe.")->option_text("PID");
  app.footer("\nThe process is never stopped, and goes on when hwprof detaches or is killed.");
  return [typed, run = std::move(run)](const std::vector<std::string>&) -> Result<int> {
    auto options = judge(kAttachOptions, *typed);
    if (!options) return error_of(options);
    const auto pid = parse_pid(typed->pids);
    if (!pid) return error_of(pid);
    options->request.attach = *pid;
    start_log(typed->verbose ? Verbosity::kVerbose : Verbosity::kNormal);
    return run(*options);
  };
}

}  // namespace hwprof::cli
