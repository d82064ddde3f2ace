// The sites of the audit library's table as files and symbols, and where their calls are counted.
// The watched program may have written anything there, at any time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "src/observe/audit/table.h"
#include "src/observe/calls/shape_counts.h"

namespace hwprof::observe {

// What one file calls of another one.
struct Bound {
  std::string symbol, caller, library;
  bool blas = true, lapack = false;
  Prepared prepared_by = Prepared::kNone;
  ShapeCounts shapes;
  CountedCalls unknown{.count = 0};  // of them, on objects that were made for something not known
  std::set<std::uint32_t> places;    // of its sites in the table
  std::set<std::uint32_t> prepared;  // likewise

  [[nodiscard]] bool is_of_fftw() const {
    return prepared_by == Prepared::kPlan || prepared_by == Prepared::kPlanner;
  }
};
using Bindings = std::map<std::tuple<std::string, std::string, std::string>, Bound>;

// A BLAS in front of another one, and that one.
using Backends = std::map<std::string, std::string>;

Bindings read_sites(const audit::Table& table, double ns_per_tick);

// The files that export products, and whether a function of theirs was called that is not counted.
std::map<std::string, bool> blas_files(const audit::Table& table);

// Of the symbol of a site.
std::string symbol_of(const audit::Site& site);

// Who served it: of a BLAS in front of another one that one.
const std::string& server_of(const Bound& bound, const Backends& backends);

// Calls are counted in a slot of a site: in its shards, or among the table's prepared ones.
bool is_in_shards(std::uint32_t slot);
bool has_shape(std::uint32_t slot);
// In the shards.
const audit::CountedShape& slot_of(const audit::Site& site, std::uint32_t slot);
// Nothing: there is none at that place.
std::optional<PreparedWork> work_of(const audit::Table& table, std::uint32_t site,
                                    std::uint32_t slot);

// CallKind::number, and what is there.
std::uint64_t number_of(std::uint32_t site, std::uint32_t slot);
std::optional<PreparedWork> work_at(const audit::Table& table, std::uint64_t number);

template <class Counted>
CountedCalls read_calls(const Counted& slot, double ns_per_tick) {
  // What a call adds at its end is read first: no more have returned than have begun.
  const double ticks = static_cast<double>(audit::load(slot.ticks));
  const std::uint64_t returned = audit::load(slot.returned), count = audit::load(slot.count);
  return {count, std::min(returned, count), ticks * ns_per_tick};
}

}  // namespace hwprof::observe
