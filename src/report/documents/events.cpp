// `hwprof events`: a line for each portable name, or all that is known of the events named.
#include <fmt/format.h>

#include <algorithm>

#include "src/report/documents/inspect.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

// perf's and hwprof's raw form of an encoding.
std::string raw_name(std::uint64_t config) { return fmt::format("r{:04x}", config); }

// "FP_ARITH_INST_RETIRED:SCALAR" -> "FP_ARITH_INST_RETIRED"
std::string_view without_masks(std::string_view native) {
  return native.substr(0, native.find(':'));
}

// "FP_ARITH_INST_RETIRED r03c7, r04c7": whole names are for the explanation.
std::string short_native(const EventLine& line) {
  std::string text;
  std::string_view last;
  for (const NativeTerm& term : line.terms) {
    const std::string_view event = without_masks(term.native);
    const bool again = event == last;
    if (!text.empty()) text += again ? ", " : " + ";
    text += again ? raw_name(term.config) : fmt::format("{} {}", event, raw_name(term.config));
    last = event;
  }
  return text.empty() ? line.resolved.event : text;
}

// It was tried, and there is no count.
bool did_not_count(const EventLine& line) {
  return line.tried && *line.tried != CountStatus::kOk && *line.tried != CountStatus::kScaled;
}

std::string what_it_is(const EventLine& line) {
  const ResolvedEvent& event = line.resolved;
  if (event.event.empty()) return event.meaning.empty() ? std::string(kAbsent) : event.meaning;
  std::string text = short_native(line);
  if (event.shown_as != event.name) text += ", shown as " + event.shown_as;
  return text;
}

// What a count here adds to the caveat: "user mode only".
std::string without_caveat(const EventLine& line) {
  std::string_view reason = line.reason;
  if (reason.starts_with(line.resolved.caveat)) reason.remove_prefix(line.resolved.caveat.size());
  if (reason.starts_with("; ")) reason.remove_prefix(2);
  return std::string(reason);
}

Table list(const EventsCore& core) {
  Table table{
      .columns = {{"event", true}, {"status", true}, {"native event, or why there is none", true}}};
  Reasons reasons;
  for (const EventLine& line : core.events) {
    table.rows.push_back(
        {"", {line.resolved.name, std::string(status_of(line)), what_it_is(line)}});
    // What the core lacks stands in its line already.
    if (did_not_count(line) && line.reason.find(what_it_is(line)) != 0) {
      reasons.add(given(line.reason), line.resolved.name);
    }
  }
  table.notes = table.brief = reasons.sentences();
  return table;
}

Fields explain(const EventLine& line, const Events& events, const EventsCore& core) {
  const ResolvedEvent& event = line.resolved;
  const std::string id = events.cpu_id;
  const bool failed = line.tried ? did_not_count(line) : line.encoding == Encoding::kNone;
  const bool absent = event.event.empty();
  std::vector<Field> fields;
  const auto add = [&](const char* label, const std::string& text) {
    if (!text.empty()) fields.push_back({label, text});
  };
  const std::string status(status_of(line));
  add("status", failed ? fmt::format("{}: {}", status, given(line.reason)) : status);
  add(absent ? "here" : "counts", line.reason.find(event.meaning) == 0 ? "" : event.meaning);
  if (event.shown_as != event.name) add("shown as", event.shown_as);
  const char* label = "native";
  for (const NativeTerm& term : line.terms) {
    fields.push_back(
        {label, fmt::format("{:>2g} x {}  {}", term.weight, raw_name(term.config), term.native)});
    label = "";
  }
  if (line.terms.empty()) add("native", event.event);
  add(absent ? "instead" : "caveat",
      failed && line.reason.find(event.caveat) != std::string::npos ? "" : event.caveat);
  if (!failed) add("here", without_caveat(line));
  add("source", event.document.empty()
                    ? event.source
                    : fmt::format("{}, after: {}", event.source, event.document));
  return {core.core.empty() ? fmt::format("{} on {}", event.name, id)
                            : fmt::format("{} on {} ({})", event.name, core.core, id),
          std::move(fields)};
}

void closing(const Events& events, Document& document) {
  Fields fields{"Any other event"};
  if (!events.libpfm.empty()) fields.rows.push_back({"by name", events.libpfm});
  fields.rows.push_back({"raw",
                         "r01c2, or cpu/event=0xc2,umask=0x01/ with the fields of the PMU in "
                         "/sys/bus/event_source/devices/*/format"});
  document.add(std::move(fields));
  document.add(Paragraph{
      events.here ? "Explain one: hwprof events flops. Another CPU: hwprof events --cpu intel/6/143"
                  : fmt::format("Explain one: hwprof events --cpu {} flops", events.cpu_id)});
}

}  // namespace

std::string_view status_of(const EventLine& line) {
  return line.tried ? model::name_of(*line.tried) : model::name_of(line.encoding);
}

Document events_document(const Events& events) {
  Document document;
  for (const EventsCore& core : events.cores) {
    const std::string name = core.core.empty() ? "not in the event table" : core.core;
    if (events.here) {
      document.add(Headline{fmt::format("{} ({}: {}){}", events.cpu_name, events.cpu_id, name,
                                        events.cpu ? fmt::format(", CPU {}", *events.cpu) : ""),
                            true});
      document.add(Paragraph{"PMU: " + events.pmu, Paragraph::Kind::kRemark});
    } else if (!events.explain) {
      document.add(Headline{fmt::format("{}: {}", events.cpu_id, name), true});
    }
    if (!events.explain) document.add(list(core));
    for (const EventLine& line : core.events)
      if (events.explain) document.add(explain(line, events, core));
  }
  if (!events.explain) closing(events, document);
  return document;
}

}  // namespace hwprof::report
