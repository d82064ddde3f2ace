// What the CSV writers share: RFC 4180, but lines end in a plain newline, as Unix tools expect.
// Internal to src/report.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/model/record.h"

namespace hwprof::report::csv {

using Cells = std::vector<std::pair<std::string, std::string>>;  // header -> cell

// Full precision; empty where it is absent or not finite.
std::string number(const std::optional<double>& value);
// The names of the cells, or what stands in them.
std::string line_of(const Cells& cells, bool header);

}  // namespace hwprof::report::csv

namespace hwprof::report {

// What identifies the run, then the row and its counters; every row of a profile has the same
// names.
csv::Cells profile_cells(const Profile& profile, const Row& row);

}  // namespace hwprof::report
