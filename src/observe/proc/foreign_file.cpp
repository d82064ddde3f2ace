#include "src/observe/proc/foreign_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "src/base/text.h"

namespace hwprof::observe {
namespace {

ForeignOpener foreign_opener = open_foreign_here;

// The links of another root lead to places in it (openat2: Linux 5.6).
UniqueFd find_in_root(const ForeignFile& file) {
  const std::string root = fmt::format("/proc/{}/root", file.pid);
  const UniqueFd folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return {};
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, folder.get(), file.path.c_str(), &how, sizeof how)));
}

// Looked at before it is opened: to open a device may do something, to open a FIFO waits.
UniqueFd reopen_regular(const UniqueFd& found) {
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) return {};
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return {};
  }
  const std::string name = fmt::format("/proc/self/fd/{}", found.get());
  return UniqueFd(::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

}  // namespace

UniqueFd open_foreign_here(const ForeignFile& file) {
  const auto open = [&](const std::string& name, int flags) {
    return UniqueFd(::open(name.c_str(), flags | O_CLOEXEC));
  };
  switch (file.kind) {
    case ForeignFile::Kind::kMaps:
      return open(fmt::format("/proc/{}/maps", file.pid), O_RDONLY);
    case ForeignFile::Kind::kEnvironment:
      return open(fmt::format("/proc/{}/environ", file.pid), O_RDONLY);
    case ForeignFile::Kind::kProgram:
      return open(fmt::format("/proc/{}/exe", file.pid), O_PATH);
    case ForeignFile::Kind::kMemory:
      return open(fmt::format("/proc/{}/mem", file.pid), O_RDONLY);
    case ForeignFile::Kind::kMapped:
      return reopen_regular(open(
          fmt::format("/proc/{}/map_files/{:x}-{:x}", file.pid, file.start, file.end), O_PATH));
    case ForeignFile::Kind::kInRoot:
      return reopen_regular(find_in_root(file));
  }
  errno = EINVAL;
  return {};
}

UniqueFd open_foreign(const ForeignFile& file) { return foreign_opener(file); }

void open_foreign_with(ForeignOpener opener) { foreign_opener = opener; }

std::optional<std::string> read_maps(pid_t pid) {
  const UniqueFd file = open_foreign({.kind = ForeignFile::Kind::kMaps, .pid = pid, .path = {}});
  return file.valid() ? read_text(file.get()) : std::nullopt;
}

}  // namespace hwprof::observe
