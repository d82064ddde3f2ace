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
#include <utility>

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

// Of a routine that hands its calls on to the same one of another file, as those of a dispatcher do
// (FlexiBLAS, MKL's), and cblas_dgemm() that calls dgemm_() of another library.
struct Backend {
  std::string library;                                  // that it calls most
  std::uint64_t received = 0, handed_on = 0, most = 0;  // calls; `most` to `library`

  // A call that is handed on is counted once: as it was received, unless more are handed on.
  [[nodiscard]] bool counts_received() const { return handed_on <= received; }
};
// By the file in front, and the operation.
using Backends = std::map<std::pair<std::string, std::string>, Backend>;

Bindings read_sites(const audit::Table& table, double ns_per_tick);

// The files that export products, and whether a function of theirs was called that is not counted.
std::map<std::string, bool> blas_files(const audit::Table& table);

// Of the symbol of a site.
std::string symbol_of(const audit::Site& site);

// A path of the loader's as the process's map has it: without links.
std::string mapped_path(const std::string& path);

// "dgemm" of each name that it has: dgemm_, DGEMM, cblas_dgemm_64, scipy_dgemm_64_.
std::string operation_of(const std::string& symbol);

// Who served it: of a routine that hands its calls on, who is behind it.
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
