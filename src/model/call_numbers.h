// Which numbers the calls of a BLAS met that are none, or cost time: denormal ones, NaN, infinity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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

// What denormal numbers cost a call at most: made again in its library on one thread, interleaved
// with usual numbers. `reason` alone: it was not, and why.
struct DenormalReplay {
  std::uint64_t m = 0, n = 0, k = 0;  // of a large call, of a part
  // Time with an operand of nothing else, and with products that all are denormal, over the usual.
  std::optional<double> operands_ratio, operands_low, operands_high;
  std::optional<double> results_ratio, results_low, results_high;
  std::uint64_t rounds = 0;
  std::string reason;
};

// Calls of each kind that make a mean to compare.
inline constexpr std::uint64_t kEnoughCallsOfAKind = 20;

template <>
const Record& record<CallNumbers>();
template <>
const Record& record<DenormalReplay>();

}  // namespace hwprof::model

namespace hwprof::report {
using model::CallNumbers, model::DenormalReplay, model::kEnoughCallsOfAKind;
}  // namespace hwprof::report
