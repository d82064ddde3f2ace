// Links are followed by hand and not by realpath(3): a dangling link must lead to the file that is
// to be created. Links of procfs (what /dev/stdout and /dev/fd/N end in) are no paths but open
// files; they are written directly, appending, as the shell's own redirection would.
#include "src/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>

#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as the kernel's own limit (path_resolution(7))
constexpr int kMostNames = 100;

tl::unexpected<Error> failed(int code, const std::string& what, std::string hint = {}) {
  return environment_error(code, what + ": " + std::strerror(code), std::move(hint));
}

// While it lives, a closed pipe is the error EPIPE, and a file that grows beyond the limit EFBIG,
// and not the end of the process.
class IgnoreSignals {
 public:
  IgnoreSignals() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &ignore, &before_[i]);
  }
  ~IgnoreSignals() {
    for (std::size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  IgnoreSignals(const IgnoreSignals&) = delete;
  IgnoreSignals& operator=(const IgnoreSignals&) = delete;

 private:
  static constexpr std::array kSignals = {SIGPIPE, SIGXFSZ};
  std::array<struct sigaction, kSignals.size()> before_ = {};
};

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

// Where everybody may write, anybody may have put a link, to have us write what it leads to, or a
// pipe, to have us wait. The kernel follows none of those (proc_sys_fs(5), protected_symlinks), but
// here links are followed by hand.
bool is_planted(const struct stat& entry, const fs::path& path) {
  struct stat folder = {};
  if (::stat(folder_of(path).c_str(), &folder) != 0) return false;
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  return (folder.st_mode & kForAll) == kForAll && entry.st_uid != ::geteuid() &&
         entry.st_uid != folder.st_uid;
}

tl::unexpected<Error> planted(const fs::path& path, const std::string& name) {
  return failed(EACCES, "cannot write " + name,
                path.string() +
                    " is another user's link or pipe in a folder that all may write: "
                    "choose another name");
}

struct Target {
  fs::path path;                    // links followed
  std::optional<struct stat> file;  // absent: to be created
  bool replace = true;              // false: written directly
};

Result<Target> resolve(const std::string& name) {
  if (name.empty()) return environment_error(ENOENT, "the name of the output file is empty");
  Target target{.path = name, .file = {}};
  struct stat info = {};
  for (int links = 0; ::lstat(target.path.c_str(), &info) == 0 && S_ISLNK(info.st_mode); ++links) {
    if (links == kMostLinks) return failed(ELOOP, "cannot write " + name);
    struct statfs system = {};
    if (::statfs(folder_of(target.path).c_str(), &system) == 0 &&
        system.f_type == PROC_SUPER_MAGIC) {
      target.replace = false;
      break;
    }
    if (is_planted(info, target.path)) return planted(target.path, name);
    std::error_code error;
    const fs::path next = fs::read_symlink(target.path, error);
    if (error) return failed(error.value(), "cannot follow the link " + target.path.string());
    target.path = folder_of(target.path) / next;  // an absolute `next` replaces the folder
  }
  if (::stat(target.path.c_str(), &info) == 0) {
    target.file = info;
    if (S_ISDIR(info.st_mode)) {
      return failed(EISDIR, "cannot write " + name, "give the name of a file in it");
    }
    if (S_ISFIFO(info.st_mode) && is_planted(info, target.path)) return planted(target.path, name);
    if (!S_ISREG(info.st_mode)) target.replace = false;
  } else if (errno != ENOENT) {
    return failed(errno, "cannot write " + name);
  }
  return target;
}

// What can be known to fail without creating anything.
Result<void> check(const Target& target, const std::string& name) {
  if (target.file && ::faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) {
    return failed(errno, "cannot write " + name);
  }
  if (!target.replace) return {};
  const fs::path folder = folder_of(target.path);
  struct stat info = {};
  if (::stat(folder.c_str(), &info) != 0) {
    return failed(errno, "cannot write " + name + ": folder " + folder.string(),
                  "create the folder first");
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    return failed(errno, "cannot create a file in " + folder.string(),
                  "choose a folder that you may write");
  }
  if (!target.file && target.path.filename().native().size() > NAME_MAX) {
    return failed(ENAMETOOLONG, "cannot write " + name);
  }
  return {};
}

Result<void> write_directly(const fs::path& path, const std::string& bytes) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd.valid()) return failed(errno, "cannot open " + path.string());
  if (const int code = write_all(fd.get(), bytes)) {
    return failed(code, "cannot write " + path.string());
  }
  return {};
}

// A new file beside the target, with the mode and (as far as allowed) the owner of the old one.
Result<void> replace(const Target& target, const std::string& bytes) {
  const fs::path folder = folder_of(target.path);
  fs::path temporary;
  UniqueFd fd;
  for (int i = 0; i < kMostNames && !fd.valid(); ++i) {
    std::uint64_t random = 0;  // nobody is to take the names before us
    if (::getrandom(&random, sizeof random, 0) != sizeof random) break;
    temporary = folder / fmt::format(".hwprof-{:016x}", random);
    fd.reset(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!fd.valid() && errno != EEXIST) break;
  }
  if (!fd.valid()) return failed(errno, "cannot create a temporary file in " + folder.string());

  const auto give_up = [&](int code, const std::string& what) {
    ::unlink(temporary.c_str());
    return failed(code, what + " " + target.path.string());
  };
  if (target.file) {
    // Refused to everybody but root; the report matters more than its owner.
    if (::fchown(fd.get(), target.file->st_uid, target.file->st_gid) != 0) errno = 0;
    if (::fchmod(fd.get(), target.file->st_mode & 0777) != 0)
      return give_up(errno, "cannot set the mode of");
  }
  if (const int code = write_all(fd.get(), bytes)) return give_up(code, "cannot write");
  if (::fsync(fd.get()) != 0) return give_up(errno, "cannot write");
  if (::rename(temporary.c_str(), target.path.c_str()) != 0)
    return give_up(errno, "cannot replace");
  return {};
}

}  // namespace

int write_all(int fd, std::string_view bytes) {
  const IgnoreSignals guard;
  while (!bytes.empty()) {
    const ssize_t written =
        retry_interrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

Result<void> check_writable(const std::string& path) {
  TRY(const auto target, resolve(path));
  return check(target, path);
}

Result<void> write_file(const std::string& path, const std::string& bytes) {
  TRY(const auto target, resolve(path));
  TRY(check(target, path));
  return target.replace ? replace(target, bytes) : write_directly(target.path, bytes);
}

}  // namespace hwprof
