// The report of regions as a table for people, and as JSON: the schema hwprof.regions/1, whose
// numbers keep all their digits.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "counters/regions/hwprof.h"
#include "counters/regions/region_report.h"
#include "src/base/format.h"
#include "src/base/json_text.h"

namespace hwprof {
namespace {

// C1 controls (U+0080 to U+009F), and what turns or hides the text behind it (general punctuation:
// U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F).
bool is_invisible(std::string_view letter) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(letter[i]); };
  if (letter.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7f;
  if (letter.size() == 2) return byte(0) == 0xc2 && byte(1) < 0xa0;
  if (letter.size() != 3 || byte(0) != 0xe2) return false;
  return (byte(1) == 0x80 &&
          ((byte(2) >= 0x8b && byte(2) <= 0x8f) || (byte(2) >= 0xa8 && byte(2) <= 0xae))) ||
         (byte(1) == 0x81 && byte(2) >= 0xa0 && byte(2) <= 0xaf);
}

// A name must not move the cursor or colour the terminal. By hand, since the library that knows
// every letter (ICU) would be one more in each program.
std::string printable(std::string_view name) {
  std::string text;
  while (!name.empty()) {
    const std::size_t length = utf8_length(name);
    const std::string_view letter = name.substr(0, std::max<std::size_t>(length, 1));
    text += length == 0 || is_invisible(letter) ? "?" : letter;
    name.remove_prefix(letter.size());
  }
  return text;
}

// Columns as wide as they need; the first one to the left, the others to the right. Counts letters
// as UTF-8 has them.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { add(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], letters(row[i]));
    std::string text;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] - letters(row[i]), ' ');
        line += i == 0 ? row[i] + padding : "  " + padding + row[i];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + '\n';
    }
    return text;
  }

 private:
  static std::size_t letters(const std::string& text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xc0) != 0x80; }));
  }
  std::vector<std::vector<std::string>> rows_;
};

std::string indented(const RegionRow& row) {
  return std::string(2 * std::min<std::size_t>(row.depth, 40), ' ') + printable(row.name);
}

std::string calls_of(const RegionRow& row) {
  std::string calls = fmt::format("{}", row.calls);
  if (row.unfinished != 0) calls += fmt::format(" ({} cut off)", row.unfinished);
  if (row.open != 0) calls += fmt::format(" (+{} open)", row.open);
  return calls;
}

std::string time_table(const RegionReport& report) {
  double sum_ns = 0;
  for (const RegionRow& row : report.rows) sum_ns += row.self_ns.value_or(0);
  const auto any = [&](auto has) {
    return std::any_of(report.rows.begin(), report.rows.end(), has);
  };
  const bool flops = any([](const RegionRow& row) { return row.gflops.has_value(); });
  const bool bytes = any([](const RegionRow& row) { return row.gbytes_per_s.has_value(); });
  std::vector<std::string> header{"region", "calls", "threads", "total", "self", "self %"};
  if (flops) header.emplace_back("GFLOP/s");
  if (bytes) header.emplace_back("GB/s");
  Table table(header);
  const auto rate = [](std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value) : "";
  };
  for (const RegionRow& row : report.rows) {
    std::vector<std::string> line{
        indented(row),
        calls_of(row),
        fmt::format("{}", row.threads),
        row.total_ns ? report::duration(*row.total_ns) : "-",
        row.self_ns ? report::duration(*row.self_ns) : "-",
        sum_ns > 0 && row.self_ns ? fmt::format("{:.1f}", 100 * *row.self_ns / sum_ns) : "-"};
    if (flops) line.push_back(rate(row.gflops));
    if (bytes) line.push_back(rate(row.gbytes_per_s));
    table.add(std::move(line));
  }
  return table.text();
}

// "~": extrapolated, "*": not all calls.
std::string cell(const RegionRow& row, CountStatus status, std::optional<double> value) {
  if (!value) return "-";
  return fmt::format("{:.0f}{}{}", *value, status == CountStatus::kScaled ? "~" : "",
                     row.counted_calls < row.calls ? "*" : "");
}

std::string event_table(const RegionReport& report) {
  std::vector<std::string> header{"region"};
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const EventCount& event = report.events[i];
    if (event.status != CountStatus::kOk) continue;
    shown.push_back(i);
    const std::string unit = event.unit == "1" ? "" : " [" + event.unit + "]";
    header.push_back(event.shown_as + unit);
    header.emplace_back("self");
  }
  if (shown.empty()) return "";
  Table table(header);
  for (const RegionRow& row : report.rows) {
    std::vector<std::string> line{indented(row)};
    for (const std::size_t i : shown) {
      line.push_back(cell(row, row.counts[i].status, row.counts[i].total));
      line.push_back(cell(row, row.counts[i].status, row.counts[i].self));
    }
    table.add(std::move(line));
  }
  return "\n" + table.text();
}

std::string cost_line(const RegionReport& report) {
  std::string line = fmt::format("Subtracted for each entry: {:.1f} ns inside, {:.1f} ns outside",
                                 report.cost.inside_ns, report.cost.outside_ns);
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const RawRegionCount& cost = report.event_costs[i];
    if (cost.total && cost.self && *cost.total + *cost.self > 0)
      line +=
          fmt::format("; {:.1f} and {:.1f} {}", *cost.total, *cost.self, report.events[i].shown_as);
  }
  return line + ".\n";
}

// The same sentence of many regions once.
std::vector<std::string> all_notes(const RegionReport& report) {
  std::vector<std::string> notes = report.notes;
  const auto note = [&](const std::string& text) {
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  };
  for (const EventCount& event : report.events)
    if (!event.reason.empty()) note(event.name + ": " + event.reason);
  bool scaled = false, partial = false;
  for (const RegionRow& row : report.rows) {
    partial = partial || (row.counted_calls != 0 && row.counted_calls < row.calls);
    for (std::size_t i = 0; i < row.counts.size(); ++i) {
      scaled = scaled || row.counts[i].status == CountStatus::kScaled;
      if (!row.counts[i].total && report.events[i].status == CountStatus::kOk)
        note("-: " + row.counts[i].reason);
    }
  }
  if (scaled) note("~: extrapolated, since other events had the counters part of the time");
  if (partial) note("*: not all calls were counted");
  return notes;
}

std::string pair_of(std::optional<double> raw, std::optional<double> corrected) {
  if (!raw || !corrected) return "null";
  return fmt::format("{{\"raw\": {}, \"corrected\": {}}}", number(raw), number(corrected));
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

std::string memory_json(const std::optional<model::RegionMemory>& memory) {
  if (!memory) return "null";
  return fmt::format("{{\"total\": {}, \"self\": {}, \"peak\": {}}}", memory->total_bytes,
                     memory->self_bytes, memory->peak_bytes);
}

std::string event_json(const EventCount& event, const RawRegionCount& cost) {
  return fmt::format(
      "    {{\"name\": {}, \"shown_as\": {}, \"unit\": {}, \"status\": {}, \"event\": {}, "
      "\"source\": {}, \"reason\": {}, \"cost_inside\": {}, \"cost_outside\": {}}}",
      quoted(event.name), quoted(event.shown_as), quoted(event.unit),
      quoted(to_string(event.status)), text_or_null(event.event), text_or_null(event.source),
      text_or_null(event.reason), number(cost.total), number(cost.self));
}

std::string row_json(const RegionRow& row, const std::vector<EventCount>& events) {
  std::string counts;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const model::RegionCount& count = row.counts[i];
    const RawRegionCount& raw = row.raw[i];
    if (i != 0) counts += ", ";
    counts += fmt::format(
        "{}: {{\"total\": {}, \"self\": {}, \"status\": {}, \"coverage\": {}, \"reason\": {}}}",
        quoted(events[i].name), pair_of(raw.total, count.total), pair_of(raw.self, count.self),
        quoted(to_string(count.status)), number(raw.coverage), text_or_null(count.reason));
  }
  return fmt::format(
      "    {{\"path\": [{}], \"depth\": {}, \"threads\": {}, \"calls\": {}, \"nested_calls\": {}, "
      "\"open\": {}, \"unfinished\": {}, \"counted_calls\": {},\n"
      "     \"type\": {}, \"shape\": {}, \"memory_bytes\": {},\n"
      "     \"total_ns\": {}, \"self_ns\": {}, \"flops\": {}, \"bytes\": {}, \"gflops\": {}, "
      "\"gbytes_per_s\": {},\n     \"events\": {{{}}}}}",
      list(row.path, quoted), row.depth, row.threads, row.calls, row.nested, row.open,
      row.unfinished, row.counted_calls, text_or_null(row.type), text_or_null(row.shape),
      memory_json(row.memory), pair_of(row.raw_total_ns, row.total_ns.value_or(0)),
      pair_of(row.raw_self_ns, row.self_ns.value_or(0)), number(row.flops), number(row.bytes),
      number(row.gflops), number(row.gbytes_per_s), counts);
}

}  // namespace

std::string regions_as_text(const RegionReport& report) {
  std::string text = report.rows.empty() ? "No region was entered.\n"
                                         : time_table(report) + event_table(report) + "\n";
  if (!report.rows.empty()) text += cost_line(report);
  for (const std::string& note : all_notes(report)) text += "Note: " + note + "\n";
  return text;
}

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
      "  \"clock\": {}, \"clock_reason\": {}, \"clock_problem\": {},\n  \"threads\": {},\n"
      "  \"memory_reason\": {},\n  \"cost_ns\": {{\"inside\": {}, \"outside\": {}}},\n"
      "  \"mishaps\": {{\"left_by_outer\": {}, \"not_open\": {}, \"dropped\": {}, \"backwards\": "
      "{}}},\n"
      "  \"events\": {},\n  \"regions\": {},\n  \"notes\": [{}]\n}}\n",
      quoted(hwprof_version()), getpid(),
      quoted(report.totals.by_counter != 0 ? counter_name() : "CLOCK_MONOTONIC"),
      text_or_null(report.totals.no_counter_because),
      text_or_null(report.totals.by_counter != 0 ? report.totals.clock_problem : ""),
      threads_json(report.totals), text_or_null(report.memory_reason),
      number(report.cost.inside_ns), number(report.cost.outside_ns), report.totals.left_by_outer,
      report.totals.not_open, report.totals.dropped, report.totals.backwards, block(events),
      block(rows), list(report.notes, quoted));
}

}  // namespace hwprof
