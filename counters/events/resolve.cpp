#include "counters/events/resolve.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>

#include "counters/events/event_notes.h"
#include "counters/events/event_table.h"
#include "counters/events/pfm.h"
#include "counters/machine/pmu_device.h"
#include "src/base/suggest.h"
#include "src/base/text.h"

namespace hwprof {
namespace {

struct Request {
  const Machine& machine;
  std::string_view name;
  const PmuDevice* pmu;  // that counts for the pinned CPU; nullptr: there is none
  const CoreRow* core;   // nullptr: not in the table
};

std::string cpu_text(const Request& request) {
  return request.core != nullptr ? std::string(request.core->name)
                                 : fmt::format("this CPU ({})", format_cpu_id(request.machine.id));
}

bool hybrid(const Request& request) { return request.machine.pmu.devices.size() > 1; }

ResolvedEvent named(const Request& request, std::string source) {
  ResolvedEvent event;
  event.name = event.shown_as = std::string(request.name);
  event.source = std::move(source);
  return event;
}

// A known hardware event on a machine that cannot count any.
Refusal missing_pmu(const Request& request) {
  if (!request.machine.pmu.present()) return no_pmu(request.machine);
  return {CountStatus::kUnsupported, "no PMU of this machine covers the pinned CPU",
          "pin to a CPU that one covers: cat /sys/bus/event_source/devices/*/cpus"};
}

ResolvedEvent from_table(const Request& request, const PortableEvent& portable) {
  ResolvedEvent event = named(request, "own table");
  const EventRow* row = request.core == nullptr ? nullptr : find_row(*request.core, portable.name);
  // The machine's lack comes first: advice on other events would be of no use without a PMU.
  if (request.pmu == nullptr) event.refusal = missing_pmu(request);
  if (row == nullptr) {
    event.source.clear();
    if (request.pmu != nullptr)
      event.refusal = {CountStatus::kUnsupported,
                       fmt::format("the table has no {} for {}", portable.name, cpu_text(request)),
                       "a raw event works on any CPU: r01c2, cpu/event=0xc2,umask=0x01/"};
    return event;
  }
  event.must_rise = portable.must_rise;
  event.meaning = row->meaning;
  event.caveat = row->caveat;
  event.document = row->source;
  if (!row->countable()) {
    if (request.pmu != nullptr)
      event.refusal = {CountStatus::kUnsupported, std::string(row->meaning),
                       std::string(row->caveat)};
    return event;
  }
  if (!row->shown_as.empty()) event.shown_as = row->shown_as;
  const std::string pmu_name = request.pmu == nullptr ? "cpu" : request.pmu->name;
  for (const NativeTerm& term : row->terms) {
    if (term.weight == 0) continue;
    const std::string text = fmt::format("{}/{}/ {:#06x}", pmu_name, term.native, term.config);
    if (!event.event.empty()) event.event += " + ";
    event.event += term.weight == 1 ? text : fmt::format("{:g} x {}", term.weight, text);
    if (request.pmu == nullptr) continue;
    Term counted;
    counted.event.type = request.pmu->type;
    counted.event.config = term.config;
    counted.event.text = text;
    counted.weight = term.weight;
    event.terms.push_back(std::move(counted));
  }
  return event;
}

const char* kernel_type_name(PortableKind kind) {
  return kind == PortableKind::kHardware ? "PERF_TYPE_HARDWARE"
         : kind == PortableKind::kCache  ? "PERF_TYPE_HW_CACHE"
                                         : "PERF_TYPE_SOFTWARE";
}

ResolvedEvent from_kernel(const Request& request, const PortableEvent& portable) {
  ResolvedEvent event = named(request, "kernel");
  event.meaning = portable.meaning;
  event.caveat = portable.caveat;
  event.unit = portable.unit;
  event.must_rise = portable.must_rise;
  event.in_kernel = portable.in_kernel;
  event.event = fmt::format("{} {:#x}", kernel_type_name(portable.kind), portable.config);
  Term term;
  term.event.type = portable.kind == PortableKind::kSoftware   ? PERF_TYPE_SOFTWARE
                    : portable.kind == PortableKind::kHardware ? PERF_TYPE_HARDWARE
                                                               : PERF_TYPE_HW_CACHE;
  term.event.config = portable.config;
  term.event.text = fmt::format("{} ({})", portable.name, event.event);
  if (portable.kind != PortableKind::kSoftware) {
    if (request.pmu == nullptr) {
      event.refusal = missing_pmu(request);
      return event;
    }
    // Without the PMU's type in the upper half, a hybrid machine counts on the P-cores only.
    if (hybrid(request)) {
      term.event.config |= static_cast<std::uint64_t>(request.pmu->type) << PERF_PMU_TYPE_SHIFT;
      event.event += " on " + request.pmu->name;
    }
  }
  event.terms.push_back(std::move(term));
  return event;
}

// "ref" and "read" would pass for perf's raw form, and libpfm4 takes them so: they are misspelt
// words. An encoding has a decimal digit.
bool looks_raw_but_is_a_word(std::string_view name) {
  return name.size() > 1 && name[0] == 'r' &&
         name.find_first_not_of("abcdefABCDEF", 1) == std::string_view::npos;
}

// "r01c2": perf's raw form, hexadecimal attr.config of the core PMU.
std::optional<std::uint64_t> raw_config(std::string_view name) {
  if (name.size() < 2 || name[0] != 'r') return std::nullopt;
  name.remove_prefix(1);
  if (name.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos)
    return std::nullopt;
  return parse_unsigned(name, 16);
}

ResolvedEvent from_raw(const Request& request, std::uint64_t config) {
  ResolvedEvent event = named(request, "raw");
  event.meaning = "a raw encoding: what it counts is up to the CPU's manual";
  event.event =
      fmt::format("{}/config={:#x}/", request.pmu == nullptr ? "cpu" : request.pmu->name, config);
  if (request.pmu == nullptr) {
    event.refusal = missing_pmu(request);
    return event;
  }
  Term term;
  term.event.type = request.pmu->type;
  term.event.config = config;
  term.event.text = event.event;
  event.terms.push_back(std::move(term));
  return event;
}

// "pmu/event=0xc2,umask=0x01/", through the format files of that PMU.
Result<ResolvedEvent> from_fields(const Request& request) {
  const std::size_t slash = request.name.find('/');
  const std::string_view pmu = request.name.substr(0, slash);
  std::string_view fields = request.name.substr(slash + 1);
  if (fields.empty() || fields.back() != '/')
    return usage_error(fmt::format("event '{}' does not end in a slash", request.name),
                       "write it as cpu/event=0xc2,umask=0x01/");
  fields.remove_suffix(1);
  ResolvedEvent event = named(request, "raw");
  event.meaning = "a raw encoding: what it counts is up to the CPU's manual";
  const auto& devices = request.machine.pmu.devices;
  const bool present = std::any_of(devices.begin(), devices.end(),
                                   [&](const PmuDevice& device) { return device.name == pmu; });
  if (is_core_pmu_name(pmu) && !present) {
    event.event = std::string(request.name);
    event.refusal = request.machine.pmu.present()
                        ? Refusal{CountStatus::kUnsupported,
                                  fmt::format("this machine has no PMU called {}", pmu),
                                  fmt::format("it has {}", devices.front().name)}
                        : no_pmu(request.machine);
    return event;
  }
  TRY(const auto encoded, encode_sysfs_event(kEventSources, pmu, fields));
  event.event =
      fmt::format("{} (type {}, config {:#x})", request.name, encoded.type, encoded.config);
  if (encoded.per_package) {
    event.refusal = {CountStatus::kUnsupported,
                     fmt::format("{} counts for a whole package, not for a thread", pmu),
                     "use perf stat -a as root for it"};
    return event;
  }
  if (is_core_pmu_name(pmu) && hybrid(request) && request.pmu != nullptr &&
      request.pmu->name != pmu)
    event.caveat = fmt::format("the pinned CPU belongs to {}: {} counts nothing there",
                               request.pmu->name, pmu);
  Term term;
  term.event.type = encoded.type;
  term.event.config = encoded.config;
  term.event.config1 = encoded.config1;
  term.event.config2 = encoded.config2;
  term.event.text = std::string(request.name);
  event.terms.push_back(std::move(term));
  return event;
}

Result<ResolvedEvent> unknown_event(const Request& request) {
  std::vector<std::string> known(pfm::event_names());
  for (std::string_view name : portable_names()) known.insert(known.begin(), std::string(name));
  std::string hint = did_you_mean(nearest(request.name, std::span<const std::string>(known)));
  if (hint.empty()) hint = fmt::format("portable names are {}", join(portable_names()));
  return usage_error(fmt::format("unknown event '{}'", request.name), std::move(hint));
}

Result<ResolvedEvent> from_libpfm(const Request& request) {
  const pfm::Lookup lookup = pfm::look_up(std::string(request.name));
  ResolvedEvent event = named(request, pfm::version());
  switch (lookup.answer) {
    case pfm::Answer::kNotFound:
      return unknown_event(request);
    case pfm::Answer::kBadAttribute:
      return usage_error(
          fmt::format("event '{}': {} says '{}'", request.name, pfm::version(), lookup.error),
          "the event exists; look up its unit masks with: showevtinfo NAME");
    case pfm::Answer::kOtherCpu:
      event.refusal =
          request.pmu == nullptr
              ? missing_pmu(request)
              : Refusal{CountStatus::kUnsupported,
                        fmt::format("{} {} (it has the event for {})", pfm::version(),
                                    pfm::knows_this_cpu() ? "has no such event for this CPU"
                                                          : "does not know this CPU",
                                    join(lookup.found_on)),
                        "take the raw encoding from the CPU's manual: r01c2"};
      return event;
    case pfm::Answer::kEncoded:
      break;
  }
  Term term;
  term.event = lookup.event;
  const bool hardware = lookup.on_core_pmu || lookup.event.type == PERF_TYPE_HARDWARE ||
                        lookup.event.type == PERF_TYPE_HW_CACHE;
  if (hardware && request.pmu == nullptr) {
    event.refusal = missing_pmu(request);
    return event;
  }
  if (lookup.on_core_pmu)
    term.event.type = request.pmu->type;
  else if (hardware && hybrid(request))
    term.event.config |= static_cast<std::uint64_t>(request.pmu->type) << PERF_PMU_TYPE_SHIFT;
  event.event = fmt::format("{} {:#x}", lookup.full_name, lookup.event.config);
  event.meaning = "as libpfm4 describes it: showevtinfo";
  term.event.text = event.event;
  event.terms.push_back(std::move(term));
  return event;
}

void add_note(ResolvedEvent& event) {
  const std::string_view note = note_on(event.name);
  if (note.empty() || !event.countable()) return;
  if (!event.caveat.empty()) event.caveat += "; ";
  event.caveat += note;
}

}  // namespace

Result<ResolvedEvent> resolve(const Machine& machine, unsigned cpu, std::string_view name) {
  Request request{machine, trim(name), machine.pmu.for_cpu(cpu), nullptr};
  request.core = find_core(machine.id, request.pmu == nullptr ? "" : request.pmu->name);
  if (request.name.empty()) return usage_error("an event name is empty");
  if (const PortableEvent* portable = find_portable(request.name)) {
    ResolvedEvent event = portable->kind == PortableKind::kTable ? from_table(request, *portable)
                                                                 : from_kernel(request, *portable);
    add_note(event);
    return event;
  }
  if (looks_raw_but_is_a_word(request.name)) return unknown_event(request);
  if (const auto config = raw_config(request.name)) return from_raw(request, *config);
  if (request.name.find('/') != std::string_view::npos) return from_fields(request);
  return from_libpfm(request);
}

Result<std::vector<std::string>> split_event_list(std::string_view text) {
  std::vector<std::string> names;
  std::string current;
  bool inside = false;
  for (char c : text) {
    if (c == '/') inside = !inside;
    if (c == ',' && !inside) {
      names.push_back(std::move(current));
      current.clear();
    } else {
      current += c;
    }
  }
  names.push_back(std::move(current));
  for (std::string& name : names) name = std::string(trim(name));
  if (inside)
    return usage_error(fmt::format("event list '{}': a slash is not closed", text),
                       "write raw events as cpu/event=0xc2,umask=0x01/");
  if (std::find(names.begin(), names.end(), "") != names.end())
    return usage_error(fmt::format("event list '{}' has an empty name", text),
                       "separate names by single commas: cycles,instructions");
  return names;
}

}  // namespace hwprof
