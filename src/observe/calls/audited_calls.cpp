#include "src/observe/calls/audited_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "src/observe/calls/routine_file.h"
#include "src/observe/calls/shape_counts.h"
#include "src/observe/proc/trace_spans.h"

namespace hwprof::observe {
namespace {

namespace fs = std::filesystem;
using audit::load;

// As many as a page draws, and once more of those within others.
constexpr std::size_t kMostCandidates = 2 * kMostSpans;
// Of several threads, calls that are not recorded one by one may lie anywhere beside the others:
// up to this share of the time it makes no difference.
constexpr double kNegligible = 0.01;
// Of a shard, the first for calls without a shape; a record of a call has the place among a site's.
constexpr std::uint32_t kSlots = audit::kShapes + 1;
constexpr std::uint32_t kSlotsOfSite = audit::kShards * kSlots;

// The watched program writes these, at any time and anything.
std::string text_at(const char* text, std::size_t room) { return {text, ::strnlen(text, room)}; }

std::string canonical(const std::string& path) {
  std::error_code error;
  const std::string found = fs::canonical(path, error);
  return error ? path : found;
}

struct Bound {
  std::string symbol, caller, library;
  bool blas = true, lapack = false;
  ShapeCounts shapes;
  std::set<std::uint32_t> places;  // of its sites in the table
};
using Bindings = std::map<std::tuple<std::string, std::string, std::string>, Bound>;

using Backends = std::map<std::string, std::string>;

// Who served it: of a BLAS in front of another one that one.
const std::string& server_of(const Bound& bound, const Backends& backends) {
  const auto backend = backends.find(bound.library);
  return bound.blas && backend != backends.end() ? backend->second : bound.library;
}

bool has_shape(std::uint32_t slot) { return slot % kSlots != 0; }

const audit::CountedShape& slot_of(const audit::Site& site, std::uint32_t slot) {
  const audit::Shard& shard = site.shards[slot / kSlots];
  return has_shape(slot) ? shard.shapes[slot % kSlots - 1] : shard.others;
}

MetNumbers read_met(const audit::CountedShape& slot, std::uint64_t returned, double ns_per_tick) {
  // From 1024 times the logarithm of ticks; each has the logarithm of a tick's length besides.
  const auto log2_of = [&](std::uint64_t sum, std::uint64_t calls) {
    return static_cast<double>(sum) / 1024 + static_cast<double>(calls) * std::log2(ns_per_tick);
  };
  const audit::MetNumbers& met = slot.met;
  const audit::OperandSamples& operands = slot.operands;
  const std::uint64_t told = returned - std::min(load(met.untold), returned);
  const std::uint64_t denormal = std::min(load(met.denormal), told), usual = told - denormal;
  return {.usual = usual,
          .denormal = denormal,
          .invalid = load(met.invalid),
          .flushed = load(met.flushed),
          .denormal_ns = static_cast<double>(load(met.denormal_ticks)) * ns_per_tick,
          .usual_log2 = log2_of(load(met.usual_log_ticks), usual),
          .denormal_log2 = log2_of(load(met.denormal_log_ticks), denormal),
          .operands = load(operands.looked_at),
          .nan_operands = load(operands.nan),
          .infinite_operands = load(operands.infinite),
          .denormal_operands = load(operands.denormal)};
}

template <class Counted>
CountedCalls read_calls(const Counted& slot, double ns_per_tick) {
  // What a call adds at its end is read first: no more have returned than have begun.
  const double ticks = static_cast<double>(load(slot.ticks));
  const std::uint64_t returned = load(slot.returned), count = load(slot.count);
  return {count, std::min(returned, count), ticks * ns_per_tick};
}

CountedCalls read_slot(const audit::CountedShape& slot, double ns_per_tick) {
  CountedCalls calls = read_calls(slot, ns_per_tick);
  calls.met = read_met(slot, calls.timed, ns_per_tick);
  return calls;
}

void read_shard(const audit::Shard& shard, double ns_per_tick, ShapeCounts& to) {
  if (const CountedCalls calls = read_slot(shard.others, ns_per_tick); calls.count > 0)
    to.add_others(calls);
  for (const audit::CountedShape& slot : shard.shapes) {
    if (load(slot.state) != audit::kReady) continue;
    const CountedCalls calls = read_slot(slot, ns_per_tick);
    const Shape shape = slot.shape;  // does not change any more
    if (calls.count > 0) to.add(shape, calls);
  }
}

// Nothing where the site has not been called, or is no site.
std::optional<Bound> read_site(const audit::Table& table, std::uint32_t place, double ns_per_tick) {
  const audit::Site& site = table.sites[place];
  if (load(site.state) != audit::kReady) return std::nullopt;
  Bound bound;
  const std::uint32_t caller = load(site.caller), library = load(site.library);
  bound.symbol = text_at(site.symbol, audit::kSymbolBytes);
  Routine routine;
  if (caller >= audit::kFiles || library >= audit::kFiles ||
      !find_routine(bound.symbol.c_str(), routine)) {
    return std::nullopt;
  }
  bound.blas = routine.blas;
  bound.lapack = routine.lapack;
  bound.shapes = ShapeCounts(routine);
  for (const audit::Shard& shard : site.shards) read_shard(shard, ns_per_tick, bound.shapes);
  if (bound.shapes.all().count == 0) return std::nullopt;
  bound.caller = canonical(text_at(table.files[caller].path, audit::kPathBytes));
  bound.library = canonical(text_at(table.files[library].path, audit::kPathBytes));
  bound.places = {place};
  return bound;
}

Bindings read_sites(const audit::Table& table, double ns_per_tick) {
  Bindings merged;
  for (std::uint32_t place = 0; place < audit::kSites; ++place) {
    auto bound = read_site(table, place, ns_per_tick);
    if (!bound) continue;
    const std::tuple key{bound->symbol, bound->caller, bound->library};
    if (auto known = merged.find(key); known != merged.end()) {
      known->second.shapes.merge(bound->shapes);
      known->second.places.merge(bound->places);
    } else {
      merged.emplace(key, *std::move(bound));
    }
  }
  return merged;
}

bool serves_blas(const std::string& path) {
  const auto file = open_routine_file(path);
  return file && std::any_of(file->entries.begin(), file->entries.end(),
                             [](const EntryPoint& entry) { return entry.routine.blas; });
}

// Library in front: the one behind it that most of its calls go to.
std::map<std::string, std::string> find_backends(const Bindings& bindings) {
  std::map<std::string, bool> serves;
  std::map<std::string, const Bound*> backends;
  for (const auto& [key, bound] : bindings) {
    if (!serves.contains(bound.caller)) serves[bound.caller] = serves_blas(bound.caller);
    if (!bound.blas || !serves[bound.caller]) continue;
    const Bound*& backend = backends[bound.caller];
    if (backend == nullptr || backend->shapes.all().count < bound.shapes.all().count)
      backend = &bound;
  }
  std::map<std::string, std::string> names;
  for (const auto& [front, bound] : backends) names[front] = bound->library;
  return names;
}

Bindings outermost(Bindings bindings, const std::map<std::string, std::string>& backends) {
  std::set<std::string> called;  // libraries
  for (const auto& [key, bound] : bindings) called.insert(bound.library);
  std::erase_if(bindings, [&](const auto& binding) {
    const Bound& bound = binding.second;
    return bound.blas && backends.contains(bound.caller) && called.contains(bound.caller);
  });
  return bindings;
}

std::optional<double> wall_of(const Bindings& bindings, const audit::Table& table,
                              const LongCalls& long_calls, double ns_per_tick) {
  double all = 0, recorded = 0;
  bool any = false;
  for (const auto& [key, bound] : bindings) {
    if (!bound.blas) continue;
    const CountedCalls calls = bound.shapes.all();
    if (calls.timed != calls.count) return std::nullopt;
    any = true;
    all += calls.time_ns;
    for (const std::uint32_t place : bound.places) {
      recorded += long_calls.ticks_of(place) * ns_per_tick;
    }
  }
  if (!any) return std::nullopt;
  if (load(table.more_threads) == 0) return all;
  const double inside = long_calls.inside_ticks() * ns_per_tick, others = all - recorded;
  if (long_calls.lost() > 0 || others > kNegligible * inside) return std::nullopt;
  return inside + std::max(others, 0.0);
}

bool longer(const LongCalls::Call& a, const LongCalls::Call& b) { return a.ticks() > b.ticks(); }

void keep_longest(std::vector<LongCalls::Call>& calls, std::size_t most) {
  if (calls.size() <= most) return;
  std::nth_element(calls.begin(), calls.begin() + static_cast<std::ptrdiff_t>(most), calls.end(),
                   longer);
  calls.resize(most);
}

bool calls_blas(const audit::Site& site) {
  Routine routine;
  return find_routine(text_at(site.symbol, audit::kSymbolBytes).c_str(), routine) && routine.blas;
}

std::string name_of(const audit::Table& table, const LongCalls::Call& call,
                    const std::string& symbol) {
  if (call.slot >= kSlotsOfSite || !has_shape(call.slot)) return symbol;
  const Shape shape = slot_of(table.sites[call.site], call.slot).shape;
  return fmt::format("{} {} x {} x {}", symbol, shape.m, shape.n, shape.k);
}

void write_spans(const audit::Table& table, const LongCalls& long_calls, const Bindings& bindings,
                 const TickClock& clock, AuditedCalls& to) {
  const double ns_per_tick = clock.ns_per_tick;
  std::map<std::uint32_t, const std::string*> symbols;
  for (const auto& [key, bound] : bindings) {
    if (bound.lapack) continue;  // calls of a BLAS lie within it
    for (const std::uint32_t place : bound.places) symbols[place] = &bound.symbol;
  }
  std::vector<LongCalls::Call> calls;
  for (const LongCalls::Call& call : long_calls.longest())
    if (symbols.contains(call.site)) calls.push_back(call);
  if (calls.empty()) return;

  keep_longest(calls, kMostSpans);
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.began < b.began; });
  for (const LongCalls::Call& call : calls) {
    to.spans.push_back(
        {.name = name_of(table, call, *symbols[call.site]),
         .thread = call.thread == 0 ? "not known" : fmt::format("{}", call.thread),
         .depth = 0,
         .start_ns = static_cast<double>(call.began - calls.front().began) * ns_per_tick,
         .duration_ns = static_cast<double>(call.ticks()) * ns_per_tick});
  }
  to.spans_begin_ns = clock.wall_of(calls.front().began);
  std::uint64_t all = 0;
  for (const auto& [key, bound] : bindings)
    if (!bound.lapack) all += bound.shapes.all().count;
  if (all <= calls.size()) return;
  const auto shortest = std::max_element(calls.begin(), calls.end(), longer);
  to.spans_note =
      fmt::format("The {} longest of {} calls are drawn; the shortest of them takes {:.0f} us.",
                  calls.size(), all, static_cast<double>(shortest->ticks()) * ns_per_tick * 1e-3);
}

// Of outermost calls, as the sites are.
std::vector<CallsOfModule> read_modules(const audit::Table& table, const Bindings& bindings,
                                        const Backends& backends, double ns_per_tick) {
  if (load(table.open_modules.used) == 0) return {};  // and its pages were never touched
  std::map<std::uint32_t, const Bound*> bound_at;
  for (const auto& [key, bound] : bindings)
    for (const std::uint32_t place : bound.places) bound_at[place] = &bound;
  std::map<std::tuple<std::uint32_t, std::uint32_t, const Bound*>, ShapeCounts> counts;
  for (const audit::ModuleCalls& calls : table.module_calls) {
    const std::uint32_t slot = load(calls.slot), place = load(calls.site);
    const auto bound = bound_at.find(place);
    if (load(calls.state) != audit::kReady || bound == bound_at.end() || slot >= kSlotsOfSite)
      continue;
    const CountedCalls counted = read_calls(calls, ns_per_tick);
    if (counted.count == 0) continue;
    Routine routine;
    find_routine(bound->second->symbol.c_str(), routine);
    ShapeCounts& shapes =
        counts.try_emplace({load(calls.process), load(calls.module), bound->second}, routine)
            .first->second;
    if (has_shape(slot)) {
      shapes.add(Shape(slot_of(table.sites[place], slot).shape), counted);
    } else {
      shapes.add_others(counted);
    }
  }
  std::vector<CallsOfModule> modules;
  for (const auto& [key, shapes] : counts) {
    const auto& [process, module, bound] = key;
    CallsOfModule& calls = modules.emplace_back(CallsOfModule{process, module, {}});
    calls.site.symbol = bound->symbol;
    calls.site.caller = bound->caller;
    calls.site.library = server_of(*bound, backends);
    shapes.write(calls.site);
  }
  return modules;
}

// A slot of one shape, or of those that found no room.
CallKind kind_of(const Bound& bound, const Backends& backends, std::uint64_t number,
                 const CountedCalls& calls, const Shape* shape) {
  CallKind kind{.number = number,
                .symbol = bound.symbol,
                .library = server_of(bound, backends),
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

std::vector<CallKind> kinds_of(const audit::Table& table, const Bindings& bindings,
                               const Backends& backends, double ns_per_tick) {
  std::vector<CallKind> kinds;
  for (const auto& [key, bound] : bindings) {
    for (const std::uint32_t place : bound.places) {
      for (std::uint32_t slot = 0; slot < kSlotsOfSite; ++slot) {
        const audit::CountedShape& counted = slot_of(table.sites[place], slot);
        const CountedCalls calls = read_calls(counted, ns_per_tick);
        if (calls.count == 0 || (has_shape(slot) && load(counted.state) != audit::kReady)) continue;
        const Shape shape = counted.shape;
        kinds.push_back(kind_of(bound, backends, std::uint64_t{place} << 32U | slot, calls,
                                has_shape(slot) ? &shape : nullptr));
      }
    }
  }
  return kinds;
}

}  // namespace

double LongCalls::ticks_of(std::uint32_t site) const {
  const auto known = sites_.find(site);
  return known != sites_.end() ? known->second.ticks : 0;
}

void LongCalls::keep(const Call& call) {
  longest_.push_back(call);
  if (longest_.size() >= 2 * kMostCandidates) keep_longest(longest_, kMostCandidates);
}

void LongCalls::read(const audit::Table& table, const std::function<void(const Call&)>& take) {
  const std::uint64_t last = load(table.long_calls);
  // What has been overwritten, or a number that nobody has counted to.
  if (last < next_) return;
  if (last - next_ >= audit::kLongCalls) {
    lost_ += last - next_ + 1 - audit::kLongCalls;
    next_ = last + 1 - audit::kLongCalls;
  }
  for (; next_ <= last; ++next_) {
    const audit::LongCall& place = table.calls[next_ % audit::kLongCalls];
    if (load(place.number) != next_) {
      // Being written; what is not there the next time belongs to a process that died.
      if (std::exchange(unwritten_, next_) != next_) return;
      ++lost_;
      continue;
    }
    const Call call{place.began, place.ended, load(place.site), load(place.slot),
                    load(place.thread)};
    if (load(place.number) != next_ || call.ended < call.began || call.site >= audit::kSites) {
      ++lost_;
      continue;
    }
    auto [site, added] = sites_.try_emplace(call.site);
    if (added) site->second.blas = calls_blas(table.sites[call.site]);
    site->second.ticks += static_cast<double>(call.ticks());
    if (site->second.blas) inside_.add(call.began, call.ended);
    keep(call);
    if (take) take(call);
  }
}

AuditedCalls read_audited_calls(const audit::Table& table, const LongCalls& long_calls,
                                const TickClock& clock) {
  const Bindings bindings = read_sites(table, clock.ns_per_tick);
  const Backends backends = find_backends(bindings);
  const Bindings outer = outermost(bindings, backends);
  const std::uint64_t first_nan = load(table.first_nan);
  AuditedCalls result;
  for (const auto& [key, bound] : outer) {
    report::CallSite site;
    site.symbol = bound.symbol;
    site.caller = bound.caller;
    site.library = server_of(bound, backends);
    bound.shapes.write(site);
    site.nan_first =
        first_nan > 0 && bound.places.contains(static_cast<std::uint32_t>(first_nan - 1));
    const CountedCalls calls = bound.shapes.all();
    result.open += calls.count - calls.timed;
    (bound.lapack ? result.lapack : result.sites).push_back(std::move(site));
  }
  most_flop_first(result.sites);
  std::stable_sort(result.lapack.begin(), result.lapack.end(), [](const auto& a, const auto& b) {
    return a.time_ns.value_or(0) > b.time_ns.value_or(0);
  });
  result.wall_ns = wall_of(outer, table, long_calls, clock.ns_per_tick);
  write_spans(table, long_calls, outer, clock, result);
  result.of_modules = read_modules(table, outer, backends, clock.ns_per_tick);
  result.kinds = kinds_of(table, bindings, backends, clock.ns_per_tick);
  return result;
}

}  // namespace hwprof::observe
