// Two commands run by turns: A, B, B, A, A, B, ... Neighbours meet the same mood of the machine, so
// the ratio of a pair says more than two times far apart do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "src/base/result.h"
#include "src/commands/compare/comparable.h"
#include "src/report/render/write_report.h"

namespace hwprof {

struct TurnsOptions {
  std::string baseline, other;                     // for /bin/sh
  double budget_s = 60;                            // no further pair is begun that would not fit
  std::optional<std::size_t> runs = std::nullopt;  // a side; absent: as many as the budget holds
  // Both run at once, each stopped while the other has its slice; absent: each run is whole.
  std::optional<std::uint64_t> slice_ms = std::nullopt;
};

struct Turns {
  Comparable baseline, other;  // each row with a time a run, in the order of the pairs
  std::string stopped;         // why before the budget was used up; empty: it was not
};

// What a command is, its standard output says: a JSON report of hwprof is compared row by row, of
// any other program the wall time and the CPU time are, after a first pair that does not count.
// Fault::kEnvironment where one fails, or where less than two pairs were measured; no process of
// theirs is then left.
Result<Turns> run_by_turns(const TurnsOptions& options);

// Runs, compares and reports: the exit code.
Result<int> compare_by_turns(const TurnsOptions& turns, const Output& output);

}  // namespace hwprof
