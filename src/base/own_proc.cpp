#include "src/base/own_proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

// Of proc(5), "/proc/PID/mountinfo": the fifth field is where it is mounted.
bool covers_part_of_proc(std::string_view line) {
  constexpr std::size_t kMountPoint = 4;
  const std::vector<std::string_view> fields = split(line, ' ');
  return fields.size() > kMountPoint && fields[kMountPoint].starts_with("/proc/") &&
         fields[kMountPoint] != "/proc/sys/fs/binfmt_misc";
}

void mount_own_proc() {
  const auto mounts = read_text_file("/proc/self/mountinfo");
  if (!mounts) return;
  const std::vector<std::string_view> lines = split(*mounts, '\n');
  if (std::any_of(lines.begin(), lines.end(), covers_part_of_proc)) return;
  if (::unshare(CLONE_NEWNS) != 0) return;
  // Without this the mount would be everybody's.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return;
  ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
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
