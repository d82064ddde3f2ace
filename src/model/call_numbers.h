// Which numbers the calls of a BLAS met that are none, or cost time: denormal ones, NaN, infinity.
#pragma once

#include <cstdint>
#include <optional>

#include "src/model/fields.h"

namespace hwprof::model {

// All absent where nobody looked: Called::numbers_reason.
struct CallNumbers {
  // By the flags of the calling thread's arithmetic, in `flag_calls` of the calls.
  std::optional<std::uint64_t> flag_calls, denormal_calls, invalid_calls, flushed_calls;
  std::optional<double> denormal_time_ns;
  // Time of a call with denormal numbers / without, of one shape; absent where either were few.
  std::optional<double> denormal_slowdown;
  // By a few elements of the operands of some calls.
  std::optional<std::uint64_t> sampled_operands, nan_operands, infinite_operands, denormal_operands;
};

// Calls of each kind that make a mean to compare.
inline constexpr std::uint64_t kEnoughCallsOfAKind = 20;

template <>
const Record& record<CallNumbers>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::CallNumbers, model::kEnoughCallsOfAKind;
}  // namespace hwprof::report
