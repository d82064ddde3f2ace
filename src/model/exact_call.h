// A call of a program that was observed, or an entry to a region of it, counted instruction by
// instruction: `run --exact`, `run --exact-region`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/model/exact_record.h"

namespace hwprof::model {

struct ExactCall {
  std::string symbol;                    // of the routine, or
  std::string region;                    // the name of a region of libhwprof
  std::uint64_t call = 0;                // its number among those of either, over all processes
  std::string caller, library;           // files: who called, and which one served it
  std::optional<std::uint64_t> m, n, k;  // absent: the shape cannot be read
  std::string form;                      // of its matrices: "A transposed"; empty: plain
  // Of the operation, 2 m n k of a product; what the program has declared for the region.
  std::optional<double> model_flops;
  std::optional<ExactCount> count;  // absent: `reason`
  std::optional<double> to_model;   // FLOP over those of the model
  std::string reason;               // why there is no count
};

// "cblas_sgemm, call 2"; "region conv1, entry 2".
std::string label_of(const ExactCall& call);

template <>
const Record& record<ExactCall>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::ExactCall;
using model::label_of;
}  // namespace hwprof::report
