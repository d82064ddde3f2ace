#include "src/observe/calls/audited_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/observe/calls/bindings.h"
#include "src/observe/calls/call_kinds.h"
#include "src/observe/calls/prepared_calls.h"
#include "src/observe/calls/shape_counts.h"
#include "src/observe/proc/trace_spans.h"

namespace hwprof::observe {
namespace {

using audit::load;

// As many as a page draws, and once more of those within others.
constexpr std::size_t kMostCandidates = 2 * kMostSpans;
// Of several threads, calls that are not recorded one by one may lie anywhere beside the others:
// up to this share of the time it makes no difference.
constexpr double kNegligible = 0.01;

// What a file calls of another BLAS is its own call, but of the routine that it was called for: a
// library with one routine of a BLAS, as LAPACK has csymv_(), calls all others for itself.
Backends find_backends(const Bindings& bindings) {
  Backends backends;
  for (const auto& [key, bound] : bindings) {
    if (!bound.blas || bound.caller == bound.library) continue;
    const std::string operation = operation_of(bound.symbol);
    const std::uint64_t count = bound.shapes.all().count;
    backends[{bound.library, operation}].received += count;
    Backend& backend = backends[{bound.caller, operation}];
    backend.handed_on += count;
    if (count <= backend.most) continue;
    backend.most = count;
    backend.library = bound.library;
  }
  std::erase_if(backends, [](const auto& entry) {
    return entry.second.received == 0 || entry.second.handed_on == 0;
  });
  return backends;
}

Bindings counted_once(Bindings bindings, const Backends& backends) {
  std::erase_if(bindings, [&](const auto& binding) {
    const Bound& bound = binding.second;
    if (!bound.blas) return false;
    const std::string operation = operation_of(bound.symbol);
    const auto caller = backends.find({bound.caller, operation}),
               library = backends.find({bound.library, operation});
    return (caller != backends.end() && caller->second.counts_received()) ||
           (library != backends.end() && !library->second.counts_received());
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
  return find_routine(symbol_of(site).c_str(), routine) && routine.blas;
}

std::string name_of(const audit::Table& table, const LongCalls::Call& call, const Bound& bound) {
  if (const auto work = work_of(table, call.site, call.slot)) {
    const report::PreparedCall prepared = describe(*work, bound.prepared_by);
    return fmt::format("{} {}", routine_of(prepared), prepared.implementation);
  }
  if (!has_shape(call.slot)) return bound.symbol;
  const Shape shape = slot_of(table.sites[call.site], call.slot).shape;
  return fmt::format("{} {} x {} x {}", bound.symbol, shape.m, shape.n, shape.k);
}

// Calls of a BLAS lie within those of LAPACK.
bool is_drawn(const Bound& bound) { return !bound.lapack && !bound.is_of_fftw(); }

void write_spans(const audit::Table& table, const LongCalls& long_calls, const Bindings& bindings,
                 const TickClock& clock, AuditedCalls& to) {
  const double ns_per_tick = clock.ns_per_tick;
  std::map<std::uint32_t, const Bound*> drawn;
  for (const auto& [key, bound] : bindings)
    if (is_drawn(bound))
      for (const std::uint32_t place : bound.places) drawn[place] = &bound;
  std::vector<LongCalls::Call> calls;
  for (const LongCalls::Call& call : long_calls.longest())
    if (drawn.contains(call.site)) calls.push_back(call);
  if (calls.empty()) return;

  keep_longest(calls, kMostSpans);
  std::sort(calls.begin(), calls.end(),
            [](const auto& a, const auto& b) { return a.began < b.began; });
  std::vector<KnownPlace> places;
  for (const LongCalls::Call& call : calls) {
    to.spans.push_back(
        {.name = name_of(table, call, *drawn[call.site]),
         .thread = call.thread == 0 ? "not known" : fmt::format("{}", call.thread),
         .depth = 0,
         .start_ns = static_cast<double>(call.began - calls.front().began) * ns_per_tick,
         .duration_ns = static_cast<double>(call.ticks()) * ns_per_tick});
    long_calls.places().describe(call.place, to.spans.back());
    places.push_back(call.place);
  }
  to.lines_reason = long_calls.places().why_no_lines(places);
  to.spans_begin_ns = clock.wall_of(calls.front().began);
  std::uint64_t all = 0;
  for (const auto& [key, bound] : bindings)
    if (is_drawn(bound)) all += bound.shapes.all().count;
  if (all <= calls.size()) return;
  const auto shortest = std::max_element(calls.begin(), calls.end(), longer);
  to.spans_note =
      fmt::format("The {} longest of {} calls are drawn; the shortest of them takes {:.0f} us.",
                  calls.size(), all, static_cast<double>(shortest->ticks()) * ns_per_tick * 1e-3);
}

std::vector<CallingThread> callers_of(const LongCalls& long_calls, const Bindings& bindings,
                                      const Backends& backends, double ns_per_tick) {
  std::map<std::uint32_t, const Bound*> sites;
  for (const auto& [key, bound] : bindings)
    for (const std::uint32_t place : bound.places) sites[place] = &bound;
  std::vector<CallingThread> callers;
  for (const auto& [key, sum] : long_calls.threads()) {
    const auto site = sites.find(key.second);
    if (site == sites.end()) continue;
    callers.push_back({.thread = static_cast<pid_t>(key.first),
                       .library = server_of(*site->second, backends),
                       .calls = sum.calls,
                       .time_ns = sum.ticks * ns_per_tick});
  }
  return callers;
}

// Of one site, by what each object was made for.
void add_prepared(const audit::Table& table, const Bound& bound, const std::string& library,
                  double ns_per_tick, std::vector<report::PreparedCall>& to) {
  const auto add = [&](report::PreparedCall call) {
    call.library = library;
    call.caller = bound.caller;
    to.push_back(std::move(call));
  };
  for (const std::uint32_t place : bound.prepared) {
    const CountedCalls calls = read_calls(table.prepared[place].counted, ns_per_tick);
    const PreparedWork work = table.prepared[place].work;
    if (calls.count > 0)
      add(counted(describe(work, bound.prepared_by), flop_count(work, bound.prepared_by), calls));
  }
  if (bound.unknown.count > 0)
    add(counted(describe_unknown(bound.prepared_by), std::nullopt, bound.unknown));
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

void LongCalls::add_to_thread(const Call& call) {
  constexpr std::size_t kMost = 100'000;
  const std::pair key{call.thread, call.site};
  if (call.thread == 0 || (threads_.size() >= kMost && !threads_.contains(key))) return;
  Sum& sum = threads_[key];
  ++sum.calls;
  sum.ticks += static_cast<double>(call.ticks());
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
    Call call{place.began, place.ended, load(place.site), load(place.slot), load(place.thread)};
    const audit::CallPlace stood = table.places[next_ % audit::kLongCalls];
    if (load(place.number) != next_ || call.ended < call.began || call.site >= audit::kSites) {
      ++lost_;
      continue;
    }
    call.place = places_.place(stood);
    auto [site, added] = sites_.try_emplace(call.site);
    if (added) site->second.blas = calls_blas(table.sites[call.site]);
    site->second.ticks += static_cast<double>(call.ticks());
    if (site->second.blas) {
      inside_.add(call.began, call.ended);
      add_to_thread(call);
    }
    keep(call);
    if (take) take(call);
  }
}

AuditedCalls read_audited_calls(const audit::Table& table, const LongCalls& long_calls,
                                const TickClock& clock) {
  const Bindings bindings = read_sites(table, clock.ns_per_tick);
  const Backends backends = find_backends(bindings);
  const Bindings outer = counted_once(bindings, backends);
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
    if (bound.prepared_by != Prepared::kNone)
      add_prepared(table, bound, site.library, clock.ns_per_tick,
                   bound.is_of_fftw() ? result.transforms : result.primitives);
    if (bound.is_of_fftw()) continue;
    (bound.lapack ? result.lapack : result.sites).push_back(std::move(site));
  }
  most_flop_first(result.sites);
  merge_prepared(result.primitives);
  merge_prepared(result.transforms);
  std::stable_sort(result.lapack.begin(), result.lapack.end(), [](const auto& a, const auto& b) {
    return a.time_ns.value_or(0) > b.time_ns.value_or(0);
  });
  result.wall_ns = wall_of(outer, table, long_calls, clock.ns_per_tick);
  write_spans(table, long_calls, outer, clock, result);
  result.callers = callers_of(long_calls, outer, backends, clock.ns_per_tick);
  result.of_modules = read_modules(table, outer, backends, clock.ns_per_tick);
  result.kinds = kinds_of(table, bindings, backends, clock.ns_per_tick);
  return result;
}

}  // namespace hwprof::observe
