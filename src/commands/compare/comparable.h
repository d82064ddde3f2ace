// What of a report can be held against another: its rows with their raw times, and the conditions
// under which they were measured.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/measure/comparison.h"
#include "src/model/comparison_record.h"

namespace hwprof {

struct ComparableRow {
  std::string group, name;  // together they identify the row
  std::string label;        // short: "conv1d simd"
  TimeSample time;
};

struct Comparable {
  report::ComparedFile file;
  std::vector<ComparableRow> rows;
  // What ought to be the same, in words: "kernel" -> "6.1.0-26-amd64". The same of each schema.
  std::vector<std::pair<std::string, std::string>> conditions;
  std::optional<double> peak_gflops;
  std::string peak_of;  // machine, instruction set and threads of the peak; empty: unknown
};

// Knows hwprof.profile/1, hwprof.run/1 and hwprof.sweep/1. Fault::kUsage as read_report() and
// from_json(), and for a row that has no name or a time that is none.
Result<Comparable> read_comparable(const std::string& path);

}  // namespace hwprof
