#include "src/base/own_proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

// Of proc(5), "/proc/PID/mountinfo": the fifth field is where it is mounted.
std::string_view mount_point_of(std::string_view line) {
  constexpr std::size_t kMountPoint = 4;
  const std::vector<std::string_view> fields = split(line, ' ');
  return fields.size() > kMountPoint ? fields[kMountPoint] : std::string_view();
}

bool covers_part_of_proc(std::string_view line) {
  const std::string_view at = mount_point_of(line);
  return at.starts_with("/proc/") && at != "/proc/sys/fs/binfmt_misc";
}

// Those of the file system, the last field: whom it hides processes from (hidepid=, gid=). What
// hwprof starts with a user's rights shall see no more.
std::string proc_options(const std::vector<std::string_view>& lines) {
  std::string options;
  for (const std::string_view line : lines) {
    if (mount_point_of(line) != "/proc") continue;
    options.clear();
    for (const std::string_view option : split(line.substr(line.rfind(' ') + 1), ','))
      if (option != "rw" && option != "ro")
        options.append(options.empty() ? "" : ",").append(option);
  }
  return options;
}

void mount_own_proc() {
  const auto mounts = read_text_file("/proc/self/mountinfo");
  if (!mounts) return;
  const std::vector<std::string_view> lines = split(*mounts, '\n');
  if (std::any_of(lines.begin(), lines.end(), covers_part_of_proc)) return;
  if (::unshare(CLONE_NEWNS) != 0) return;
  // Without this the mount would be everybody's.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return;
  ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, proc_options(lines).c_str());
}

// What is open cannot leave the cache.
void keep_names_known() {
  static std::vector<UniqueFd> known;
  for (const char* name :
       {"exe", "fd", "maps", "mountinfo", "ns", "stat", "status", "task", "uid_map"})
    known.emplace_back(
        ::open(fmt::format("/proc/self/{}", name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
}

}  // namespace

void guard_proc(ProcFor whom) {
  if (::geteuid() != 0) return;
  if (whom == ProcFor::kHwprofAlone) mount_own_proc();
  keep_names_known();
}

}  // namespace hwprof
