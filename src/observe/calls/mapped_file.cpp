#include "src/observe/calls/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "src/observe/elf/elf_file.h"
#include "src/observe/proc/foreign_file.h"

namespace hwprof::observe {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTick = 20'000'000;  // at least twice the longest of a kernel

template <class Time>
std::int64_t in_ns(const Time& time) {
  return static_cast<std::int64_t>(time.tv_sec) * kSecond + time.tv_nsec;
}

std::optional<FileVersion> ask(int folder, const char* name, int flags) {
  struct statx status {};
  constexpr unsigned kWanted = STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_CTIME | STATX_NLINK;
  if (::statx(folder, name, flags | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, kWanted, &status) != 0 ||
      !S_ISREG(status.stx_mode)) {
    return std::nullopt;
  }
  return FileVersion{status.stx_size, in_ns(status.stx_mtime), in_ns(status.stx_ctime),
                     status.stx_nlink > 0};
}

std::int64_t now_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return in_ns(now);
}

}  // namespace

bool is_file(const Mapped& mapped) {
  return mapped.path.starts_with('/') && !mapped.path.starts_with("//") && mapped.file.inode != 0;
}

bool is_nameless_file(const Mapped& mapped) {
  return mapped.path == "//toolong" || mapped.path == "//enomem";
}

// Btrfs and overlayfs give files other device numbers than mappings: of a process that has ended,
// the inode must do.
UniqueFd open_mapped(const Mapped& mapped) {
  UniqueFd named = mapped.deleted ? UniqueFd() : open_regular_file(mapped.path);
  const FileId id = file_id(named.get());
  if (id == mapped.file) return named;
  UniqueFd file = open_foreign({.kind = ForeignFile::Kind::kMapped,
                                .pid = mapped.pid,
                                .start = mapped.start,
                                .end = mapped.start + mapped.length,
                                .path = {}});
  if (file.valid()) return file;
  return id.inode == mapped.file.inode ? std::move(named) : UniqueFd();
}

bool gives_rights(int file) {
  struct stat status {};
  return ::geteuid() != 0 && ::fstat(file, &status) == 0 &&
         (status.st_mode & (S_ISUID | S_ISGID)) != 0;
}

UniqueFd name_of(int file) {
  return UniqueFd(::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_PATH | O_CLOEXEC));
}

FileId file_id(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return {};
  return {::major(status.st_dev), ::minor(status.st_dev), status.st_ino};
}

std::optional<FileVersion> version_of(int file) { return ask(file, "", AT_EMPTY_PATH); }

std::optional<FileVersion> version_at(const std::string& path) {
  return ask(AT_FDCWD, path.c_str(), 0);
}

Clocks Clocks::now() {
  return {now_ns(CLOCK_REALTIME), static_cast<std::uint64_t>(now_ns(CLOCK_MONOTONIC))};
}

// To lose its last name is a change, too, and the usual one of a library that a program has just
// made and loaded.
std::uint64_t unchanged_since_ns(const FileVersion& version, const Clocks& now) {
  const std::int64_t ago =
      now.real_ns - (version.linked ? version.changed_ns : version.modified_ns);
  const auto monotonic = static_cast<std::int64_t>(now.monotonic_ns);
  return ago < 0 || ago > monotonic ? 0 : static_cast<std::uint64_t>(monotonic - ago);
}

bool may_change_unseen(const FileVersion& version, const Clocks& now) {
  return std::abs(now.real_ns - version.changed_ns) < kTick;
}

}  // namespace hwprof::observe
