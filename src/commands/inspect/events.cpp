#include <fmt/format.h>

#include <memory>
#include <optional>

#include "counters/events/event_table.h"
#include "counters/events/pfm.h"
#include "counters/events/resolve.h"
#include "counters/machine.h"
#include "counters/perf/counting.h"
#include "src/base/suggest.h"
#include "src/cli/groups.h"
#include "src/cli/values.h"
#include "src/commands/commands.h"
#include "src/commands/inspect/calibrate.h"
#include "src/commands/kept_calibration.h"
#include "src/report/documents/calibration.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

struct EventsOptions {
  std::vector<std::string> names;  // to be explained; empty: list all
  std::optional<CpuId> cpu;        // another machine's; absent: this one
  CpuList pin;                     // the CPU whose kind of core is meant; empty: the first
  bool calibrate = false;          // hold events against exact counts, instead of listing them
  Output output;
};

std::vector<NativeTerm> table_terms(const CoreRow* core, std::string_view name) {
  const PortableEvent* portable = find_portable(name);
  if (core == nullptr || portable == nullptr) return {};
  const EventRow* row = find_row(*core, portable->name);
  if (row == nullptr) return {};
  return {row->terms.begin(), row->terms.begin() + static_cast<std::ptrdiff_t>(row->term_count())};
}

std::string libpfm_sentence() {
  if (pfm::knows_this_cpu()) {
    return fmt::format("{} knows this CPU: its names work, as showevtinfo lists them",
                       pfm::version());
  }
  return fmt::format(
      "{} does not know this CPU's PMU: only the portable names above and raw events "
      "can be asked for",
      pfm::version());
}

std::string pmu_sentence(const Machine& machine, const PmuDevice* device) {
  if (device == nullptr) return machine.pmu.reason;
  if (!machine.pmu.counters) return fmt::format("{}; {}", device->name, machine.pmu.reason);
  return fmt::format("{}, {} general counters in a group", device->name, *machine.pmu.counters);
}

// Each name resolved and tried on `cpu`, where the caller is.
Result<report::Events> look_here(unsigned cpu, const std::vector<std::string>& names) {
  TRY(pin_to({cpu}));
  const Machine machine = probe_machine(cpu);
  use_kept_calibration(machine, cpu);
  const PmuDevice* device = machine.pmu.for_cpu(cpu);
  const CoreRow* core = find_core(machine.id, device == nullptr ? "" : device->name);
  report::Events events;
  events.cpu_name = machine.cpu_name;
  events.cpu_id = format_cpu_id(machine.id);
  events.cpu = cpu;
  events.pmu = pmu_sentence(machine, device);
  events.libpfm = libpfm_sentence();
  TRY(const auto counts, try_events(machine, cpu, names));
  report::EventsCore& lines = events.cores.emplace_back();
  if (core != nullptr) lines.core = core->name;
  if (device != nullptr) lines.pmu = device->name;
  for (std::size_t i = 0; i < names.size(); ++i) {
    TRY(ResolvedEvent resolved, resolve(machine, cpu, names[i]));
    lines.events.push_back({std::move(resolved), table_terms(core, names[i]), counts[i].status,
                            report::Encoding::kNone, counts[i].reason});
  }
  return events;
}

// A machine of which only the kind of core is known, for resolve() to look at.
Machine imagine(const CpuId& id, const CoreRow& core) {
  const bool x86 = core.vendor == Vendor::kIntel || core.vendor == Vendor::kAmd;
  Machine machine;
  machine.id = id;
  const std::string name = !core.pmu.empty() ? std::string(core.pmu)
                           : x86             ? "cpu"
                                             : "armv8_pmuv3_0";
  machine.pmu.devices.push_back({name, 0, {}});
  return machine;
}

report::Encoding encoding_of(const ResolvedEvent& event, const std::vector<NativeTerm>& terms) {
  using enum report::Encoding;
  return !terms.empty() ? kEncoded : event.countable() ? kGeneric : kNone;
}

Result<report::Events> look_at(const CpuId& id, const std::vector<std::string>& names) {
  report::Events events;
  events.here = false;
  events.cpu_id = format_cpu_id(id);
  const std::vector<std::string_view> known = portable_names();
  for (const CoreRow* core : core_kinds(id)) {
    report::EventsCore& lines = events.cores.emplace_back();
    lines.core = core->name;
    lines.pmu = core->pmu;
    const Machine machine = imagine(id, *core);
    for (const std::string& name : names) {
      if (find_portable(name) == nullptr) {
        std::string hint = did_you_mean(nearest(name, std::span<const std::string_view>(known)));
        if (hint.empty()) hint = "libpfm4's names and raw events are explained without --cpu only";
        return usage_error(fmt::format("'{}' is no portable event name", name), std::move(hint));
      }
      TRY(ResolvedEvent resolved, resolve(machine, 0, name));
      std::vector<NativeTerm> terms = table_terms(core, name);
      const report::Encoding encoding = encoding_of(resolved, terms);
      std::string reason = resolved.countable() ? "" : to_text(resolved.refusal);
      lines.events.push_back(
          {std::move(resolved), std::move(terms), std::nullopt, encoding, std::move(reason)});
    }
  }
  return events;
}

Result<int> run_calibration(unsigned cpu, const Output& output) {
  TRY(pin_to({cpu}));
  TRY(const model::Calibration calibration, calibrate_here(cpu));
  TRY(report::write_report(calibration, {report::calibration_document, report::calibration_json},
                           output));
  return 0;
}

Result<int> run_events(const EventsOptions& options) {
  std::vector<std::string> names = options.names;
  if (names.empty()) {
    for (const std::string_view name : portable_names()) names.emplace_back(name);
  }
  const unsigned cpu = (options.pin.empty() ? allowed_cpus() : options.pin).front();
  if (options.calibrate) return run_calibration(cpu, options.output);
  TRY(report::Events events, options.cpu ? look_at(*options.cpu, names) : look_here(cpu, names));
  events.version = HWPROF_VERSION;
  events.explain = !options.names.empty();
  TRY(report::write_report(events, {report::events_document, report::events_json}, options.output));
  return 0;
}

// One word may hold several events, as --events takes them.
Result<void> split_names(EventsOptions& options) {
  std::vector<std::string> all;
  for (const std::string& word : options.names) {
    TRY(const auto names, cli::parse_events("an event", word));
    all.insert(all.end(), names.begin(), names.end());
  }
  options.names = std::move(all);
  return {};
}

}  // namespace

cli::Action events_command(cli::Options& options) {
  auto to = std::make_shared<EventsOptions>();
  options.words("names", "[NAME...]", to->names, "Explain these events. Default: list all.",
                cli::event_candidates);
  options.group(cli::kWork);
  const auto read_cpu = [](const std::string&, const std::string& text) {
    return parse_cpu_id(text);
  };
  const auto cpu = options.value("--cpu", "CPU", to->cpu, read_cpu,
                                 "Explain for another CPU, by vendor/family/model: intel/6/143, "
                                 "amd/26/2, arm/0x41/0xd0c. Default: this machine's.");
  cli::pin(options, to->pin,
           "Count on this CPU: on a hybrid it picks the kind of core. Default: the first that "
           "hwprof may use.")
      .excludes(cpu);
  options
      .flag("--calibrate", to->calibrate,
            "Hold flops, instructions and loads of this machine's PMU against exact counts of "
            "known loops and kernels, and keep the result in $XDG_CACHE_HOME/hwprof: from then on "
            "each count of an event that is off says so. Default: list the events.")
      .excludes(cpu);
  cli::output(options, to->output, {Format::kText, Format::kJson, Format::kMarkdown});
  options.footer(
      "hwprof events flops llc-miss            what they become on this machine\n"
      "hwprof events --cpu intel/6/143 flops   and on a Sapphire Rapids\n"
      "hwprof events --calibrate               what they really count here");
  options.check([to]() -> Result<void> {
    if (to->pin.size() > 1) {
      return usage_error(fmt::format("--pin {}: one CPU is needed here", format_cpu_list(to->pin)),
                         "it picks the kind of core on a hybrid machine");
    }
    if (to->calibrate && !to->names.empty()) {
      return usage_error("--calibrate takes no names of events",
                         "it tries flops, flops-sp, flops-dp, instructions and loads");
    }
    return split_names(*to);
  });
  return [to](const cli::CommandLine&) { return run_events(*to); };
}

}  // namespace hwprof
