// A call of a program that was observed, counted instruction by instruction: `run --exact`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/model/exact_record.h"

namespace hwprof::model {

struct ExactCall {
  std::string symbol;
  std::uint64_t call = 0;       // its number among those of the routine, over all processes
  std::string caller, library;  // files: who called, and which one served it
  std::optional<std::uint64_t> m, n, k;  // absent: the shape cannot be read
  std::string form;                      // of its matrices: "A transposed"; empty: plain
  std::optional<double> model_flops;     // of the operation, 2 m n k of a product
  std::optional<ExactCount> count;       // absent: `reason`
  std::optional<double> to_model;        // FLOP over those of the model
  std::string reason;                    // why there is no count
};

template <>
const Record& record<ExactCall>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::ExactCall;
}  // namespace hwprof::report
