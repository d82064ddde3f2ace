// What a report needs that no field list demands: a file may hold values without those that they
// always come with. A measured record has all of this by the way it is made.
#pragma once

#include <string_view>

#include "src/model/comparison_record.h"
#include "src/model/record.h"
#include "src/model/run_record.h"
#include "src/model/sweep_record.h"

namespace hwprof {

// What is missing, in words; empty: nothing.
std::string_view what_is_missing(const model::Profile& profile);
std::string_view what_is_missing(const model::Run& run);
std::string_view what_is_missing(const model::Sweep& sweep);
std::string_view what_is_missing(const model::Comparison& comparison);
template <class Record>
std::string_view what_is_missing(const Record& /*record*/) {
  return "";
}

}  // namespace hwprof
