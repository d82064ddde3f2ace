#include "src/observe/proc/cpu_users.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "src/base/clock.h"
#include "src/base/text.h"
#include "src/observe/proc/processes.h"

namespace hwprof {
namespace {

struct UsedTicks {
  std::uint64_t ticks = 0;
  unsigned cpu = 0;  // on which it ran last
};

// Numbers of the fields as in proc_pid_stat(5).
UsedTicks ticks_in(const std::vector<std::string_view>& fields) {
  constexpr std::size_t kFirst = 3, kUser = 14, kSystem = 15, kProcessor = 39;
  const auto field = [&](std::size_t number) -> std::uint64_t {
    const std::size_t at = number - kFirst;
    return at < fields.size() ? parse_unsigned(fields[at]).value_or(0) : 0;
  };
  return {field(kUser) + field(kSystem), static_cast<unsigned>(field(kProcessor))};
}

std::map<pid_t, UsedTicks> ticks_of_all() {
  std::map<pid_t, UsedTicks> all;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", none)) {
    const std::optional<int> pid = parse_int(entry.path().filename().string());
    if (!pid || *pid == ::getpid()) continue;
    const std::optional<std::string> stat = read_text_file(entry.path() / "stat");
    if (stat) all[*pid] = ticks_in(stat_fields(*stat));
  }
  return all;
}

}  // namespace

CpuUsers::CpuUsers(CpuList cpus) : cpus_(std::move(cpus)), begin_ns_(wall_ns()) {
  for (const auto& [pid, use] : ticks_of_all()) ticks_[pid] = use.ticks;
}

std::vector<report::CpuUser> CpuUsers::since() const {
  constexpr double kLeastShare = 0.01;
  constexpr std::size_t kMost = 3;
  const double seconds = (wall_ns() - begin_ns_) * 1e-9;
  std::vector<report::CpuUser> users;
  for (const auto& [pid, use] : ticks_of_all()) {
    if (std::find(cpus_.begin(), cpus_.end(), use.cpu) == cpus_.end()) continue;
    const auto before = ticks_.find(pid);
    const std::uint64_t old = before == ticks_.end() ? 0 : before->second;
    // A process id is given again, and then to one that has used less.
    const auto ticks = static_cast<double>(use.ticks >= old ? use.ticks - old : use.ticks);
    const double share = ticks / ticks_a_second() / seconds;
    if (share < kLeastShare) continue;
    const auto name = read_text_file(fmt::format("/proc/{}/comm", pid));
    users.push_back({.pid = pid, .name = std::string(trim(name.value_or(""))), .share = share});
  }
  std::sort(users.begin(), users.end(),
            [](const auto& a, const auto& b) { return a.share > b.share; });
  if (users.size() > kMost) users.resize(kMost);
  return users;
}

}  // namespace hwprof
