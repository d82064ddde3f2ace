#include "counters/perf/selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "counters/machine/pmu_device.h"
#include "counters/perf/probe.h"

namespace hwprof {
namespace {

std::size_t native_index(std::vector<NativeEvent>& natives, const NativeEvent& event) {
  const auto found = std::find_if(natives.begin(), natives.end(),
                                  [&](const NativeEvent& known) { return known.same_as(event); });
  if (found != natives.end()) return static_cast<std::size_t>(found - natives.begin());
  natives.push_back(event);
  return natives.size() - 1;
}

struct Tried {
  std::optional<Refusal> refusal;
  bool user_only = false;
  bool rose = false;  // any of its counters, in a trial in which every named event happens
};

// Each native event alone, so that one that cannot count takes down no group; and found out when
// it opens, but would give a number that is not so.
Tried try_event(const Machine& machine, const ResolvedEvent& event) {
  Tried tried;
  for (const Term& term : event.terms) {
    const Probe probe = probe_events(machine, {&term.event, 1}, Trial::kEverything);
    if (!probe.runs) {
      tried.refusal = probe.refusal;
      return tried;
    }
    tried.user_only = tried.user_only || probe.user_only;
    tried.rose = tried.rose || probe.reading.values.front() != 0 || term.event.is_software();
  }
  if (event.in_kernel && tried.user_only)
    tried.refusal = {CountStatus::kDenied,
                     "it happens inside the kernel, which this user may not count",
                     "as root: sysctl kernel.perf_event_paranoid=1"};
  else if (event.must_rise && !tried.rose)
    tried.refusal = {
        CountStatus::kNotCounted,
        "it stayed at 0 in a trial in which it must happen: the counter opens, but "
        "does not count",
        machine.virtualized ? "the hypervisor emulates this PMU without that event" : ""};
  return tried;
}

bool unlisted(const Machine& machine, const NativeEvent& event) {
  const auto& devices = machine.pmu.devices;
  const auto pmu = std::find_if(devices.begin(), devices.end(),
                                [&](const PmuDevice& device) { return device.type == event.type; });
  return pmu != devices.end() &&
         !cpu_names_event(kEventSources, pmu->name, event.config).value_or(true);
}

void add_event(const Machine& machine, ResolvedEvent resolved, Selection& selection) {
  SelectedEvent event;
  event.resolved = std::move(resolved);
  event.refusal = event.resolved.refusal;
  if (event.resolved.countable()) {
    Tried tried = try_event(machine, event.resolved);
    if (tried.refusal) {
      event.refusal = *std::move(tried.refusal);
    } else {
      selection.user_only = selection.user_only || tried.user_only;
      if (!tried.rose)
        event.zero_note = "this PMU may not count it: it stayed at 0 in a trial, too";
      for (const Term& term : event.resolved.terms) {
        event.unlisted = event.unlisted || unlisted(machine, term.event);
        event.terms.push_back({native_index(selection.natives, term.event), term.weight});
      }
    }
  }
  selection.events.push_back(std::move(event));
}

struct Place {
  std::size_t pass = 0, group = 0, member = 0;
};

std::optional<Place> place_of(std::span<const PassPlan> passes, std::size_t native) {
  for (std::size_t pass = 0; pass < passes.size(); ++pass)
    for (std::size_t group = 0; group < passes[pass].groups.size(); ++group) {
      const auto& members = passes[pass].groups[group];
      const auto found = std::find(members.begin(), members.end(), native);
      if (found != members.end())
        return Place{pass, group, static_cast<std::size_t>(found - members.begin())};
    }
  return std::nullopt;
}

void refuse_unplaced(Selection& selection, const Refusal& refusal) {
  for (SelectedEvent& event : selection.events)
    if (std::any_of(event.terms.begin(), event.terms.end(), [&](const SelectedTerm& term) {
          return !place_of(selection.passes, term.native);
        })) {
      event.terms.clear();
      event.refusal = refusal;
    }
}

std::string notes_of(const Selection& selection, const SelectedEvent& event, double value) {
  std::string notes = event.resolved.caveat;
  const auto add = [&](std::string_view note) {
    if (!notes.empty()) notes += "; ";
    notes += note;
  };
  // A clock runs in both modes, whatever is excluded.
  if (selection.user_only && event.resolved.unit != "ns")
    add("user mode only: this user may not count the kernel's share");
  if (value == 0 && !event.zero_note.empty()) add(event.zero_note);
  return notes;
}

EventCount evaluate_event(const Selection& selection, const SelectedEvent& event,
                          const Tally& tally) {
  EventCount count;
  count.name = event.resolved.name;
  count.shown_as = event.resolved.shown_as;
  count.unit = event.resolved.unit;
  count.event = event.resolved.event;
  count.source = event.resolved.source;
  if (event.terms.empty()) {
    count.status = event.refusal.status;
    count.reason = to_text(event.refusal);
    return count;
  }
  double value = 0, total = 0, calls = 0;
  CountStatus status = CountStatus::kOk;
  for (const SelectedTerm& term : event.terms) {
    const auto place = place_of(selection.passes, term.native);
    ScaledCount scaled;
    double pass_calls = 0;
    if (place && place->pass < tally.passes.size() &&
        place->group < tally.passes[place->pass].groups.size()) {
      const Tally::Pass& pass = tally.passes[place->pass];
      scaled = scale(pass.groups[place->group], place->member);
      pass_calls = pass.calls;
    }
    if (!scaled.value || !(pass_calls > 0)) {
      count.status = CountStatus::kNotCounted;
      count.coverage = scaled.coverage;
      count.reason = pass_calls > 0 ? "its group never ran: other events held the counters"
                                    : "nothing was run in its pass";
      return count;
    }
    if (scaled.status == CountStatus::kScaled) status = CountStatus::kScaled;
    count.coverage = std::min(count.coverage.value_or(1), *scaled.coverage);
    value += term.weight * *scaled.value / pass_calls;
    total += term.weight * *scaled.value;
    calls = calls == 0 ? pass_calls : std::min(calls, pass_calls);
  }
  if (total == 0 && event.unlisted) {
    count.status = CountStatus::kNotCounted;
    count.reason = fmt::format(
        "{} stays at 0, and the CPU does not name it among its events: 0 would look the same "
        "whether nothing happened or nothing counts; see what it has: "
        "ls /sys/bus/event_source/devices/*/events",
        event.resolved.name);
    return count;
  }
  count.status = status;
  count.value = value;
  count.calls = calls;
  count.total = total;
  count.reason = notes_of(selection, event, value);
  return count;
}

}  // namespace

void Selection::drop_last_pass(const Refusal& refusal) {
  passes.pop_back();
  refuse_unplaced(*this, refusal);
}

std::size_t Selection::counters_per_thread() const {
  std::size_t count = 0;
  for (const PassPlan& pass : passes)
    for (const auto& group : pass.groups) count += group.size();
  return count;
}

Result<Selection> select_events(const Machine& machine, unsigned cpu,
                                std::span<const std::string> names, unsigned max_passes) {
  // All names before any system call: a usage error must not cost time or leave traces.
  std::vector<ResolvedEvent> resolved;
  for (const std::string& name : names) {
    TRY(auto event, resolve(machine, cpu, name));
    resolved.push_back(std::move(event));
  }
  Selection selection;
  for (ResolvedEvent& event : resolved) add_event(machine, std::move(event), selection);

  std::vector<PlanRequest> requests;
  for (const SelectedEvent& event : selection.events) {
    if (event.terms.empty()) continue;
    PlanRequest request;
    for (const SelectedTerm& term : event.terms) request.members.push_back(term.native);
    request.software = selection.natives[request.members.front()].is_software();
    request.first = event.resolved.name == "cycles" || event.resolved.name == "instructions";
    requests.push_back(std::move(request));
  }
  const auto fits = [&](std::span<const std::size_t> members) {
    std::vector<NativeEvent> group;
    for (std::size_t member : members) group.push_back(selection.natives[member]);
    return probe_events(machine, group, Trial::kShort).runs;
  };
  selection.passes = make_plan(requests, fits, max_passes).passes;
  refuse_unplaced(selection, {CountStatus::kNotCounted, "no counter was free for it",
                              "end other programs that count"});
  return selection;
}

std::vector<EventCount> evaluate_tally(const Selection& selection, const Tally& tally) {
  std::vector<EventCount> counts;
  for (const SelectedEvent& event : selection.events)
    counts.push_back(evaluate_event(selection, event, tally));
  return counts;
}

}  // namespace hwprof
