// What rounds of a program as it is and with other settings say: ratios, whether the output stayed,
// and the one sentence. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/model/run_record.h"

namespace hwprof {

// How a run ended, and what it wrote to standard output.
struct RunEnding {
  int exit = 0;
  std::uint64_t bytes = 0, hash = 0;
  bool operator==(const RunEnding&) const = default;
};

// Where the program as it is ends in two ways, nothing can be said of another setting.
void judge_output(const std::vector<RunEnding>& as_is, const std::vector<RunEnding>& changed,
                  report::TriedSetting& setting);

// Whether the rule ends the rounds here: at a look, where each setting that is still run leaves a
// ratio of 1 out; at the last look in any case.
bool rounds_suffice(const report::Fix& fix);

// From the raw times and the judged output: ratios, result, worth_it; the best setting comes first
// where one wins.
void conclude(report::Fix& fix);

}  // namespace hwprof
