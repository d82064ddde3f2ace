// How busy each thread of this process is while some work runs.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hwprof {

struct ThreadShares {
  std::vector<double>
      shares;          // CPU time over elapsed time, highest first; those below 1 % left out
  std::string reason;  // why there are none
};

// Calls `run` again and again for `seconds`, once at least. All threads of the process count, those
// that a library started too.
ThreadShares measure_thread_shares(const std::function<void()>& run, double seconds);

}  // namespace hwprof
