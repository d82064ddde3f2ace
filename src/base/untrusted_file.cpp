#include "src/base/untrusted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hwprof {
namespace {

// Where no link may be, no magic link (/proc/PID/fd/N) may lead out of the folder either. Linux
// before 5.6, and some filters of system calls, have no openat2.
UniqueFd find_quietly(const std::string& path, bool follow_link) {
  const int flags = O_PATH | O_CLOEXEC | (follow_link ? 0 : O_NOFOLLOW);
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags);
  how.resolve = follow_link ? 0 : RESOLVE_NO_MAGICLINKS;
  UniqueFd file(static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
  if (file.valid() || (errno != ENOSYS && errno != EPERM)) return file;
  return UniqueFd(::open(path.c_str(), flags));
}

tl::unexpected<Error> not_believed(const std::string& path, std::string_view why) {
  return environment_error(0, fmt::format("{} {}: it is not believed", path, why));
}

Result<void> check_size(const struct stat& status, const std::string& path,
                        const FileRules& rules) {
  if (static_cast<std::uint64_t>(status.st_size) <= rules.most_bytes) return {};
  return environment_error(EFBIG, fmt::format("{} has {} bytes, and no more than {} are read", path,
                                              status.st_size, rules.most_bytes));
}

}  // namespace

UniqueFd reopen(const UniqueFd& found, int flags) {
  const std::string name = fmt::format("/proc/self/fd/{}", found.get());
  return UniqueFd(::open(name.c_str(), flags | O_CLOEXEC));
}

Result<UniqueFd> open_untrusted(const std::string& path, const FileRules& rules) {
  const auto cannot_open = [&](int code) {
    return environment_error(code, fmt::format("cannot open {}: {}", path, std::strerror(code)));
  };
  const UniqueFd found = find_quietly(path, rules.follow_link);
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) {
    const int code = errno;
    if (code == ELOOP && !rules.follow_link) return not_believed(path, "is a symbolic link");
    return cannot_open(code);
  }
  if (S_ISLNK(status.st_mode)) return not_believed(path, "is a symbolic link");
  if (!S_ISREG(status.st_mode)) return not_believed(path, "is no regular file");
  UniqueFd file = reopen(found, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file.valid()) return cannot_open(errno);
  if (rules.owner && status.st_uid != *rules.owner && status.st_uid != 0) {
    return not_believed(
        path, fmt::format("belongs to user {}, not to user {}", status.st_uid, *rules.owner));
  }
  TRY(check_size(status, path, rules));
  return file;
}

Result<std::string> read_untrusted(const std::string& path, const FileRules& rules) {
  TRY(const UniqueFd file, open_untrusted(path, rules));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0)
    return environment_error(errno, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  TRY(check_size(status, path, rules));  // it may have grown since
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = retry_interrupted([&] {
      return ::pread(file.get(), &bytes[got], bytes.size() - got, static_cast<off_t>(got));
    });
    if (n < 0)
      return environment_error(errno,
                               fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (n == 0) return environment_error(0, fmt::format("{} was cut off while it was read", path));
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

}  // namespace hwprof
