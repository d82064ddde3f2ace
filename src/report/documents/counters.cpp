// The counters of a report. An event without a value in any row gets no column, only its reason: on
// a machine without a PMU that would be a table of dashes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "counters/perf/reading.h"
#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {

namespace {

const EventCount* find_count(const Row& row, const std::string& name) {
  const auto at = std::find_if(row.counters.begin(), row.counters.end(),
                               [&](const EventCount& count) { return count.name == name; });
  return at == row.counters.end() ? nullptr : &*at;
}

std::string count_cell(const EventCount& count) {
  std::string text = count.unit == "ns" ? duration(*count.value) : si(*count.value, "");
  if (!count.implausible.empty()) text += " ?";
  const bool whole_time = count.status == CountStatus::kOk && count.coverage.value_or(1) == 1;
  if (whole_time) return text;
  return fmt::format("{} ({})", text,
                     count.coverage ? percent(*count.coverage) : to_string(count.status));
}

// An event that means another thing on this CPU gets the name of that thing.
std::string shown_name(const std::vector<const Row*>& rows, const std::string& event) {
  for (const Row* row : rows) {
    const EventCount* count = find_count(*row, event);
    if (count && !count->shown_as.empty()) return count->shown_as;
  }
  return event;
}

// "80", or "40-80" where the events were counted in passes of different length.
std::string counted_calls(const Row& row) {
  double least = 0, most = 0;
  for (const EventCount& count : row.counters) {
    if (!count.value) continue;
    least = most == 0 ? count.calls : std::min(least, count.calls);
    most = std::max(most, count.calls);
  }
  if (most == 0) return std::string(kAbsent);
  return least == most ? fmt::format("{:.0f}", most) : fmt::format("{:.0f}-{:.0f}", least, most);
}

// What the notes say about one event.
struct CounterNotes {
  Reasons native, remarks, doubts, absent;
  bool partly = false;  // some count was extrapolated

  // True when at least one row has a value.
  bool take(const std::string& event, const std::vector<const Row*>& rows) {
    std::vector<const Row*> without;
    for (const Row* row : rows) {
      const EventCount* count = find_count(*row, event);
      if (!count || !count->value) {
        without.push_back(row);
        continue;
      }
      partly = partly || count_cell(*count).back() == ')';
      if (!count->event.empty()) {
        native.add(fmt::format("{} ({})", count->event, given(count->source)), event);
      }
      if (!count->reason.empty()) remarks.add(count->reason, event);
      if (!count->implausible.empty()) {
        doubts.add("cannot be right (?): " + count->implausible,
                   fmt::format("{} of {}", event, name_of(*row)));
      }
    }
    const bool none = without.size() == rows.size();
    for (const Row* row : without) {
      const EventCount* count = find_count(*row, event);
      absent.add(count ? fmt::format("{}; {}", to_string(count->status), given(count->reason))
                       : "not asked for in this row",
                 none ? event : fmt::format("{} of {}", event, name_of(*row)));
    }
    return !none;
  }
};

}  // namespace

std::string no_counters(const std::vector<Row>& rows) {
  Reasons reasons;
  for (const Row& row : rows) {
    for (const EventCount& count : row.counters) {
      const bool software = count.source == "kernel";
      if (count.value && !software) return "";
      if (!count.value) {
        const std::string& why = count.reason;  // what to do about it is in the full form
        reasons.add(fmt::format("{}; {}", to_string(count.status),
                                given(why.substr(0, why.find("; to count:")))),
                    count.name);
      }
    }
  }
  return fmt::format("{}", fmt::join(reasons.sentences(), "; "));
}

Table counters_table(const Profile& profile) {
  std::vector<const Row*> rows;  // a row that was not run has said so in the table above
  for (const Row& row : profile.rows) {
    if (!row.counters.empty()) rows.push_back(&row);
  }
  return counters_table("Counters (a call)", rows, [](const Row& row) {
    return TableRow{group_of(row), {row.variant}};
  });
}

Table brief_counters_table(const Profile& profile) {
  std::vector<const Row*> fastest;  // of each group
  for (const Row& row : profile.rows) {
    if (row.counters.empty() || !row.time_ns) continue;
    const auto same = std::find_if(fastest.begin(), fastest.end(), [&](const Row* other) {
      return group_of(*other) == group_of(row);
    });
    if (same == fastest.end()) {
      fastest.push_back(&row);
    } else if (row.time_ns->median < (*same)->time_ns->median) {
      *same = &row;
    }
  }
  Table table =
      counters_table("Counters (a call) of the fastest variants", fastest, [](const Row& row) {
        return TableRow{"", {name_of(row)}};
      });
  table.columns.front().title = "operation";
  return table;
}

Table counters_table(const std::string& title, const std::vector<const Row*>& rows,
                     const std::function<TableRow(const Row&)>& head) {
  Table table{.title = title, .columns = {{"variant", true}}, .rows = {}, .notes = {}};
  CounterNotes notes;
  std::vector<std::string> shown;
  std::vector<std::string> events;
  for (const Row* row : rows) {
    for (const EventCount& count : row->counters) {
      if (std::find(events.begin(), events.end(), count.name) == events.end()) {
        events.push_back(count.name);
      }
    }
  }
  for (const std::string& event : events) {
    if (notes.take(event, rows)) shown.push_back(event);
  }
  const bool ratio = std::any_of(rows.begin(), rows.end(), [](const Row* row) {
    return row->counted_to_model_flops.has_value();
  });
  for (const std::string& event : shown) {
    const std::string name = shown_name(rows, event);
    if (name != event) notes.remarks.add("what " + event + " means on this CPU", name);
    table.columns.push_back({name});
  }
  if (ratio) table.columns.push_back({"counted/\nmodel FLOP"});
  table.columns.push_back({"counted\ncalls", false, true});
  for (const Row* row : rows) {
    if (shown.empty()) break;
    TableRow line = head(*row);
    for (const std::string& event : shown) {
      const EventCount* count = find_count(*row, event);
      line.cells.push_back(count && count->value ? count_cell(*count) : std::string(kAbsent));
    }
    if (ratio) {
      line.cells.push_back(cell(
          row->counted_to_model_flops, [](double value) { return significant(value, 4); },
          notes.absent, "counted/model FLOP of " + name_of(*row), counted_flops_reason(*row)));
    }
    line.cells.push_back(counted_calls(*row));
    table.rows.push_back(std::move(line));
  }
  if (!shown.empty()) {
    table.notes.push_back("Counts are events a call, counted the whole time (coverage 100 %).");
    if (notes.partly) {
      table.notes.back() =
          "Counts are events a call, counted the whole time (coverage 100 %) or, where a "
          "percentage stands beside one, extrapolated from that share of the time.";
    }
  }
  append(table.notes, notes.native.sentences());
  append(table.notes, notes.remarks.sentences());
  append(table.notes, notes.doubts.sentences());
  append(table.notes, notes.absent.sentences());
  table.brief = notes.doubts.sentences();
  return table;
}

}  // namespace hwprof::report
