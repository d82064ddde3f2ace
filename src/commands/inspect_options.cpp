// The options of `hwprof events`, `doctor` and `peak`: the commands that look at the machine.
#include "src/commands/inspect_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "counters/events/event_table.h"
#include "src/cli/log.h"
#include "src/cli/options.h"
#include "src/cli/value_options.h"
#include "src/cli/values.h"

namespace hwprof::cli {
namespace {

constexpr std::uint64_t kMaxThreads = 8192;  // CONFIG_NR_CPUS is at most that
constexpr Choice<Format> kFormats[] = {
    {"text", Format::kText}, {"json", Format::kJson}, {"markdown", Format::kMarkdown}};

constexpr const char* kWhat = "What is looked at";
constexpr const char* kReport = "The report";

using Text = const std::string&;

template <class Options>
Result<void> set_format(Text name, Text text, Options& to) {
  return store(parse_choice(name, text, kFormats), to.output.format);
}

template <class Options>
constexpr ValueOption<Options> format_option() {
  return {"--format",
          "FORMAT",
          kReport,
          Occurs::kOnce,
          set_format<Options>,
          "Print text, json or markdown. Default: text."};
}

constexpr ValueOption<EventsOptions> kEventsOptions[] = {
    {"--cpu", "CPU", kWhat, Occurs::kOnce,
     [](Text, Text text, EventsOptions& to) { return store(parse_cpu_id(text), to.cpu.emplace()); },
     "Explain for another CPU, by vendor/family/model: intel/6/143,\n"
     "amd/26/2, arm/0x41/0xd0c. Default: this machine's."},
    {"--pin", "CPU", kWhat, Occurs::kOnce,
     [](Text name, Text text, EventsOptions& to) -> Result<void> {
       const auto cpus = parse_cpu_list(text);
       if (!cpus) return error_of(cpus);
       if (cpus->size() != 1) {
         return usage_error(fmt::format("{} {}: one CPU is needed here", name, text),
                            "it picks the kind of core on a hybrid machine");
       }
       to.pin = cpus->front();
       return {};
     },
     "Count on this CPU: on a hybrid it picks the kind of core.\n"
     "Default: the first that hwprof may use."},
    format_option<EventsOptions>(),
};

constexpr ValueOption<DoctorOptions> kDoctorOptions[] = {
    {"--pin", "CPUS", kWhat, Occurs::kOnce,
     [](Text, Text text, DoctorOptions& to) { return store(parse_cpu_list(text), to.pin); },
     "Judge these CPUs, as in 0 or 0,2-3. Default: all that hwprof\n"
     "may use."},
    format_option<DoctorOptions>(),
};

constexpr ValueOption<PeakOptions> kPeakOptions[] = {
    {"--pin", "CPUS", kWhat, Occurs::kOnce,
     [](Text, Text text, PeakOptions& to) { return store(parse_cpu_list(text), to.pin); },
     "Run on these CPUs only, as in 0 or 0,2-3. Default: wherever the\n"
     "kernel puts it."},
    {"--threads", "N", kWhat, Occurs::kOnce,
     [](Text name, Text text, PeakOptions& to) {
       return store(parse_whole(name, text, 1, kMaxThreads), to.threads.emplace());
     },
     "Compute with N threads. Default: one for each CPU it may use."},
    format_option<PeakOptions>(),
};

constexpr ValueOption<WorkloadsOptions> kWorkloadsOptions[] = {
    format_option<WorkloadsOptions>(),
    {"-o,--output", "FILE", kReport, Occurs::kOnce,
     [](Text, Text text, WorkloadsOptions& to) {
       return store<std::string>(text == "-" ? "" : text, to.output.file);
     },
     "Write to FILE, whole or not at all. Default: \"-\",\n"
     "standard output."},
};

template <class Options>
struct Typed {
  TypedValues values;
  std::vector<std::string> names;
  bool json = false, full = false;
};

template <class Options>
Result<Options> judge(std::span<const ValueOption<Options>> table, const Typed<Options>& typed) {
  Options options;
  if (auto done = set_values(table, typed.values, options); !done) return error_of(done);
  if (typed.json) options.output.format = Format::kJson;
  options.output.full = typed.full;
  return options;
}

// What the three have in common; `finish` takes over what is not in the table.
template <class Options, std::size_t kSize>
Action declare(CLI::App& app, const ValueOption<Options> (&rows)[kSize],
               std::shared_ptr<Typed<Options>> typed,
               Result<void> (*finish)(const Typed<Options>&, Options&),
               std::function<Result<int>(const Options&)> run) {
  const std::span<const ValueOption<Options>> table(rows);
  declare_values(app, table, typed->values);
  declare_flag(app, "--json", kReport, "The same as --format json.", typed->json);
  declare_flag(app, "--full", kReport, "Print all of the text report. Default: what matters most.",
               typed->full);
  return [table, typed = std::move(typed), finish,
          run = std::move(run)](const std::vector<std::string>&) -> Result<int> {
    Result<Options> options = judge(table, *typed);
    if (!options) return error_of(options);
    if (auto done = finish(*typed, *options); !done) return error_of(done);
    start_log(Verbosity::kNormal);
    return run(*options);
  };
}

template <class Options>
Result<void> nothing_more(const Typed<Options>&, Options&) {
  return {};
}

Result<void> finish_events(const Typed<EventsOptions>& typed, EventsOptions& options) {
  for (const std::string& word : typed.names) {
    const auto names = parse_events("an event", word);
    if (!names) return error_of(names);
    options.names.insert(options.names.end(), names->begin(), names->end());
  }
  if (options.cpu && options.pin) {
    return usage_error("--cpu and --pin exclude each other",
                       "--pin picks a core of this machine, --cpu is about another one");
  }
  return {};
}

Result<void> finish_workloads(const Typed<WorkloadsOptions>& typed, WorkloadsOptions& options) {
  if (typed.names.size() > 1) {
    return usage_error(fmt::format("unexpected argument '{}'", typed.names[1]),
                       "one workload at a time");
  }
  if (!typed.names.empty()) options.name = typed.names.front();
  if (options.name.empty() && options.output.format == Format::kJson) {
    return usage_error("--format json needs the name of a workload",
                       "hwprof workloads resnet20 --format json");
  }
  return {};
}

}  // namespace

Action declare_events(CLI::App& app, std::function<Result<int>(const EventsOptions&)> run) {
  auto typed = std::make_shared<Typed<EventsOptions>>();
  app.add_option("names", typed->names, "Explain these events. Default: list all.")
      ->option_text("[NAME...]");
  app.footer(
      "\nhwprof events flops llc-miss            what they become on this machine\n"
      "hwprof events --cpu intel/6/143 flops   and on a Sapphire Rapids");
  return declare(app, kEventsOptions, std::move(typed), finish_events, std::move(run));
}

Action declare_doctor(CLI::App& app, std::function<Result<int>(const DoctorOptions&)> run) {
  app.footer("\nExit codes: 0 nothing to mend, 1 something to mend, 2 wrong usage.");
  return declare(app, kDoctorOptions, std::make_shared<Typed<DoctorOptions>>(),
                 nothing_more<DoctorOptions>, std::move(run));
}

Action declare_peak(CLI::App& app, std::function<Result<int>(const PeakOptions&)> run) {
  return declare(app, kPeakOptions, std::make_shared<Typed<PeakOptions>>(),
                 nothing_more<PeakOptions>, std::move(run));
}

Action declare_workloads(CLI::App& app, std::function<Result<int>(const WorkloadsOptions&)> run) {
  auto typed = std::make_shared<Typed<WorkloadsOptions>>();
  app.add_option("name", typed->names, "Write this one out. Default: list all.")
      ->option_text("[NAME]");
  app.footer(
      "\nhwprof workloads resnet20 --format json -o net.json   a start for one's own\n"
      "hwprof --workload net.json                            which is run so");
  return declare(app, kWorkloadsOptions, std::move(typed), finish_workloads, std::move(run));
}

}  // namespace hwprof::cli
