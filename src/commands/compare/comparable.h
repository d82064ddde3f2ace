// What of a report can be held against another: its rows with their raw times, and the conditions
// under which they were measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/base/result.h"
#include "src/measure/comparison.h"
#include "src/model/comparison_record.h"

namespace hwprof {

// Of one call, where the report was made with --exact.
struct ExactTotals {
  std::uint64_t instructions = 0, flops = 0, bytes = 0;
  [[nodiscard]] std::uint64_t by(ExactBy what) const;
};

struct ComparableRow {
  std::string group, name;     // together they identify the row
  std::string label;           // short: "conv1d simd"
  std::vector<RunTimes> runs;  // of a file one; of a repeated command one a repeat
  bool exact_asked = false;    // --exact was given
  std::optional<ExactTotals> exact = {};
  std::string exact_reason = {};  // why there is none although it was asked for
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
// A row that was measured beside other load says so, unless `accept_busy`.
Result<Comparable> read_comparable(const std::string& path, bool accept_busy);
// The same of text that a command printed.
Result<Comparable> parse_comparable(const std::string& command, const std::string& text);

// The row of `in` that has the names of `row`; null: none has.
const ComparableRow* find_row(const Comparable& in, const ComparableRow& row);

// Several runs of one side as one: the rows of the first, each with a time a run,
// absent where a run lacks the row.
Comparable merge_runs(std::vector<Comparable> runs);

}  // namespace hwprof
