#include "src/observe/proc/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "src/observe/proc/processes.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

// The process in "PREFIX4711-XXXXXX"; 0 for another name.
pid_t owner_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return 0;
  name.remove_prefix(prefix.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc{} && end != name.data() + name.size() && *end == '-' ? pid : 0;
}

// Only of this user's own: another one may have put a folder there in whose file system whoever
// looks waits, root as well. Behind a mount is another file system, which is asked nothing
// (openat2: Linux 5.6). The process may be one of another PID namespace that shares the folder: it
// holds the lock then.
bool is_left_over(const UniqueFd& place, const std::string& name, pid_t owner) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS;
  const UniqueFd seen(
      static_cast<int>(::syscall(SYS_openat2, place.get(), name.c_str(), &how, sizeof how)));
  struct stat status {};
  if (!seen.valid() || ::fstat(seen.get(), &status) != 0) return false;
  if (status.st_uid != ::geteuid() || !has_ended(owner)) return false;
  const UniqueFd folder(::openat(seen.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return folder.valid() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_leftovers(const fs::path& place, std::string_view prefix) {
  std::error_code ignored;
  const UniqueFd here(::open(place.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const auto& entry : fs::directory_iterator(place, ignored)) {
    const std::string name = entry.path().filename().string();
    const pid_t owner = owner_of(name, prefix);
    if (owner > 0 && is_left_over(here, name, owner)) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Result<PrivateFolder> PrivateFolder::make(std::string_view purpose) {
  std::error_code error;
  const fs::path place = fs::temp_directory_path(error);
  const std::string prefix = fmt::format("hwprof-{}-", purpose);
  std::string path = place / fmt::format("{}{}-XXXXXX", prefix, ::getpid());
  if (error || ::mkdtemp(path.data()) == nullptr) {
    return environment_error(
        errno, fmt::format("cannot make a temporary folder {}: {}", path, std::strerror(errno)));
  }
  PrivateFolder folder;
  folder.path_ = path;
  folder.lock_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.lock_.valid()) static_cast<void>(::flock(folder.lock_.get(), LOCK_EX | LOCK_NB));
  remove_leftovers(place, prefix);
  return folder;
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

PrivateFolder::~PrivateFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace hwprof
