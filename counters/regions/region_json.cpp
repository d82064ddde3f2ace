// The schema hwprof.regions/1. Written by hand, since the library that users link must not ask for
// more than it needs; numbers keep all their digits.
#include <fmt/format.h>
#include <unistd.h>

#include "counters/regions/hwprof.h"
#include "counters/regions/region_report.h"
#include "src/base/json_text.h"

namespace hwprof {
namespace {

std::string pair_of(const std::optional<Corrected>& value) {
  if (!value) return "null";
  return fmt::format("{{\"raw\": {}, \"corrected\": {}}}", number(value->raw),
                     number(value->corrected));
}

template <class Items, class ToJson>
std::string list(const Items& items, ToJson to_json, std::string_view separator = ", ") {
  std::string json;
  for (const auto& item : items) {
    if (!json.empty()) json += separator;
    json += to_json(item);
  }
  return json;
}

std::string threads_json(const RegionTotals& totals) {
  return fmt::format(
      "{{\"total\": {}, \"ended_inside\": {}, \"without_counters\": {}, \"in_user_space\": {}, "
      "\"reason\": {}}}",
      totals.threads, totals.ended_inside, totals.without_counters, totals.in_user_space,
      text_or_null(totals.no_counters_because));
}

std::string memory_json(const std::optional<RegionMemory>& memory) {
  if (!memory) return "null";
  return fmt::format("{{\"total\": {}, \"self\": {}, \"peak\": {}}}", memory->total, memory->self,
                     memory->peak);
}

std::string event_json(const EventCount& event, const RegionEventRow& cost) {
  const auto value = [](const std::optional<Corrected>& both) {
    return number(both ? std::optional(both->raw) : std::nullopt);
  };
  return fmt::format(
      "    {{\"name\": {}, \"shown_as\": {}, \"unit\": {}, \"status\": {}, \"event\": {}, "
      "\"source\": {}, \"reason\": {}, \"cost_inside\": {}, \"cost_outside\": {}}}",
      quoted(event.name), quoted(event.shown_as), quoted(event.unit),
      quoted(to_string(event.status)), text_or_null(event.event), text_or_null(event.source),
      text_or_null(event.reason), value(cost.total), value(cost.self));
}

std::string row_json(const RegionRow& row, const std::vector<EventCount>& events) {
  std::string counts;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const RegionEventRow& event = row.events[i];
    if (i != 0) counts += ", ";
    counts += fmt::format(
        "{}: {{\"total\": {}, \"self\": {}, \"status\": {}, \"coverage\": {}, \"reason\": {}}}",
        quoted(events[i].name), pair_of(event.total), pair_of(event.self),
        quoted(to_string(event.status)), number(event.coverage), text_or_null(event.reason));
  }
  return fmt::format(
      "    {{\"path\": [{}], \"depth\": {}, \"threads\": {}, \"calls\": {}, \"nested_calls\": {}, "
      "\"open\": {}, \"unfinished\": {}, \"counted_calls\": {},\n"
      "     \"type\": {}, \"shape\": {}, \"memory_bytes\": {},\n"
      "     \"total_ns\": {}, \"self_ns\": {}, \"flops\": {}, \"bytes\": {}, \"gflops\": {}, "
      "\"gbytes_per_s\": {},\n     \"events\": {{{}}}}}",
      list(row.path, quoted), row.depth, row.threads, row.calls, row.nested, row.open,
      row.unfinished, row.counted_calls, text_or_null(row.type), text_or_null(row.shape),
      memory_json(row.memory), pair_of(row.total_ns), pair_of(row.self_ns), number(row.flops),
      number(row.bytes), number(row.gflops), number(row.gbytes_per_s), counts);
}

}  // namespace

std::string regions_as_json(const RegionReport& report) {
  std::string events;
  for (std::size_t i = 0; i < report.events.size(); ++i)
    events += (i == 0 ? "" : ",\n") + event_json(report.events[i], report.event_costs[i]);
  const std::string rows = list(
      report.rows, [&](const RegionRow& row) { return row_json(row, report.events); }, ",\n");
  const auto block = [](const std::string& items) {
    return items.empty() ? std::string("[]") : "[\n" + items + "\n  ]";
  };
  return fmt::format(
      "{{\n  \"schema\": \"hwprof.regions/1\",\n  \"hwprof\": {},\n  \"pid\": {},\n"
      "  \"clock\": \"CLOCK_MONOTONIC\",\n  \"threads\": {},\n"
      "  \"memory_reason\": {},\n  \"cost_ns\": {{\"inside\": {}, \"outside\": {}}},\n"
      "  \"mishaps\": {{\"left_by_outer\": {}, \"not_open\": {}, \"dropped\": {}}},\n"
      "  \"events\": {},\n  \"regions\": {},\n  \"notes\": [{}]\n}}\n",
      quoted(hwprof_version()), getpid(), threads_json(report.totals),
      text_or_null(report.memory_reason), number(report.cost.inside_ns),
      number(report.cost.outside_ns), report.totals.left_by_outer, report.totals.not_open,
      report.totals.dropped, block(events), block(rows), list(report.notes, quoted));
}

}  // namespace hwprof
