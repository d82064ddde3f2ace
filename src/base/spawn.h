// Runs a program with a deadline, without a shell, and keeps what it says: a BLAS that hangs or
// dies under a core type must cost a rung of the ladder, never the run. Children that are watched
// while they run are src/observe/proc's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

struct ChildOutput {
  std::string out;         // standard output, the first 64 KiB; standard error is thrown away
  bool timed_out = false;  // killed at the deadline
  int exit_code = 0;       // 128 + n for signal n
};

// `environment` holds all of "NAME=value". When this returns, the child has ended and is reaped,
// and no descriptor is left; none of ours but the pipe is passed on.
Result<ChildOutput> child_output(const std::string& program,
                                 const std::vector<std::string>& arguments,
                                 const std::vector<std::string>& environment,
                                 std::chrono::steady_clock::time_point deadline);

// Why a child that printed nothing did not: killed after `allowed`, or crashed.
std::string why_it_ended(const ChildOutput& output, std::chrono::milliseconds allowed);

}  // namespace hwprof
