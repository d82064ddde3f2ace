#include "src/observe/monitor/looks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "src/base/text.h"
#include "src/observe/proc/child.h"
#include "src/observe/proc/processes.h"

namespace hwprof::observe {
namespace {

using std::chrono::milliseconds;

constexpr int kRounds = 8;  // a program that starts and ends others without end is not waited for

// An ordinary user's hwprof has no rights to hold it up for.
Result<std::string> look(Errands& errands, milliseconds patience, const std::string& folder,
                         const Errand& errand) {
  return ::geteuid() == 0 ? errands.run(patience, folder, errand) : errand();
}

std::string folder_of(pid_t pid) { return fmt::format("/proc/{}", pid); }

Result<std::string> running_of(const std::vector<pid_t>& adopted) {
  std::string text;
  for (const Orphans::Left& one : Orphans::running(adopted)) text += text_of(one);
  return text;
}

std::vector<LeftProcess> nameless(const std::vector<pid_t>& pids) {
  std::vector<LeftProcess> processes;
  for (const pid_t pid : pids) processes.push_back({pid, "not known"});
  return processes;
}

}  // namespace

Result<Account> account_of(pid_t pid, milliseconds patience) {
  Errands errands;
  const auto status = look(errands, patience, folder_of(pid), [pid]() -> Result<std::string> {
    return read_text_file(fmt::format("/proc/{}/status", pid)).value_or("");
  });
  if (!status && status.error().code == ETIMEDOUT) {
    return environment_error(
        ETIMEDOUT,
        fmt::format("whose process {0} is cannot be read: a process holds /proc/{0}", pid));
  }
  return account_in(status.value_or(""), pid);
}

Account account_of_second_worker(const Account& user) {
  constexpr uid_t kNoUser = 65533;
  if (::geteuid() != 0 || user.uid == 0 || !is_mapped(kNoUser)) return user;
  return {.uid = kNoUser, .gid = kNoUser, .groups = {}, .name = {}, .home = {}};
}

double waited_for_cpu(Errands& errands, pid_t pid, milliseconds patience) {
  const auto waited = look(errands, patience, folder_of(pid), [pid]() -> Result<std::string> {
    const auto seconds = waited_for_cpu_s(pid);
    return seconds ? fmt::format("{:.0f}", 1e9 * *seconds) : "";
  });
  const auto ns = parse_unsigned(waited ? *waited : "");
  return ns ? 1e-9 * static_cast<double>(*ns) : -1;
}

std::vector<LeftProcess> left_behind(Errands& errands,
                                     const std::function<std::vector<pid_t>()>& adopted,
                                     milliseconds patience) {
  std::vector<LeftProcess> left;
  std::vector<pid_t> asked, now = adopted();
  for (int round = 0; round < kRounds && now != asked; ++round) {
    asked = std::exchange(now, {});
    const auto running = look(errands, patience, "a folder in /proc of what the command left",
                              [&] { return running_of(asked); });
    if (!running) return nameless(asked);
    left = processes_in(*running);
    now = adopted();
  }
  return left;
}

}  // namespace hwprof::observe
