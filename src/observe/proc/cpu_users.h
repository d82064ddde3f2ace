// Who else used the CPUs on which work was measured: the CPU time of other processes, from
// /proc/PID/stat at the beginning and at the end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "src/model/record.h"

namespace hwprof {

class CpuUsers {
 public:
  // From now on, those that last ran on one of `cpus`, but this process.
  explicit CpuUsers(CpuList cpus);

  // Those that took a hundredth of the time since then or more, the most first, three at most.
  // What ended meanwhile is not among them, nor what /proc hides from this user.
  [[nodiscard]] std::vector<report::CpuUser> since() const;

 private:
  CpuList cpus_;
  std::map<pid_t, std::uint64_t> ticks_;
  double begin_ns_;
};

}  // namespace hwprof
