#include "counters/regions/region_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hwprof {
namespace {

constexpr const char* kNoMemory =
    "nobody watches what the program allocates; libhwprof-memory does, linked or preloaded";

using Counts = std::vector<std::uint64_t>;

std::uint64_t reduced(std::uint64_t value, double by) {
  const auto amount = static_cast<std::uint64_t>(std::llround(std::max(0.0, by)));
  return value - std::min(value, amount);
}

// Self of each path without what its own edges and those of the regions directly in it cost; the
// totals then lose what the selves below them lost, so that both add up as the raw ones do.
class Correction {
 public:
  Correction(const std::vector<RegionSum>& nodes, const RegionCost& cost)
      : nodes_(nodes), taken_(nodes.size()) {
    for (std::size_t i = nodes.size() - 1; i > 0; --i) {
      const RegionSum& node = nodes[i];
      taken_[i].counts.resize(cost.inside.size());
      const Entries entries = entries_of(node);
      taken_[i].self_ns =
          node.self_ns - reduced(node.self_ns, entries.own * cost.inside_ns +
                                                   entries.directly_inside * cost.outside_ns);
      taken_[i].total_ns += taken_[i].self_ns;
      for (std::size_t event = 0; event < cost.inside.size(); ++event) {
        Taken::Count& count = taken_[i].counts[event];
        const double by = entries.own_counted * cost.inside[event] +
                          entries.counted_directly_inside * cost.outside[event];
        count.self = node.selves[event] - reduced(node.selves[event], by);
        count.total += count.self;
      }
      if (node.parent == 0) continue;
      // Parents stand before their children: this one is complete when its turn comes.
      Taken& above = taken_[node.parent];
      above.counts.resize(cost.inside.size());
      above.total_ns += taken_[i].total_ns;
      for (std::size_t event = 0; event < cost.inside.size(); ++event)
        above.counts[event].total += taken_[i].counts[event].total;
    }
  }

  [[nodiscard]] std::uint64_t total_ns(std::size_t i) const {
    return less(nodes_[i].total_ns, taken_[i].total_ns);
  }
  [[nodiscard]] std::uint64_t self_ns(std::size_t i) const {
    return nodes_[i].self_ns - taken_[i].self_ns;
  }
  [[nodiscard]] Counts totals(std::size_t i) const {
    Counts counts = nodes_[i].totals;
    for (std::size_t event = 0; event < counts.size(); ++event)
      counts[event] = less(counts[event], taken_[i].counts[event].total);
    return counts;
  }
  [[nodiscard]] Counts selves(std::size_t i) const {
    Counts counts = nodes_[i].selves;
    for (std::size_t event = 0; event < counts.size(); ++event)
      counts[event] -= taken_[i].counts[event].self;
    return counts;
  }

 private:
  struct Entries {
    double own, directly_inside, own_counted, counted_directly_inside;
  };
  struct Taken {
    struct Count {
      std::uint64_t total = 0, self = 0;
    };
    std::uint64_t total_ns = 0, self_ns = 0;
    std::vector<Count> counts;
  };

  // Less than 0 only below a region that is still open, whose total is not known yet.
  static std::uint64_t less(std::uint64_t value, std::uint64_t by) {
    return value - std::min(value, by);
  }
  [[nodiscard]] Entries entries_of(const RegionSum& node) const {
    Entries entries{static_cast<double>(node.calls), static_cast<double>(node.nested),
                    static_cast<double>(node.counted_calls), static_cast<double>(node.nested)};
    for (const std::size_t child : node.children) {
      entries.directly_inside += static_cast<double>(nodes_[child].calls);
      entries.counted_directly_inside += static_cast<double>(nodes_[child].counted_calls);
    }
    return entries;
  }

  const std::vector<RegionSum>& nodes_;
  std::vector<Taken> taken_;
};

// Native counts -> one number an event, with its status.
std::vector<EventCount> evaluate(const Selection& selection, const RegionSum& node,
                                 const Counts& values) {
  Tally tally;
  RawReading reading{node.enabled_ns, node.running_ns, values};
  // A clock too coarse to see the calls: they were counted all the same.
  if (node.counted_calls != 0 && node.enabled_ns == 0)
    reading.time_enabled_ns = reading.time_running_ns = 1;
  tally.passes.push_back({{std::move(reading)}, static_cast<double>(node.counted_calls)});
  return evaluate_tally(selection, tally);
}

std::string why_uncounted(const RegionSum& node, const RegionTotals& totals) {
  if (node.calls == 0) return "no call has ended yet";
  if (!totals.no_counters_because.empty()) return totals.no_counters_because;
  return "the counters could not be read, or other programs shared them";
}

// The counts of a row; as corrected, and raw where they can be.
void add_counts(const Selection& selection, const RegionSum& node, std::size_t index,
                const Correction& correction, const RegionTotals& totals, RegionRow& to) {
  const auto raw_total = evaluate(selection, node, node.totals);
  const auto total = evaluate(selection, node, correction.totals(index));
  const auto raw_self = evaluate(selection, node, node.selves);
  const auto self = evaluate(selection, node, correction.selves(index));
  for (std::size_t i = 0; i < total.size(); ++i) {
    model::RegionCount& count = to.counts.emplace_back();
    count = {total[i].shown_as, total[i].unit, total[i].total, self[i].total, total[i].status, ""};
    to.raw.push_back({raw_total[i].total, raw_self[i].total, total[i].coverage});
    if (!count.total) count.reason = total[i].reason;
    const bool countable = !selection.events[i].terms.empty();
    if (countable && node.counted_calls == 0) count.reason = why_uncounted(node, totals);
    if (countable && count.total && node.counted_calls < node.calls)
      count.reason = fmt::format("counted in {} of {} calls", node.counted_calls, node.calls);
  }
}

std::vector<RawRegionCount> cost_rows(const RegionSetup& setup) {
  RegionSum one;
  one.counted_calls = one.enabled_ns = one.running_ns = 1000;  // costs to a thousandth of an event
  const auto milli = [](const std::vector<double>& values) {
    Counts counts;
    for (const double value : values)
      counts.push_back(static_cast<std::uint64_t>(std::llround(value * 1000)));
    return counts;
  };
  const auto inside = evaluate(setup.selection, one, milli(setup.cost.inside));
  const auto outside = evaluate(setup.selection, one, milli(setup.cost.outside));
  std::vector<RawRegionCount> rows(inside.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    rows[i] = {inside[i].value, outside[i].value, std::nullopt};
  return rows;
}

std::vector<std::string> notes_of(const RegionSetup& setup, const RegionTotals& totals) {
  std::vector<std::string> notes;
  const auto note = [&](std::uint64_t count, std::string_view singular, std::string_view plural) {
    if (count != 0) notes.push_back(fmt::format("{} {}", count, count == 1 ? singular : plural));
  };
  if (!setup.problem.empty()) notes.push_back(setup.problem);
  note(totals.ended_inside, "thread ended inside a region",
       "threads ended inside a region; those calls end with the thread");
  note(totals.left_by_outer, "region was left open, and left with the one around it",
       "regions were left open, and left with the one around them");
  note(totals.not_open, "call left or declared work for a region that was not open in its thread",
       "calls left or declared work for a region that was not open in their thread");
  note(totals.dropped, "entry was not recorded: too many call paths, or no memory",
       "entries were not recorded: too many call paths, or no memory; are names made up at run "
       "time?");
  note(totals.undescribed, "description was ignored: it was not given right after entering",
       "descriptions were ignored: they were not given right after entering");
  note(totals.backwards, "call ended before it began, by the processor's counter: it has no time",
       "calls ended before they began, by the processor's counter: they have no time");
  if (totals.by_counter != 0 && !totals.clock_problem.empty())
    notes.push_back("times are doubtful: " + totals.clock_problem +
                    "; HWPROF_CLOCK=kernel takes the kernel's clock");
  if (totals.without_counters != 0)
    notes.push_back(fmt::format("{} of {} threads have times only: {}", totals.without_counters,
                                totals.threads, totals.no_counters_because));
  return notes;
}

}  // namespace

RegionReport make_region_report(const RegionSetup& setup, RegionTotals totals) {
  const std::vector<RegionSum>& nodes = totals.sums.nodes();
  const Correction correction(nodes, setup.cost);
  RegionReport report;
  report.events = evaluate_tally(setup.selection, {});
  for (std::size_t i = 0; i < report.events.size(); ++i)
    if (!setup.selection.events[i].terms.empty()) {
      // No work of its own here: what to know about the event, not why there is no value.
      report.events[i].status = CountStatus::kOk;
      report.events[i].reason = setup.selection.events[i].resolved.caveat;
    }

  // Work of nested regions counts for those around them.
  std::vector<double> flops(nodes.size()), bytes(nodes.size());
  for (std::size_t i = nodes.size() - 1; i > 0; --i) {
    flops[nodes[i].parent] += flops[i] += nodes[i].flops;
    bytes[nodes[i].parent] += bytes[i] += nodes[i].bytes;
  }

  struct Visit {
    std::size_t node, depth;
  };
  std::vector<Visit> pending;
  const auto visit_children = [&](std::size_t node, std::size_t depth) {
    const auto& children = nodes[node].children;
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      pending.push_back({*child, depth});
  };
  std::vector<std::string> path;
  visit_children(0, 0);
  while (!pending.empty()) {
    const auto [index, depth] = pending.back();
    pending.pop_back();
    const RegionSum& node = nodes[index];
    path.resize(depth);
    path.push_back(node.name);
    RegionRow row;
    row.name = node.name;
    row.type = node.type;
    row.shape = node.shape;
    row.depth = depth;
    row.path = path;
    row.threads = node.threads;
    row.calls = node.calls;
    row.nested = node.nested;
    row.open = node.open;
    row.unfinished = node.unfinished;
    row.counted_calls = node.counted_calls;
    row.raw_total_ns = static_cast<double>(node.total_ns);
    row.raw_self_ns = static_cast<double>(node.self_ns);
    if (node.calls != 0) {
      row.total_ns = static_cast<double>(correction.total_ns(index));
      row.self_ns = static_cast<double>(correction.self_ns(index));
    }
    row.flops = flops[index];
    row.bytes = bytes[index];
    if (totals.memory_watched)
      row.memory = {.self_bytes = node.allocated_self,
                    .total_bytes = node.allocated_total,
                    .peak_bytes = node.memory_peak};
    if (node.open == 0 && row.total_ns.value_or(0) > 0) {
      if (row.flops > 0) row.gflops = row.flops / *row.total_ns;
      if (row.bytes > 0) row.gbytes_per_s = row.bytes / *row.total_ns;
    }
    add_counts(setup.selection, node, index, correction, totals, row);
    report.rows.push_back(std::move(row));
    visit_children(index, depth + 1);
  }
  if (!totals.memory_watched) report.memory_reason = kNoMemory;
  report.cost = setup.cost;
  report.event_costs = cost_rows(setup);
  report.notes = notes_of(setup, totals);
  totals.sums = {};
  report.totals = std::move(totals);
  return report;
}

}  // namespace hwprof
