// Regions for people: the columns of PyTorch's profiler under our field's names.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/reasons.h"

namespace hwprof::report {
namespace {

constexpr std::size_t kDeepestIndent = 40;

constexpr const char* kCosts =
    "Watching regions costs time: leave them out where the speed of a program is measured. The "
    "least cost of entering and leaving a region is subtracted here.";

std::string of_time(const std::optional<double>& ns) {
  return ns ? duration(*ns) : std::string(kAbsent);
}

std::string of_share(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f}", *share * 100) : std::string(kAbsent);
}

std::string mean_of(const Region& row) {
  if (!row.total_ns || row.calls == 0) return std::string(kAbsent);
  return duration(*row.total_ns / static_cast<double>(row.calls));
}

std::string count_text(double value, const std::string& unit) {
  if (unit == "ns") return duration(value);
  return value < 1e6 ? fmt::format("{:.0f}", value) : si(value, "");
}

std::string title_of(const Regions& regions) {
  std::string title = regions.work.empty() ? "Regions" : "Regions: " + regions.work;
  if (regions.processes > 1) title += fmt::format(" in {} processes", regions.processes);
  if (regions.view.group_by != GroupBy::kPath)
    title += fmt::format(", by {}", to_string(regions.view.group_by));
  if (!regions.view.sort.empty()) title += fmt::format(", sorted by {}", regions.view.sort);
  return title;
}

// As a tree, unless another order has torn it apart.
std::string name_cell(const Regions& regions, const Region& row) {
  if (row.path.empty()) return row.name;
  if (!regions.view.sort.empty()) return path_of(row);
  std::string name;
  for (std::size_t level = 0; level < std::min(row.depth, kDeepestIndent); ++level) name += "· ";
  return name + row.name;
}

}  // namespace

std::string to_string(GroupBy group_by) { return std::string(model::name_of(group_by)); }

std::string path_of(const Region& row) {
  return row.path.empty() ? row.name : fmt::format("{}", fmt::join(row.path, " / "));
}

Table regions_table(const std::optional<Regions>& regions) {
  if (!regions) return {};
  const auto any = [&](auto has) {
    return std::any_of(regions->rows.begin(), regions->rows.end(), has);
  };
  const bool memory = any([](const Region& row) { return row.memory.has_value(); });
  const bool rates = any([](const Region& row) { return row.gflops.has_value(); });
  const bool shapes = any([](const Region& row) { return !row.shape.empty(); });
  const bool types = any([](const Region& row) {
    return !row.type.empty() && row.type != row.name;  // else it says nothing new
  });
  Table table{.title = title_of(*regions),
              .columns = {{"region", true},
                          {"self\n%"},
                          {"self"},
                          {"total\n%"},
                          {"total"},
                          {"time\na call"},
                          {"calls"}},
              .rows = {},
              .notes = {}};
  if (memory)
    for (const char* title : {"memory\nself", "memory", "memory\npeak"})
      table.columns.push_back({title, false, true});
  if (rates) table.columns.push_back({"GFLOP/s"});
  table.columns.push_back({"threads", false, true});
  if (types) table.columns.push_back({"type", true, true});
  if (shapes) table.columns.push_back({"shape", true, true});
  Reasons reasons;
  std::vector<std::size_t> counted;  // events of which some row has a number
  if (!regions->rows.empty()) {
    const auto& events = regions->rows.front().counts;
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (any([&](const Region& row) { return row.counts[i].self.has_value(); }))
        counted.push_back(i);
      else
        reasons.add(given(events[i].reason), events[i].name);
    }
    for (const std::size_t i : counted) {
      table.columns.push_back({events[i].name + "\nself", false, true});
      table.columns.push_back({events[i].name + "\ntotal", false, true});
    }
  }
  for (const Region& row : regions->rows) {
    std::vector<std::string> cells = {name_cell(*regions, row),    of_share(row.self_share),
                                      of_time(row.self_ns),        of_share(row.total_share),
                                      of_time(row.total_ns),       mean_of(row),
                                      fmt::format("{}", row.calls)};
    if (memory)
      for (const auto member :
           {&RegionMemory::self_bytes, &RegionMemory::total_bytes, &RegionMemory::peak_bytes})
        cells.push_back(row.memory ? binary_bytes(static_cast<double>(*row.memory.*member))
                                   : std::string(kAbsent));
    if (rates) cells.push_back(row.gflops ? significant(*row.gflops, 3) : std::string(kAbsent));
    cells.push_back(fmt::format("{}", row.threads));
    if (types) cells.push_back(row.type);
    if (shapes) cells.push_back(row.shape);
    for (const std::size_t i : counted) {
      const RegionCount& count = row.counts[i];
      const auto format = [&](double value) { return count_text(value, count.unit); };
      for (const auto& value : {count.self, count.total})
        cells.push_back(cell(value, format, reasons, row.name + " " + count.name, count.reason));
    }
    table.rows.push_back(
        {"", std::move(cells), fmt::format("/regions/rows/{}", table.rows.size())});
  }
  if (!memory && !regions->memory_reason.empty())
    table.notes.push_back("memory: " + regions->memory_reason);
  append(table.notes, reasons.sentences());
  append(table.notes, regions->notes);
  table.brief = regions->notes;
  std::vector<std::string> both;
  if (regions->hidden > 0)
    both.push_back(fmt::format("{} not shown.", hwprof::report::counted(regions->hidden, "row")));
  if (regions->trace)
    both.push_back(fmt::format(
        "Trace of {} calls in {}{}: open it with ui.perfetto.dev or chrome://tracing.",
        regions->trace->calls, regions->trace->path,
        regions->trace->dropped == 0
            ? ""
            : fmt::format(" ({} earlier ones found no room)", regions->trace->dropped)));
  append(table.notes, both);
  append(table.brief, both);
  if (!regions->rows.empty()) table.notes.emplace_back(kCosts);
  return table;
}

Table overhead_table(const std::optional<Regions>& regions) {
  Table table{.title = "What watching costs: the same work, interleaved",
              .columns = {{"watched by", true},
                          {"time\na pass"},
                          {"times\nunwatched"},
                          {"95 %\ninterval"},
                          {"memory"}},
              .rows = {},
              .notes = {}};
  if (!regions) return table;
  Reasons reasons;
  for (const OverheadRow& row : regions->overhead) {
    const std::string mode(model::name_of(row.mode));
    if (!row.pass_ns || !row.memory_bytes) reasons.add(given(row.reason), mode);
    const std::string interval =
        row.ratio_low && row.ratio_high
            ? fmt::format("{:.3f} to {:.3f}", *row.ratio_low, *row.ratio_high)
            : std::string(kAbsent);
    table.rows.push_back(
        {"",
         {mode, of_time(row.pass_ns),
          row.ratio ? fmt::format("{:.3f}", *row.ratio) : std::string(kAbsent), interval,
          row.memory_bytes ? binary_bytes(static_cast<double>(*row.memory_bytes))
                           : std::string(kAbsent)}});
  }
  append(table.notes, reasons.sentences());
  if (!table.rows.empty())
    table.notes.emplace_back(
        "times unwatched: median of the ratios of neighbouring measurements. memory: what the "
        "watching "
        "keeps; a trace's ring when it is full.");
  table.brief = table.notes;
  return table;
}

}  // namespace hwprof::report
