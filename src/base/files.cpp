// Links are followed by hand and not by realpath(3): a dangling link must lead to the file that is
// to be created. Links of procfs (what /dev/stdout and /dev/fd/N end in) are no paths but open
// files; they are written directly, appending, as the shell's own redirection would.
#include "src/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "src/base/account.h"
#include "src/base/text.h"
#include "src/base/unique_fd.h"

namespace hwprof {
namespace {

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

// A file to write, found by way of folders that stay the same whatever is renamed meanwhile.
struct Target {
  UniqueFd folder;  // O_PATH
  std::string name;
  std::string path;                 // as far as links were followed, for messages
  std::optional<struct stat> file;  // absent: to be created
  UniqueFd entry;                   // O_PATH, where it is written directly and no link of procfs
  bool replace = true;              // false: written directly
  bool magic = false;               // a link of procfs: leads to an open file
  // Root's only: the first on the way whom a folder or link belongs to, other than root. That user
  // could lead root anywhere from there, so what follows is done with that user's rights.
  std::optional<uid_t> owner;

  [[nodiscard]] std::string folder_path() const {
    const auto slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
  }
};

// Where everybody may write, anybody may have put a link, to have us write what it leads to, a
// pipe, to have us wait, or a file, which stays his whatever is in it. The kernel takes none of
// those (proc_sys_fs(5), protected_symlinks, protected_regular), but here links are followed by
// hand, and files replaced.
bool is_planted(const struct stat& entry, const struct stat& folder) {
  constexpr mode_t kForAll = S_ISVTX | S_IWOTH;
  return (folder.st_mode & kForAll) == kForAll && entry.st_uid != ::geteuid() &&
         entry.st_uid != folder.st_uid;
}

// The walk to a target, a name at a time.
class Walk {
 public:
  explicit Walk(const std::string& name) : name_(name) {}
  Result<Target> go();

 private:
  // In front of what is still to go.
  void add(const std::string& way);
  Result<void> follow(const UniqueFd& link, const std::string& step, bool last);
  Result<void> take(UniqueFd found, const struct stat& entry);
  void belongs_to(uid_t owner) {
    if (::geteuid() == 0 && owner != 0 && !target_.owner && is_mapped(owner)) target_.owner = owner;
  }
  [[nodiscard]] tl::unexpected<Error> refused(int code, std::string hint = {}) const {
    return failed(code, "cannot write " + name_, std::move(hint));
  }
  [[nodiscard]] tl::unexpected<Error> planted(std::string_view what) const {
    return refused(EACCES, fmt::format("{} is another user's {} in a folder that all may write: "
                                       "choose another name",
                                       target_.path, what));
  }

  const std::string& name_;
  Target target_;
  struct stat folder_ = {};
  std::vector<std::string> ahead_;  // the next one last
  int links_ = 0;
  bool done_ = false;
};

void Walk::add(const std::string& way) {
  if (way.starts_with('/')) {
    target_.folder.reset(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    target_.path = "/";
  }
  const auto steps = split(way, '/');
  for (auto step = steps.rbegin(); step != steps.rend(); ++step)
    if (!step->empty() && *step != ".") ahead_.emplace_back(*step);
}

Result<void> Walk::follow(const UniqueFd& link, const std::string& step, bool last) {
  if (++links_ > kMostLinks) return refused(ELOOP);
  struct statfs system = {};
  if (::fstatfs(target_.folder.get(), &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    // Also to a file system of that user's own, in a namespace of his own, that never answers.
    if (target_.owner) {
      return refused(EACCES, target_.path +
                                 " is a link of another user's to an open file or folder: choose "
                                 "another name");
    }
    if (last) {
      target_.magic = true;
      target_.replace = false;
      struct stat behind = {};
      if (::fstatat(target_.folder.get(), step.c_str(), &behind, 0) == 0) target_.file = behind;
      done_ = true;
      return {};
    }
    target_.folder.reset(
        ::openat(target_.folder.get(), step.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return target_.folder.valid() ? Result<void>() : refused(errno);
  }
  std::string text(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(link.get(), "", text.data(), text.size());
  if (length < 0) return failed(errno, "cannot follow the link " + target_.path);
  text.resize(static_cast<std::size_t>(length));
  target_.path.resize(target_.path.size() - step.size());
  add(text);
  return {};
}

Result<void> Walk::take(UniqueFd found, const struct stat& entry) {
  done_ = true;
  target_.file = entry;
  if (S_ISREG(entry.st_mode)) return is_planted(entry, folder_) ? planted("file") : Result<void>();
  if (S_ISSOCK(entry.st_mode)) return refused(ENXIO, target_.path + " is a socket");
  target_.replace = false;
  target_.entry = std::move(found);
  if (!S_ISFIFO(entry.st_mode)) return {};
  if (is_planted(entry, folder_)) return planted("pipe");
  const bool of_others = target_.owner || (entry.st_uid != 0 && (folder_.st_mode & 0022) != 0);
  if (::geteuid() == 0 && of_others) {
    return refused(EACCES, target_.path +
                               " is a pipe where another user may put one, and its "
                               "reader need not read: choose another name");
  }
  return {};
}

Result<Target> Walk::go() {
  if (name_.empty()) return environment_error(ENOENT, "the name of the output file is empty");
  target_.folder.reset(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  add(name_);
  if (name_.ends_with('/')) ahead_.insert(ahead_.begin(), ".");
  while (!done_) {
    if (ahead_.empty() || ahead_.back() == ".")
      return refused(EISDIR, "give the name of a file in it");
    if (!target_.folder.valid() || ::fstat(target_.folder.get(), &folder_) != 0)
      return refused(errno);
    belongs_to(folder_.st_uid);
    const std::string step = std::move(ahead_.back());
    ahead_.pop_back();
    const bool last = ahead_.empty();
    if (!target_.path.empty() && !target_.path.ends_with('/')) target_.path += '/';
    target_.path += step;
    target_.name = step;
    UniqueFd entry(::openat(target_.folder.get(), step.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat info = {};
    if (!entry.valid() || ::fstat(entry.get(), &info) != 0) {
      if (errno != ENOENT) return refused(errno);
      if (!last) {
        return failed(ENOENT, "cannot write " + name_ + ": folder " + target_.path,
                      "create the folder first");
      }
      break;
    }
    if (S_ISLNK(info.st_mode)) {
      if (is_planted(info, folder_)) return planted("link");
      belongs_to(info.st_uid);
      TRY(follow(entry, step, last));
    } else if (S_ISDIR(info.st_mode)) {
      target_.folder = std::move(entry);
    } else if (last) {
      TRY(take(std::move(entry), info));
    } else {
      return refused(ENOTDIR);
    }
  }
  return std::move(target_);
}

// What can be known to fail without creating anything.
Result<void> check(const Target& target, const std::string& name) {
  const int folder = target.folder.get();
  if (target.file && ::faccessat(folder, target.name.c_str(), W_OK, AT_EACCESS) != 0)
    return failed(errno, "cannot write " + name);
  if (target.replace && ::faccessat(folder, ".", W_OK | X_OK, AT_EACCESS) != 0) {
    return failed(errno, "cannot create a file in " + target.folder_path(),
                  "choose a folder that you may write");
  }
  return {};
}

// The very file that was looked at: by its name it could be a user's pipe by now.
Result<void> write_directly(const Target& target, const std::string& bytes) {
  const bool waits = !target.owner;
  // Of a named pipe that standard output is, the reader may have gone: to open it would wait for
  // the next one.
  const bool opens_at_once = target.magic || !waits;
  const int flags = O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | (opens_at_once ? O_NONBLOCK : 0);
  const std::string seen = fmt::format("/proc/self/fd/{}", target.entry.get());
  const UniqueFd fd(target.magic ? ::openat(target.folder.get(), target.name.c_str(), flags)
                                 : ::open(seen.c_str(), flags));
  if (!fd.valid() && errno == ENXIO && target.file && S_ISFIFO(target.file->st_mode))
    return environment_error(EPIPE, "cannot write " + target.path + ": nobody reads that pipe");
  if (!fd.valid()) return failed(errno, "cannot open " + target.path);
  if (const int code = write_all(fd.get(), bytes, waits)) {
    return failed(code, "cannot write " + target.path);
  }
  return {};
}

// What a file gets that is created with 0666. For one thread at a time.
mode_t mode_of_new_files() {
  const mode_t mask = ::umask(077);
  ::umask(mask);
  return 0666 & ~mask;
}

// The new name outlives a loss of power, too. As far as the file system can; the bytes are there.
void sync_folder(int folder) {
  const UniqueFd readable(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (readable.valid()) ::fsync(readable.get());
  errno = 0;
}

// A new file beside the target, with the mode and (as far as allowed) the owner of the old one:
// nobody's but ours until it holds the bytes, else who may not read the old one could open it.
Result<void> replace(const Target& target, const std::string& bytes) {
  const int folder = target.folder.get();
  std::string temporary;
  UniqueFd fd;
  for (int i = 0; i < kMostNames && !fd.valid(); ++i) {
    std::uint64_t random = 0;  // nobody is to take the names before us
    if (::getrandom(&random, sizeof random, 0) != sizeof random) break;
    temporary = fmt::format(".hwprof-{:016x}", random);
    fd.reset(::openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd.valid() && errno != EEXIST) break;
  }
  if (!fd.valid())
    return failed(errno, "cannot create a temporary file in " + target.folder_path());

  const auto give_up = [&](int code, const std::string& what) {
    ::unlinkat(folder, temporary.c_str(), 0);
    return failed(code, what + " " + target.path);
  };
  if (const int code = write_all(fd.get(), bytes)) return give_up(code, "cannot write");
  // Refused to everybody but root; the report matters more than its owner.
  if (target.file && ::fchown(fd.get(), target.file->st_uid, target.file->st_gid) != 0) errno = 0;
  if (::fchmod(fd.get(), target.file ? target.file->st_mode & 0777 : mode_of_new_files()) != 0)
    return give_up(errno, "cannot set the mode of");
  if (::fsync(fd.get()) != 0) return give_up(errno, "cannot write");
  if (::renameat(folder, temporary.c_str(), folder, target.name.c_str()) != 0)
    return give_up(errno, "cannot replace");
  sync_folder(folder);
  return {};
}

// Finds the target and does that with it, with the rights that suit the way there.
template <typename Do>
Result<void> at_target(const std::string& path, Do work) {
  TRY(const Target target, Walk(path).go());
  std::optional<ActingAs> user;
  if (target.owner && !user.emplace(account_of_user(*target.owner)).valid()) {
    return failed(errno, fmt::format("cannot write {}: its folder is user {}'s, and hwprof may not "
                                     "act as that user",
                                     path, *target.owner));
  }
  auto done = check(target, path);
  if (done) done = work(target);
  if (!done && target.owner) {
    done.error().hint = fmt::format(
        "it is written with the rights of user {}, whose folder or link is on the way: choose "
        "another folder",
        *target.owner);
  }
  return done;
}

}  // namespace

int write_all(int fd, std::string_view bytes, bool waits) {
  const IgnoreSignals guard;
  while (!bytes.empty()) {
    const ssize_t written =
        retry_interrupted([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) {
      pollfd room{fd, POLLOUT, 0};
      if (errno != EAGAIN || !waits) return errno;
      retry_interrupted([&] { return ::poll(&room, 1, -1); });
    }
    bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(0, written)));
  }
  return 0;
}

Result<void> check_writable(const std::string& path) {
  return at_target(path, [](const Target&) -> Result<void> { return {}; });
}

bool is_open_file(std::string_view path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") ||
         path.starts_with("/dev/pts/") || path.starts_with("/proc/self/") ||
         path.starts_with("/proc/thread-self/");
}

Result<void> write_file(const std::string& path, const std::string& bytes) {
  return at_target(path, [&](const Target& target) {
    return target.replace ? replace(target, bytes) : write_directly(target, bytes);
  });
}

}  // namespace hwprof
