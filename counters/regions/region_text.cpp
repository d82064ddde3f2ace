#include <fmt/format.h>

#include <algorithm>

#include "counters/regions/region_report.h"

namespace hwprof {
namespace {

std::string format_time(double ns) {
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.3f} µs", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
  return fmt::format("{:.3f} s", ns / 1e9);
}

// A name must not move the cursor or colour the terminal.
std::string printable(std::string name) {
  for (char& letter : name)
    if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f) letter = '?';
  return name;
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
  for (const RegionRow& row : report.rows) sum_ns += row.self_ns.corrected;
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
    std::vector<std::string> line{indented(row),
                                  calls_of(row),
                                  fmt::format("{}", row.threads),
                                  row.calls == 0 ? "-" : format_time(row.total_ns.corrected),
                                  row.calls == 0 ? "-" : format_time(row.self_ns.corrected),
                                  sum_ns > 0 && row.calls != 0
                                      ? fmt::format("{:.1f}", 100 * row.self_ns.corrected / sum_ns)
                                      : "-"};
    if (flops) line.push_back(rate(row.gflops));
    if (bytes) line.push_back(rate(row.gbytes_per_s));
    table.add(std::move(line));
  }
  return table.text();
}

// "~": extrapolated, "*": not all calls.
std::string cell(const RegionRow& row, const RegionEventRow& event,
                 const std::optional<Corrected>& value) {
  if (!value) return "-";
  return fmt::format("{:.0f}{}{}", value->corrected,
                     event.status == CountStatus::kScaled ? "~" : "",
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
      line.push_back(cell(row, row.events[i], row.events[i].total));
      line.push_back(cell(row, row.events[i], row.events[i].self));
    }
    table.add(std::move(line));
  }
  return "\n" + table.text();
}

std::string cost_line(const RegionReport& report) {
  std::string line = fmt::format("Subtracted for each entry: {:.1f} ns inside, {:.1f} ns outside",
                                 report.cost.inside_ns, report.cost.outside_ns);
  for (std::size_t i = 0; i < report.events.size(); ++i) {
    const RegionEventRow& cost = report.event_costs[i];
    if (cost.total && cost.self && cost.total->raw + cost.self->raw > 0)
      line += fmt::format("; {:.1f} and {:.1f} {}", cost.total->raw, cost.self->raw,
                          report.events[i].shown_as);
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
    for (std::size_t i = 0; i < row.events.size(); ++i) {
      scaled = scaled || row.events[i].status == CountStatus::kScaled;
      if (!row.events[i].total && report.events[i].status == CountStatus::kOk)
        note("-: " + row.events[i].reason);
    }
  }
  if (scaled) note("~: extrapolated, since other events had the counters part of the time");
  if (partial) note("*: not all calls were counted");
  return notes;
}

}  // namespace

std::string regions_as_text(const RegionReport& report) {
  std::string text = report.rows.empty() ? "No region was entered.\n"
                                         : time_table(report) + event_table(report) + "\n";
  if (!report.rows.empty()) text += cost_line(report);
  for (const std::string& note : all_notes(report)) text += "Note: " + note + "\n";
  return text;
}

}  // namespace hwprof
