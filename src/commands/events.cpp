#include "src/commands/events.h"

#include <fmt/format.h>

#include "counters/events/event_table.h"
#include "counters/events/pfm.h"
#include "counters/events/resolve.h"
#include "src/base/suggest.h"
#include "src/commands/try_events.h"
#include "src/report/documents/inspect.h"
#include "src/report/render/write_report.h"

namespace hwprof {
namespace {

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
  if (auto done = pin_to({cpu}); !done) return error_of(done);
  const Machine machine = probe_machine(cpu);
  const PmuDevice* device = machine.pmu.for_cpu(cpu);
  const CoreRow* core = find_core(machine.id, device == nullptr ? "" : device->name);
  report::Events events;
  events.cpu_name = machine.cpu_name;
  events.cpu_id = format_cpu_id(machine.id);
  events.cpu = cpu;
  events.pmu = pmu_sentence(machine, device);
  events.libpfm = libpfm_sentence();
  const auto counts = try_events(machine, cpu, names);
  if (!counts) return error_of(counts);
  report::EventsCore& lines = events.cores.emplace_back();
  if (core != nullptr) lines.core = core->name;
  if (device != nullptr) lines.pmu = device->name;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Result<ResolvedEvent> resolved = resolve(machine, cpu, names[i]);
    if (!resolved) return error_of(resolved);
    lines.events.push_back({*std::move(resolved), table_terms(core, names[i]),
                            to_string((*counts)[i].status), (*counts)[i].reason});
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

std::string status_elsewhere(const ResolvedEvent& event, const std::vector<NativeTerm>& terms) {
  return !terms.empty() ? "encoded" : event.countable() ? "generic" : "none";
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
      Result<ResolvedEvent> resolved = resolve(machine, 0, name);
      if (!resolved) return error_of(resolved);
      std::vector<NativeTerm> terms = table_terms(core, name);
      std::string status = status_elsewhere(*resolved, terms);
      std::string reason = resolved->countable() ? "" : to_text(resolved->refusal);
      lines.events.push_back(
          {*std::move(resolved), std::move(terms), std::move(status), std::move(reason)});
    }
  }
  return events;
}

}  // namespace

Result<int> run_events(const EventsOptions& options) {
  std::vector<std::string> names = options.names;
  if (names.empty()) {
    for (const std::string_view name : portable_names()) names.emplace_back(name);
  }
  Result<report::Events> events =
      options.cpu ? look_at(*options.cpu, names)
                  : look_here(options.pin.value_or(allowed_cpus().front()), names);
  if (!events) return error_of(events);
  events->version = HWPROF_VERSION;
  events->explain = !options.names.empty();
  const auto printed =
      report::write_report(*events, {report::events_document, report::events_json}, options.output);
  if (!printed) return error_of(printed);
  return 0;
}

}  // namespace hwprof
