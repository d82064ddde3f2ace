#include "src/observe/threads/throttling.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/base/clock.h"
#include "src/base/text.h"

namespace hwprof::observe {
namespace {

constexpr double kPauseNs = 100e6;

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Of the line "4:cpu,cpuacct:/a/b", or of v2's "0::/a/b".
std::optional<std::string> path_in(std::string_view cgroups, bool v2) {
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto first = line.find(':');
    if (first == std::string_view::npos) continue;
    const auto second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? controllers.empty() : has_word(controllers, "cpu"))
      return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// From `path` up to what the mount shows, whose root in the hierarchy is `root`.
void add_groups(const std::string& path, std::string_view root, const std::string& mounted, bool v2,
                std::vector<CpuGroup>& groups) {
  std::string below = path;
  if (root != "/") {
    const bool inside =
        path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
    // In a namespace of its own the group's path is told from there, and the mount is all of it.
    below = inside ? path.substr(root.size()) : "";
  }
  // "/.." and the like: a group outside of this process's namespace. Without a slash: not the
  // kernel's, but of whoever has mounted something over that file.
  if (!below.starts_with('/') || below.find("/..") != std::string::npos) below.clear();
  while (true) {
    while (below.ends_with('/')) below.pop_back();
    groups.push_back({mounted + below, v2});
    if (below.empty()) return;
    below.resize(below.rfind('/'));
  }
}

}  // namespace

std::vector<CpuGroup> cpu_groups(std::string_view cgroups, std::string_view mounts) {
  std::vector<CpuGroup> groups;
  for (const std::string_view line : split(mounts, '\n')) {
    // "31 25 0:27 ROOT FOLDER OPTIONS ... - TYPE SOURCE SUPER-OPTIONS" (proc(5))
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto left = split(line.substr(0, dash), ' ');
    const auto right = split(line.substr(dash + 3), ' ');
    constexpr std::size_t kRoot = 3, kFolder = 4;
    if (left.size() <= kFolder || right.size() < 3) continue;
    const bool v2 = right[0] == "cgroup2";
    if (!v2 && (right[0] != "cgroup" || !has_word(right[2], "cpu"))) continue;
    if (const auto path = path_in(cgroups, v2))
      add_groups(*path, left[kRoot], std::string(left[kFolder]), v2, groups);
  }
  return groups;
}

std::optional<GroupStat> parse_cpu_stat(std::string_view text) {
  constexpr double kNsPerUs = 1e3;
  GroupStat stat;
  bool any = false;
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() != 2) continue;
    const auto value = parse_unsigned(words[1]);
    if (!value) continue;
    if (words[0] == "nr_throttled") {
      stat.times = *value;
      any = true;
    }
    if (words[0] == "throttled_time") stat.throttled_ns = static_cast<double>(*value);
    if (words[0] == "throttled_usec") stat.throttled_ns = kNsPerUs * static_cast<double>(*value);
  }
  return any ? std::optional(stat) : std::nullopt;
}

std::optional<double> quota_of(std::string_view quota_us, std::string_view period_us) {
  const auto quota = parse_unsigned(trim(quota_us)), period = parse_unsigned(trim(period_us));
  if (!quota || !period || *period == 0) return std::nullopt;  // -1, "max"
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> parse_cpu_max(std::string_view text) {
  const auto words = split(trim(text), ' ');
  return words.size() == 2 ? quota_of(words[0], words[1]) : std::nullopt;
}

void Throttling::read() {
  const auto text = [](const CpuGroup& group, const char* name) {
    return read_text_file(group.folder + "/" + name).value_or("");
  };
  quota_cpus_.reset();
  for (const CpuGroup& group : groups_) {
    const std::string content = text(group, "cpu.stat");
    // A group without the controller, as the root is, cannot be throttled.
    readable_ = readable_ || !content.empty();
    const auto stat = parse_cpu_stat(content);
    if (!stat) continue;
    const auto [seen, added] = seen_.try_emplace(group.folder);
    if (added) seen->second.first = *stat;
    seen->second.last = *stat;
    const auto quota =
        group.v2 ? parse_cpu_max(text(group, "cpu.max"))
                 : quota_of(text(group, "cpu.cfs_quota_us"), text(group, "cpu.cfs_period_us"));
    if (!quota) continue;
    seen->second.quota_cpus = quota;
    quota_cpus_ = std::min(*quota, quota_cpus_.value_or(*quota));
  }
}

void Throttling::look() {
  const double now_ns = wall_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kPauseNs;
  const auto cgroups = read_text_file(fmt::format("/proc/{}/cgroup", root_));
  if (cgroups && *cgroups != cgroups_ && !trim(*cgroups).empty()) {
    cgroups_ = *cgroups;
    groups_ = cpu_groups(cgroups_, read_text_file("/proc/self/mountinfo").value_or(""));
  }
  read();
}

std::optional<ThrottledTime> Throttling::finish() {
  read();
  if (!readable_) return std::nullopt;
  ThrottledTime most;
  for (const auto& [folder, group] : seen_) {
    const double ns = group.last.throttled_ns - group.first.throttled_ns;
    if (ns > most.ns) most = {group.last.times - group.first.times, ns, group.quota_cpus};
  }
  // Of a process that ends, version 1 says that it is in the root, which has none.
  if (quota_cpus_) most.quota_cpus = quota_cpus_;
  return most;
}

std::string Throttling::reason() const {
  return groups_.empty() ? "no cgroup with a CPU controller can be seen"
                         : "cpu.stat of " + groups_.front().folder + " cannot be read";
}

}  // namespace hwprof::observe
