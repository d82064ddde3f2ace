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

}  // namespace hwprof::model
