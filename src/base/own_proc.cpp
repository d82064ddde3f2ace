#include "src/base/own_proc.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/private_mount.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

// A line of /proc/PID/mountinfo (proc(5)); "" what it has not.
struct Mount {
  std::string_view place, options, file_system, its_options;
};

Mount mount_of(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  constexpr std::size_t kPlace = 4, kOptions = 5;
  if (fields.size() <= kOptions || fields.end() - dash < 4) return {};
  return {fields[kPlace], fields[kOptions], dash[1], dash[3]};
}

bool is_read_only(std::string_view options) {
  return options == "ro" || options.starts_with("ro,");
}

// The one that is seen at /proc, where another one in its place shows the same: nothing lies on it.
const Mount* replaceable_proc(const std::vector<Mount>& mounts) {
  const Mount* proc = nullptr;
  for (const Mount& mount : mounts) {
    if (mount.place == "/proc") proc = &mount;
    if (mount.place.starts_with("/proc/") && mount.place != "/proc/sys/fs/binfmt_misc")
      return nullptr;
  }
  const bool is_other = proc == nullptr || proc->file_system != "proc" ||
                        is_read_only(proc->options) || is_read_only(proc->its_options);
  return is_other ? nullptr : proc;
}

// Of this process and its namespace: the machine's /proc may be another one's (nsenter).
bool is_machines() {
  std::array<char, 16> self{};
  const ssize_t length = ::readlink("/proc/self", self.data(), self.size());
  return length > 0 && std::string_view(self.data(), static_cast<std::size_t>(length)) ==
                           std::to_string(::getpid());
}

// No name of this process is looked up in the /proc of all: that may be held from its first moment
// on.
void mount_own_proc() {
  const UniqueFd first = private_mount("proc");
  if (!first.valid() || !is_machines()) return;
  const UniqueFd file(::openat(first.get(), "self/mountinfo", O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_text(file.get()) : std::nullopt;
  if (!text) return;
  std::vector<Mount> mounts;
  for (const std::string_view line : split(*text, '\n')) mounts.push_back(mount_of(line));
  const Mount* replaced = replaceable_proc(mounts);
  if (replaced == nullptr) return;
  // With its options (hidepid=): what hwprof starts with a user's rights shall see no more.
  const UniqueFd own = private_mount("proc", replaced->its_options);
  if (!own.valid() || ::unshare(CLONE_NEWNS) != 0) return;
  // Without this the mount would be everybody's.
  if (::syscall(SYS_mount, nullptr, "/proc", nullptr, MS_PRIVATE, nullptr) != 0) return;
  ::syscall(SYS_move_mount, own.get(), "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH);
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
