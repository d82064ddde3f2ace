#include "src/model/call_numbers.h"

namespace hwprof::model {

template <>
const Record& record<CallNumbers>() {
  static constexpr Field kFields[] = {
      field<&CallNumbers::flag_calls>(
          "flag_calls", "",
          "calls of which the flags of the calling thread's arithmetic (SSE, AVX) are known"),
      field<&CallNumbers::denormal_calls>("denormal_calls", "",
                                          "of those: denormal operands or results"),
      field<&CallNumbers::denormal_time_ns>("denormal_time_ns", "ns", "inside these"),
      field<&CallNumbers::denormal_slowdown>(
          "denormal_slowdown", "",
          "geometric mean of their time / of that of the others of the same shape; of all: of the "
          "shape with most of their time; null: fewer than 20 of either"),
      field<&CallNumbers::invalid_calls>(
          "invalid_calls", "", "of `flag_calls`: inf - inf, 0 x inf, or a signalling NaN"),
      field<&CallNumbers::flushed_calls>("flushed_calls", "",
                                         "of `flag_calls`: denormal numbers were taken for zero"),
      field<&CallNumbers::sampled_operands>(
          "sampled_operands", "",
          "of which some elements were looked at; null: none of this routine are"),
      field<&CallNumbers::nan_operands>("nan_operands", "", "of those: NaN was among them"),
      field<&CallNumbers::infinite_operands>("infinite_operands", "", "infinity"),
      field<&CallNumbers::denormal_operands>("denormal_operands", "", "a denormal number"),
  };
  static constexpr Record kRecord{"CallNumbers", "Numbers that calls met.", kFields};
  return kRecord;
}

template <>
const Record& record<DenormalReplay>() {
  static constexpr Field kFields[] = {
      field<&DenormalReplay::m>("m", "", "of what was made again: of a large call, a part"),
      field<&DenormalReplay::n>("n", "", ""),
      field<&DenormalReplay::k>("k", "", ""),
      field<&DenormalReplay::operands_ratio>(
          "operands_ratio", "",
          "time with one operand of nothing but denormal numbers / with usual ones; median of the "
          "rounds"),
      interval<&DenormalReplay::operands_low, &DenormalReplay::operands_high>(
          "operands_ratio_ci95", "", "its 95 % interval"),
      field<&DenormalReplay::results_ratio>(
          "results_ratio", "",
          "time with normal operands of which each product is denormal / with usual ones"),
      interval<&DenormalReplay::results_low, &DenormalReplay::results_high>(
          "results_ratio_ci95", "", "its 95 % interval"),
      field<&DenormalReplay::rounds>("rounds", "", "of both kinds and the usual, interleaved"),
      field<&DenormalReplay::reason>("reason", "", "why it was not made again").null_if_empty(),
  };
  static constexpr Record kRecord{
      "DenormalReplay",
      "A call made again in its library, on one thread: what denormal numbers cost it at most is "
      "the larger of the two ratios.",
      kFields};
  return kRecord;
}

}  // namespace hwprof::model
