#include "src/observe/proc/foreign_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/text.h"
#include "src/base/untrusted_file.h"

namespace hwprof::observe {
namespace {

ForeignOpener foreign_opener = open_foreign_here;

UniqueFd open_by_name(const std::string& name, int flags) {
  return UniqueFd(::open(name.c_str(), flags | O_CLOEXEC));
}

// As the user, so that it is the root of a program that is his; of a process in a user namespace
// that root made, the kernel gives it to root alone.
UniqueFd open_root(const std::string& name, const Account* user) {
  constexpr int kFlags = O_PATH | O_DIRECTORY;
  if (user != nullptr) {
    const ActingAs acting(*user);
    if (UniqueFd root = acting.valid() ? open_by_name(name, kFlags) : UniqueFd(); root.valid())
      return root;
  }
  return open_by_name(name, kFlags);
}

// The links of another root lead to places in it (openat2: Linux 5.6).
UniqueFd find_in_root(const std::string& path, const UniqueFd& folder) {
  if (!folder.valid()) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, folder.get(), path.c_str(), &how, sizeof how)));
}

// In procfs "self" is whoever opens.
UniqueFd reopen_regular(const UniqueFd& found) {
  struct stat status {};
  struct statfs system {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0 ||
      ::fstatfs(found.get(), &system) != 0) {
    return {};
  }
  if (!S_ISREG(status.st_mode) || system.f_type == PROC_SUPER_MAGIC) {
    errno = EINVAL;
    return {};
  }
  return reopen(found, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

}  // namespace

// What the process itself is takes rights on it. What it has opened, or finds at a path, takes the
// user's: only the way to it does not.
UniqueFd open_foreign_here(const ForeignFile& file, const Account* on_behalf_of) {
  const auto of_process = [&](std::string_view name) {
    return fmt::format("/proc/{}/{}", file.pid, name);
  };
  UniqueFd way;
  switch (file.kind) {
    case ForeignFile::Kind::kMaps:
      return open_by_name(of_process("maps"), O_RDONLY);
    case ForeignFile::Kind::kPages:
      return open_by_name(of_process("smaps"), O_RDONLY);
    case ForeignFile::Kind::kPagesByNode:
      return open_by_name(of_process("numa_maps"), O_RDONLY);
    case ForeignFile::Kind::kEnvironment:
      return open_by_name(of_process("environ"), O_RDONLY);
    case ForeignFile::Kind::kProgram:
      return open_by_name(of_process("exe"), O_PATH);
    case ForeignFile::Kind::kMemory:
      return open_by_name(of_process("mem"), O_RDONLY);
    case ForeignFile::Kind::kMapped:
      way = open_by_name(of_process(fmt::format("map_files/{:x}-{:x}", file.start, file.end)),
                         O_PATH);
      break;
    case ForeignFile::Kind::kInRoot:
      way = open_root(of_process("root"), on_behalf_of);
      break;
    default:
      errno = EINVAL;
      return {};
  }
  std::optional<ActingAs> user;
  if (on_behalf_of != nullptr && !user.emplace(*on_behalf_of).valid()) return {};
  if (file.kind == ForeignFile::Kind::kInRoot) way = find_in_root(file.path, way);
  return reopen_regular(way);
}

UniqueFd open_regular_in(const UniqueFd& root, const std::string& path) {
  return reopen_regular(find_in_root(path, root));
}

UniqueFd open_foreign_here(const ForeignFile& file) { return open_foreign_here(file, nullptr); }

UniqueFd open_foreign(const ForeignFile& file) { return foreign_opener(file); }

void open_foreign_with(ForeignOpener opener) { foreign_opener = opener; }

std::optional<std::string> read_maps(pid_t pid) {
  const UniqueFd file = open_foreign({.kind = ForeignFile::Kind::kMaps, .pid = pid, .path = {}});
  return file.valid() ? read_text(file.get()) : std::nullopt;
}

}  // namespace hwprof::observe
