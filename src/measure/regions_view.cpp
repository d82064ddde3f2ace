#include "src/measure/regions_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "src/base/suggest.h"

namespace hwprof {
namespace {

using report::GroupBy;
using report::Region;
using report::Regions;
using report::RegionView;

using Number = std::optional<double>;

struct SortColumn {
  std::string_view name;
  Number (*value)(const Region& row);
};

Number of_memory(const Region& row, std::uint64_t report::RegionMemory::*member) {
  return row.memory ? Number(static_cast<double>(*row.memory.*member)) : std::nullopt;
}

constexpr SortColumn kSortColumns[] = {
    {"self", [](const Region& row) { return row.self_ns; }},
    {"total", [](const Region& row) { return row.total_ns; }},
    {"mean",
     [](const Region& row) {
       return row.total_ns && row.calls != 0
                  ? Number(*row.total_ns / static_cast<double>(row.calls))
                  : std::nullopt;
     }},
    {"calls", [](const Region& row) { return Number(static_cast<double>(row.calls)); }},
    {"threads", [](const Region& row) { return Number(static_cast<double>(row.threads)); }},
    {"flops", [](const Region& row) { return Number(row.flops); }},
    {"gflops", [](const Region& row) { return row.gflops; }},
    {"memory-self",
     [](const Region& row) { return of_memory(row, &report::RegionMemory::self_bytes); }},
    {"memory",
     [](const Region& row) { return of_memory(row, &report::RegionMemory::total_bytes); }},
    {"memory-peak",
     [](const Region& row) { return of_memory(row, &report::RegionMemory::peak_bytes); }},
};

void add(Number& to, const Number& part) {
  if (part) to = to.value_or(0) + *part;
}

// A sum that lacks a part is none.
void add_count(report::RegionCount& to, const report::RegionCount& part, bool inside) {
  const auto add_known = [&](Number& sum, const Number& value) {
    sum = sum && value ? Number(*sum + *value) : std::nullopt;
  };
  add_known(to.self, part.self);
  if (!inside) add_known(to.total, part.total);
  if (to.reason.empty()) to.reason = part.reason;
  if (part.status != CountStatus::kOk) to.status = part.status;
}

report::RegionCount not_counted(const report::RegionCount& event) {
  return {.name = event.name,
          .unit = event.unit,
          .total = std::nullopt,
          .self = std::nullopt,
          .status = CountStatus::kNotCounted,
          .reason = "not all processes counted it"};
}

// `inside`: the row lies in another one of the same group, whose total holds it.
void add_row(Region& to, const Region& row, bool inside) {
  to.calls += row.calls;
  add(to.self_ns, row.self_ns);
  add(to.self_share, row.self_share);
  if (to.memory && row.memory) {
    to.memory->self_bytes += row.memory->self_bytes;
    to.memory->peak_bytes = std::max(to.memory->peak_bytes, row.memory->peak_bytes);
  } else {
    to.memory.reset();  // of a part of the calls it would look like that of all
  }
  for (report::RegionCount& count : to.counts) {
    const auto part = std::find_if(row.counts.begin(), row.counts.end(),
                                   [&](const auto& known) { return known.name == count.name; });
    add_count(count, part == row.counts.end() ? not_counted(count) : *part, inside);
  }
  if (inside) return;
  add(to.total_ns, row.total_ns);
  add(to.total_share, row.total_share);
  to.flops += row.flops;
  to.bytes += row.bytes;
  if (to.memory && row.memory) to.memory->total_bytes += row.memory->total_bytes;
}

// The same events in each row, whatever its process counted.
void align_counts(std::vector<Region>& rows) {
  std::vector<report::RegionCount> events;
  for (const Region& row : rows)
    for (const report::RegionCount& count : row.counts)
      if (std::none_of(events.begin(), events.end(),
                       [&](const auto& known) { return known.name == count.name; }))
        events.push_back(not_counted(count));
  for (Region& row : rows) {
    std::vector<report::RegionCount> counts = events;
    for (report::RegionCount& count : counts)
      for (report::RegionCount& own : row.counts)
        if (own.name == count.name) count = std::move(own);
    row.counts = std::move(counts);
  }
}

void set_rate(Region& row) {
  row.gflops = row.flops > 0 && row.total_ns && *row.total_ns > 0
                   ? Number(row.flops / *row.total_ns)
                   : std::nullopt;
}

void set_shares(std::vector<Region>& rows) {
  double sum_ns = 0;
  for (const Region& row : rows) sum_ns += row.self_ns.value_or(0);
  for (Region& row : rows) {
    const auto share = [&](const Number& ns) {
      return ns && sum_ns > 0 ? Number(*ns / sum_ns) : std::nullopt;
    };
    row.self_share = share(row.self_ns);
    row.total_share = share(row.total_ns);
  }
}

std::string group_key(const Region& row, GroupBy by) {
  switch (by) {
    case GroupBy::kName:
      return row.name;
    case GroupBy::kShape:
      return row.name + '\0' + row.shape;
    case GroupBy::kType:
      return row.type.empty() ? row.name : row.type;
    case GroupBy::kPath:
      break;
  }
  return fmt::format("{}", fmt::join(row.path, std::string_view("\0", 1))) + '\0' + row.type +
         '\0' + row.shape;
}

std::vector<Region> grouped(const std::vector<Region>& rows, GroupBy by) {
  std::vector<Region> groups;
  std::map<std::string, std::size_t> place_of;
  std::vector<std::string> above;  // groups of the regions around
  for (const Region& row : rows) {
    std::string key = group_key(row, by);
    above.resize(std::min(above.size(), row.depth));
    const bool inside =
        by != GroupBy::kPath && std::find(above.begin(), above.end(), key) != above.end();
    const auto [place, is_new] = place_of.try_emplace(key, groups.size());
    above.push_back(std::move(key));
    if (!is_new) {
      Region& group = groups[place->second];
      add_row(group, row, inside);
      group.threads = std::max(group.threads, row.threads);
      if (group.type != row.type) group.type.clear();
      if (group.shape != row.shape) group.shape.clear();
      continue;
    }
    Region& group = groups.emplace_back(row);
    if (by == GroupBy::kPath) continue;
    group.path.clear();
    group.depth = 0;
    if (by == GroupBy::kType && !row.type.empty()) group.name = row.type;
  }
  for (Region& group : groups) set_rate(group);
  return groups;
}

Number value_of(const Region& row, const std::string& column) {
  for (const SortColumn& known : kSortColumns)
    if (known.name == column) return known.value(row);
  for (const report::RegionCount& count : row.counts)
    if (count.name == column) return count.self;
  return std::nullopt;
}

// Absent numbers last; name sorts from a to z.
void sort_rows(std::vector<Region>& rows, const std::string& column) {
  if (column == "name") {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Region& a, const Region& b) { return a.name < b.name; });
    return;
  }
  std::stable_sort(rows.begin(), rows.end(), [&](const Region& a, const Region& b) {
    const Number of_a = value_of(a, column), of_b = value_of(b, column);
    return of_a && (!of_b || *of_a > *of_b);
  });
}

}  // namespace

std::span<const std::string_view> region_columns() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all = {"name"};
    for (const SortColumn& column : kSortColumns) all.push_back(column.name);
    return all;
  }();
  return names;
}

Result<void> check_region_view(const report::RegionView& view,
                               std::span<const std::string> events) {
  if (view.depth > 0 && view.group_by != GroupBy::kPath) {
    return usage_error("--depth is for --group-by path", "groups by name, shape or type have none");
  }
  const std::string& column = view.sort;
  if (column.empty()) return {};
  std::vector<std::string_view> known(region_columns().begin(), region_columns().end());
  known.insert(known.end(), events.begin(), events.end());
  if (std::find(known.begin(), known.end(), column) != known.end()) return {};
  const std::string near = did_you_mean(nearest(column, std::span(known)));
  return usage_error(fmt::format("--sort knows no column '{}'", column),
                     near.empty() ? fmt::format("known: {}", fmt::join(known, ", ")) : near);
}

Regions merge_regions(std::span<const Regions> processes) {
  // A tree, so that the rows stay depth first wherever a process has paths that others have not.
  struct Node {
    Region row;
    std::vector<std::size_t> children;
  };
  std::vector<Node> nodes(1);
  std::map<std::string, std::size_t> place_of;
  Regions merged;
  merged.processes = processes.size();
  for (const Regions& process : processes) {
    if (merged.memory_reason.empty()) merged.memory_reason = process.memory_reason;
    for (const std::string& note : process.notes)
      if (std::find(merged.notes.begin(), merged.notes.end(), note) == merged.notes.end())
        merged.notes.push_back(note);
    std::vector<std::size_t> above = {0};
    for (const Region& row : process.rows) {
      above.resize(std::min(above.size(), row.depth + 1));
      const std::string key =
          fmt::format("{}/{}", above.back(), row.name + '\0' + row.type + '\0' + row.shape);
      const auto [place, is_new] = place_of.try_emplace(key, nodes.size());
      if (is_new) {
        nodes[above.back()].children.push_back(nodes.size());
        nodes.push_back({row, {}});
      } else {
        add_row(nodes[place->second].row, row, false);
        nodes[place->second].row.threads += row.threads;
      }
      above.push_back(place->second);
    }
  }
  std::vector<std::size_t> pending(nodes[0].children.rbegin(), nodes[0].children.rend());
  while (!pending.empty()) {
    const Node& node = nodes[pending.back()];
    pending.pop_back();
    merged.rows.push_back(node.row);
    set_rate(merged.rows.back());
    pending.insert(pending.end(), node.children.rbegin(), node.children.rend());
  }
  align_counts(merged.rows);
  return merged;
}

Regions view_regions(Regions all, const RegionView& view) {
  set_shares(all.rows);
  const bool by_path = view.group_by == GroupBy::kPath;
  // Deep rows are hidden, but a group has all of its rows.
  std::vector<Region> rows =
      by_path && view.sort.empty() ? std::move(all.rows) : grouped(all.rows, view.group_by);
  const std::size_t before = rows.size();
  if (view.depth != 0 && by_path)
    std::erase_if(rows, [&](const Region& row) { return row.depth >= view.depth; });
  const bool known = view.sort.empty() || view.sort == "name" ||
                     std::any_of(rows.begin(), rows.end(), [&](const Region& row) {
                       return value_of(row, view.sort).has_value();
                     });
  if (!known && !rows.empty())
    all.notes.push_back(fmt::format("not sorted by {}: no region has it", view.sort));
  if (!view.sort.empty() || !by_path) sort_rows(rows, view.sort.empty() ? "self" : view.sort);
  if (view.top != 0 && rows.size() > view.top)
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(view.top), rows.end());
  all.hidden = before - rows.size();
  all.rows = std::move(rows);
  all.view = view;
  return all;
}

}  // namespace hwprof
