#include "src/observe/proc/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
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

// The process may be one of another PID namespace that shares the folder: it holds the lock then.
bool is_left_over(const fs::path& path, pid_t owner) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  if (status.st_uid != ::geteuid() && ::geteuid() != 0) return false;
  // One that was killed may wait long for whoever inherited it to take its exit code.
  const auto process = process_info(owner);
  const bool zombie = process && process->ended;
  if (!zombie && (::kill(owner, 0) == 0 || errno != ESRCH)) return false;
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  return folder.valid() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0;
}

void remove_leftovers(const fs::path& place, std::string_view prefix) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(place, ignored)) {
    const pid_t owner = owner_of(entry.path().filename().string(), prefix);
    if (owner > 0 && is_left_over(entry.path(), owner)) fs::remove_all(entry.path(), ignored);
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
