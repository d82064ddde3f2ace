// How long the kernel kept a program from its CPUs because a quota was used up: CPU controllers of
// cgroup v1 and v2, from the program's own group up to the root, since any of them may bind. Found
// by the mount table, whose root shows where in the hierarchy a container's mount begins.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof::observe {

struct CpuGroup {  // a cgroup with a CPU controller
  std::string folder;
  bool v2 = false;
};
// Pure. `cgroups`: /proc/PID/cgroup; `mounts`: /proc/PID/mountinfo. Innermost first; empty: none
// can be seen.
std::vector<CpuGroup> cpu_groups(std::string_view cgroups, std::string_view mounts);

struct GroupStat {
  std::uint64_t times = 0;  // periods in which it was throttled
  double throttled_ns = 0;  // over all CPUs
};
std::optional<GroupStat> parse_cpu_stat(std::string_view text);  // cpu.stat, v1 and v2
std::optional<double> parse_cpu_max(std::string_view text);      // "100000 100000"; absent: max
std::optional<double> quota_of(std::string_view quota_us, std::string_view period_us);  // v1

struct ThrottledTime {
  std::uint64_t times = 0;
  double ns = 0;
  std::optional<double> quota_cpus;  // the least on the way up; absent: none
};

class Throttling {
 public:
  explicit Throttling(pid_t root) : root_(root) { look(); }
  void look();  // a few times a second at most
  // Of the group that was throttled most. Absent: reason().
  std::optional<ThrottledTime> finish();
  [[nodiscard]] std::string reason() const;

 private:
  struct Group {
    GroupStat first, last;
    std::optional<double> quota_cpus;
  };
  void read();

  pid_t root_;
  double next_ns_ = 0;
  std::vector<CpuGroup> groups_;
  bool readable_ = false;
  std::string cgroups_;                // as /proc has it: the program may be moved
  std::map<std::string, Group> seen_;  // by folder
  std::optional<double> quota_cpus_;
};

}  // namespace hwprof::observe
