#include "src/observe/calls/call_kinds.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "src/observe/calls/prepared_calls.h"
#include "src/observe/calls/shape_counts.h"

namespace hwprof::observe {
namespace {

using audit::load;

// A slot of one shape, or of those that found no room.
CallKind kind_of(const Bound& bound, const Backends& backends, std::uint64_t number,
                 const CountedCalls& calls, const Shape* shape) {
  CallKind kind{.number = number,
                .symbol = bound.symbol,
                .library = server_of(bound, backends),
                .caller = bound.caller,
                .shape = {},
                .flops = {},
                .count = calls.count,
                .time_ns = calls.time_ns};
  Routine routine;
  if (shape == nullptr || !find_routine(bound.symbol.c_str(), routine)) return kind;
  ShapeCounts one(routine);
  one.add(*shape, calls);
  report::CallSite site;
  one.write(site);
  if (!site.shapes.empty()) kind.shape = site.shapes.front();
  if (site.flops) kind.flops = *site.flops / static_cast<double>(calls.count);
  return kind;
}

}  // namespace

std::vector<CallKind> kinds_of(const audit::Table& table, const Bindings& bindings,
                               const Backends& backends, double ns_per_tick) {
  std::vector<CallKind> kinds;
  for (const auto& [key, bound] : bindings) {
    for (const std::uint32_t place : bound.places) {
      for (std::uint32_t slot = 0; slot < audit::kSlotsOfShards; ++slot) {
        const audit::CountedShape& counted = slot_of(table.sites[place], slot);
        const CountedCalls calls = read_calls(counted, ns_per_tick);
        if (calls.count == 0 || (has_shape(slot) && load(counted.state) != audit::kReady)) continue;
        const Shape shape = counted.shape;
        kinds.push_back(kind_of(bound, backends, number_of(place, slot), calls,
                                has_shape(slot) ? &shape : nullptr));
      }
    }
    for (const std::uint32_t prepared : bound.prepared) {
      const audit::PreparedCalls& counted = table.prepared[prepared];
      const std::uint32_t slot = audit::kSlotsOfShards + prepared;
      const CountedCalls calls = read_calls(counted.counted, ns_per_tick);
      const auto work = work_of(table, load(counted.site), slot);
      if (calls.count == 0 || !work) continue;
      CallKind& kind = kinds.emplace_back(
          kind_of(bound, backends, number_of(counted.site, slot), calls, nullptr));
      kind.prepared = describe(*work, bound.prepared_by);
      kind.symbol = routine_of(*kind.prepared);
      kind.flops = flop_count(*work, bound.prepared_by);
    }
  }
  return kinds;
}

std::vector<CallsOfModule> read_modules(const audit::Table& table, const Bindings& bindings,
                                        const Backends& backends, double ns_per_tick) {
  if (load(table.open_modules.used) == 0) return {};  // and its pages were never touched
  std::map<std::uint32_t, const Bound*> bound_at;
  for (const auto& [key, bound] : bindings)
    for (const std::uint32_t place : bound.places) bound_at[place] = &bound;
  constexpr std::uint32_t kInShards = 0;
  // Process, module, site; where its calls are counted, if that is not the site's shards.
  std::map<std::tuple<std::uint32_t, std::uint32_t, const Bound*, std::uint64_t>, ShapeCounts>
      counts;
  for (const audit::ModuleCalls& calls : table.module_calls) {
    const std::uint32_t slot = load(calls.slot), place = load(calls.site);
    const auto bound = bound_at.find(place);
    const bool in_shards = is_in_shards(slot);
    if (load(calls.state) != audit::kReady || bound == bound_at.end() ||
        (!in_shards && !work_of(table, place, slot))) {
      continue;
    }
    const CountedCalls counted = read_calls(calls, ns_per_tick);
    if (counted.count == 0) continue;
    Routine routine;
    find_routine(bound->second->symbol.c_str(), routine);
    ShapeCounts& shapes = counts
                              .try_emplace({load(calls.process), load(calls.module), bound->second,
                                            in_shards ? kInShards : number_of(place, slot)},
                                           routine)
                              .first->second;
    if (has_shape(slot)) {
      shapes.add(Shape(slot_of(table.sites[place], slot).shape), counted);
    } else {
      shapes.add_others(counted);
    }
  }
  std::vector<CallsOfModule> modules;
  for (const auto& [key, shapes] : counts) {
    const auto& [process, module, bound, number] = key;
    CallsOfModule& calls = modules.emplace_back(CallsOfModule{process, module, {}});
    calls.site.symbol = bound->symbol;
    calls.site.caller = bound->caller;
    calls.site.library = server_of(*bound, backends);
    shapes.write(calls.site);
    const auto work = number != kInShards ? work_at(table, number) : std::nullopt;
    if (!work) continue;
    calls.prepared = describe(*work, bound->prepared_by);
    calls.site.symbol = routine_of(*calls.prepared);
    if (const auto flops = flop_count(*work, bound->prepared_by))
      calls.site.flops = *flops * static_cast<double>(calls.site.count);
  }
  return modules;
}

}  // namespace hwprof::observe
