// The file behind a mapping that the kernel has told of, and in which state it is. What a file
// holds is known of that state alone: another file may get its inode number, and it may be written
// over in place.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/unique_fd.h"
#include "src/observe/perf/records.h"

namespace hwprof::observe {

// Memory that only looks like a file has no number.
bool is_file(const Mapped& mapped);
// A file whose name the kernel could not say ("//toolong", "//enomem"; perf_event_mmap_event).
bool is_nameless_file(const Mapped& mapped);
// By its name where that means the same file here; else what the living process has mapped. Not
// valid where there is neither.
UniqueFd open_mapped(const Mapped& mapped);
// The kernel takes the events from a process that gains rights by executing it.
bool gives_rights(int file);
// The file itself, not open: no file system is told of its close.
UniqueFd name_of(int file);

// As fstat() has it; all 0 where it cannot be had.
FileId file_id(int file);

struct FileVersion {
  std::uint64_t bytes = 0;
  // ns since 1970: its bytes (which any program may set), and whatever of it (the kernel's alone).
  std::int64_t modified_ns = 0, changed_ns = 0;
  bool linked = true;  // it has a name yet

  bool operator==(const FileVersion&) const = default;
  // Its names and rights may have changed.
  [[nodiscard]] bool has_bytes_of(const FileVersion& other) const {
    return bytes == other.bytes && modified_ns == other.modified_ns;
  }
};
// As far as this machine knows: no file system is asked. Absent where there is no such file.
std::optional<FileVersion> version_of(int file);
std::optional<FileVersion> version_at(const std::string& path);

struct Clocks {
  std::int64_t real_ns = 0;        // CLOCK_REALTIME, as files have it
  std::uint64_t monotonic_ns = 0;  // CLOCK_MONOTONIC, as records have it

  static Clocks now();
};
// Since when it has been so, by the clock of records. 0: since before the machine's start, or by a
// clock that is ahead of this one.
std::uint64_t unchanged_since_ns(const FileVersion& version, const Clocks& now);
// Another change, now, might get the same time: those of files have a tick (before Linux 6.13).
bool may_change_unseen(const FileVersion& version, const Clocks& now);

}  // namespace hwprof::observe
