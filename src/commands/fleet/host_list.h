// The hosts that a merge expects: what is not in it nobody misses, so it is the scheduler's own
// list, and taken strictly. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

struct ExpectedHost {
  std::string name;
  std::string unavailable = {};  // why it can have no record, by its state: "down: disk failed"
};

// "node[01-40],login,gpu[1,3-5]-ib": numbers are as wide as the first of their range. Fault::kUsage
// for what is written wrong, stands twice or would be more than 100,000 hosts.
Result<std::vector<ExpectedHost>> parse_host_ranges(std::string_view text);

// A line a host or range, '#' begins a comment. What `sinfo -N -h -o '%N|%T|%E'` prints is read
// too: NAME|STATE|REASON. Errors name `file` and the line.
Result<std::vector<ExpectedHost>> parse_host_lines(std::string_view file, std::string_view text);

// What --expected names: a file, or ranges.
Result<std::vector<ExpectedHost>> expected_hosts(const std::string& named);

}  // namespace hwprof
