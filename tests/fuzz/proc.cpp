// What the kernel says of processes and CPUs in /proc and in cgroups. Names, paths and variables in
// it are a user's.
#include <cmath>
#include <map>
#include <string>

#include "src/base/account.h"
#include "src/blas/evidence/process_blas.h"
#include "src/commands/inspect/doctor_checks.h"
#include "src/observe/proc/memory_areas.h"
#include "src/observe/proc/process_list.h"
#include "src/observe/proc/processes.h"
#include "src/observe/threads/thread_clocks.h"
#include "src/observe/threads/thread_watch.h"
#include "src/observe/threads/throttling.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;
using namespace hwprof::observe;

void check_memory(Feed feed) {
  const std::string_view smaps = feed.take(feed.number<std::uint16_t>());
  const auto areas = parse_smaps(smaps, 1);
  for (const MappedArea& one : areas) {
    must(one.area.resident_bytes > 0 && one.area.resident_bytes <= one.area.bytes);
    must(one.area.huge_bytes <= one.area.resident_bytes);
  }
  const auto bytes = parse_numa_maps(feed.rest(), areas);
  must(bytes.empty() || !areas.empty());
  for (const model::MemoryNode& node : memory_nodes(bytes, {{0, 30}, {1, 10}}))
    must(!node.run_share || (*node.run_share >= 0 && *node.run_share <= 1));
}

void check_process(Feed feed) {
  const std::string_view stat = feed.take(feed.number<std::uint16_t>());
  const std::string status(feed.rest());
  if (const auto process = listed_process(7, stat, status)) {
    must(process->pid == 7 && std::isfinite(process->cpu_s) && process->cpu_s >= 0);
    const auto used = cpus_used_in_life(*process, 1e6);
    must(!used || (std::isfinite(*used) && *used >= 0));
  }
  running_cpu(stat);
  effective_user(status);
  account_in(status, 7);
}

void check_groups(Feed feed) {
  const std::string_view cgroups = feed.take(feed.number<std::uint16_t>());
  const Job job = job_of_cgroup(cgroups);
  must(job.name.empty() == job.from.empty());
  const std::string_view mounts = feed.rest();
  // None of a folder beside the mounted one: what leads there is cut off.
  if (mounts.find("/..") == std::string_view::npos) {
    for (const CpuGroup& group : cpu_groups(cgroups, mounts))
      must(group.folder.find("/..") == std::string::npos);
  }
  if (const auto stat = parse_cpu_stat(mounts)) must(std::isfinite(stat->throttled_ns));
  if (const auto quota = parse_cpu_max(mounts)) must(std::isfinite(*quota) && *quota >= 0);
}

void check_cpus(std::string_view text) {
  for (const auto& [cpu, ns] : parse_busy(text, 1e7)) must(std::isfinite(ns) && ns >= 0);
  const auto ticks = parse_cpu_ticks(text);
  for (const auto& [cpu, use] : cpu_use({}, ticks)) must(use.busy >= 0);
  std::map<unsigned, CpuTicks> none;
  for (const auto& [cpu, one] : ticks) none[cpu] = {};
  for (const auto& [cpu, use] : cpu_use(none, ticks))
    must(use.busy >= 0 && use.busy <= 1 && use.steal >= 0 && use.steal <= 1);
  parse_schedstat(text);
  chosen_setting(text);
}

void check_variables(std::string_view text) {
  const blas::Variables variables = blas::telling_variables(text);
  for (const auto& [name, value] : variables) must(!name.empty());
  job_of_variables(variables);
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  switch (feed.below(5)) {
    case 0:
      return check_memory(feed);
    case 1:
      return check_process(feed);
    case 2:
      return check_groups(feed);
    case 3:
      return check_cpus(feed.rest());
    default:
      return check_variables(feed.rest());
  }
}
