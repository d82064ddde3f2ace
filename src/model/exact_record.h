// What a piece of work executed, counted instruction by instruction in a copy of its code: exact,
// and the same in every run. Plain rows with the unit in each name; what counts as what stands in
// docs/exact.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/model/fields.h"

namespace hwprof::model {

// "scalar", "128", "256", "512" bit -> FLOP; those that are 0 have no entry.
using FlopsByWidth = std::map<std::string, std::uint64_t>;

// "fma", "add", ... -> lanes that took part; those that are 0 have no entry.
using ExactOperations = std::map<std::string, std::uint64_t>;

struct ExactFunction {
  std::string name;     // "sgemm_kernel_HASWELL"; "": no symbol covers its code
  std::string library;  // its file; "[vdso]"; "": code that stands in none
  std::uint64_t instructions = 0, flops = 0;
  FlopsByWidth flops_by_width;
  ExactOperations operations;
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;
};

struct ExactCount {
  std::uint64_t instructions = 0, flops = 0;
  std::map<std::string, std::uint64_t>
      flops_by_precision;  // "half", "single", "double", "extended"
  FlopsByWidth flops_by_width;
  ExactOperations operations;
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;
  std::uint64_t masked_lanes_off = 0;
  std::uint64_t system_calls = 0;
  std::vector<ExactFunction> by_function;  // most FLOP first, then most instructions
};

// One piece of work that was to be counted.
struct ExactWork {
  std::optional<ExactCount> count;  // absent: `reason`
  // By single steps as well, equal in every field.
  bool stepped = false;
  std::string reason;               // why there is no count
  std::optional<double> to_model;   // FLOP over those of the model; absent where that has none
  std::vector<std::string> excess;  // where FLOP beyond the model come from, a sentence each
};

// The function with the most FLOP, and the width of most of them.
struct ExactHotspot {
  const ExactFunction* function = nullptr;
  std::string width;  // "256"
};
// Absent where nothing executed a FLOP, or nobody named its functions.
std::optional<ExactHotspot> hotspot_of(const ExactCount& count);

template <>
const Record& record<ExactFunction>();
template <>
const Record& record<ExactCount>();
template <>
const Record& record<ExactWork>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::ExactCount, model::ExactFunction, model::ExactWork, model::ExactHotspot,
    model::hotspot_of;
}  // namespace hwprof::report
