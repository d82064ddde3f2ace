#include "src/observe/calls/bindings.h"

#include <cmath>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "src/base/text.h"
#include "src/observe/calls/prepared_calls.h"

namespace hwprof::observe {
namespace {

namespace fs = std::filesystem;
using audit::load;

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
std::optional<Bound> read_site(const audit::Table& table, std::uint32_t place,
                               const std::vector<std::uint32_t>& prepared_here,
                               double ns_per_tick) {
  const audit::Site& site = table.sites[place];
  if (load(site.state) != audit::kReady) return std::nullopt;
  Bound bound;
  const std::uint32_t caller = load(site.caller), library = load(site.library);
  bound.symbol = symbol_of(site);
  Routine routine;
  if (caller >= audit::kFiles || library >= audit::kFiles ||
      !find_routine(bound.symbol.c_str(), routine)) {
    return std::nullopt;
  }
  bound.blas = routine.blas;
  bound.lapack = routine.lapack;
  bound.prepared_by = routine.prepared;
  bound.shapes = ShapeCounts(routine);
  for (const audit::Shard& shard : site.shards) read_shard(shard, ns_per_tick, bound.shapes);
  if (routine.prepared != Prepared::kNone) bound.unknown = bound.shapes.all();
  for (const std::uint32_t prepared : prepared_here) {
    bound.shapes.add_others(read_slot(table.prepared[prepared].counted, ns_per_tick));
    bound.prepared.insert(prepared);
  }
  if (bound.shapes.all().count == 0) return std::nullopt;
  bound.caller = mapped_path(text_in(table.files[caller].path));
  bound.library = mapped_path(text_in(table.files[library].path));
  bound.places = {place};
  return bound;
}

}  // namespace

std::string symbol_of(const audit::Site& site) { return text_in(site.symbol); }

std::string mapped_path(const std::string& path) {
  std::error_code error;
  const std::string found = fs::canonical(path, error);
  return error ? path : found;
}

std::string operation_of(const std::string& symbol) {
  const std::string small = lower(symbol);
  std::string_view name = small;
  for (const std::string_view prefix : {"scipy_", "cblas_"})
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  name = name.substr(0, name.find_last_not_of("_64") + 1);
  // A dot product of C that gives its complex result by a pointer.
  if (constexpr std::string_view kBySub = "_sub"; name.ends_with(kBySub))
    name.remove_suffix(kBySub.size());
  return std::string(name);
}

const std::string& server_of(const Bound& bound, const Backends& backends) {
  const auto backend = backends.find({bound.library, operation_of(bound.symbol)});
  return bound.blas && backend != backends.end() ? backend->second.library : bound.library;
}

bool is_in_shards(std::uint32_t slot) { return slot < audit::kSlotsOfShards; }

// Of a shard, the first is for calls without a shape.
bool has_shape(std::uint32_t slot) {
  return is_in_shards(slot) && slot % audit::kSlotsOfShard != 0;
}

const audit::CountedShape& slot_of(const audit::Site& site, std::uint32_t slot) {
  const audit::Shard& shard = site.shards[slot / audit::kSlotsOfShard];
  return has_shape(slot) ? shard.shapes[slot % audit::kSlotsOfShard - 1] : shard.others;
}

std::optional<PreparedWork> work_of(const audit::Table& table, std::uint32_t site,
                                    std::uint32_t slot) {
  if (is_in_shards(slot) || slot - audit::kSlotsOfShards >= audit::kPreparedCalls)
    return std::nullopt;
  const audit::PreparedCalls& calls = table.prepared[slot - audit::kSlotsOfShards];
  if (load(calls.state) != audit::kReady || load(calls.site) != site) return std::nullopt;
  return calls.work;
}

std::uint64_t number_of(std::uint32_t site, std::uint32_t slot) {
  return std::uint64_t{site} << 32U | slot;
}
std::optional<PreparedWork> work_at(const audit::Table& table, std::uint64_t number) {
  return work_of(table, static_cast<std::uint32_t>(number >> 32U),
                 static_cast<std::uint32_t>(number));
}

Bindings read_sites(const audit::Table& table, double ns_per_tick) {
  Bindings merged;
  PreparedOfSites prepared = prepared_of_sites(table);
  for (std::uint32_t place = 0; place < audit::kSites; ++place) {
    auto bound = read_site(table, place, prepared[place], ns_per_tick);
    if (!bound) continue;
    const std::tuple key{bound->symbol, bound->caller, bound->library};
    if (auto known = merged.find(key); known != merged.end()) {
      known->second.shapes.merge(bound->shapes);
      known->second.unknown += bound->unknown;
      known->second.places.merge(bound->places);
      known->second.prepared.merge(bound->prepared);
    } else {
      merged.emplace(key, *std::move(bound));
    }
  }
  return merged;
}

std::map<std::string, bool> blas_files(const audit::Table& table) {
  std::map<std::string, bool> files;
  for (const audit::File& file : table.files) {
    if (load(file.state) != audit::kReady || load(file.has_blas) == 0) continue;
    bool& called = files[mapped_path(text_in(file.path))];
    called = called || load(file.others_called) != 0;
  }
  return files;
}

}  // namespace hwprof::observe
