// The one parser of /proc/PID/maps (proc(5)), and the files that a process has mapped for
// execution. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/observe/perf/records.h"

namespace hwprof::observe {

struct MapsLine {
  std::uint64_t start = 0, end = 0;
  std::uint64_t offset = 0;  // of `start` in the file
  FileId file;
  bool writable = false, executable = false;
  bool shared = false;
  bool deleted = false;  // the file that is mapped is no longer at its path
  std::string path;      // "[heap]", "anon_inode:[perf_event]"; "" for memory without a name
};
std::vector<MapsLine> parse_maps(std::string_view maps);

// Executable mappings as the kernel's records name them, for a process that ran before.
std::vector<Mapped> mapped_code(int pid, std::string_view maps);

// A file with an executable mapping: one that is merely read (by a debugger, by us) is not loaded.
struct FileMapping {
  std::string path;
  FileId file;
  bool deleted = false;  // as above
  // Where the file's first mapping begins, and at which offset of the file.
  std::uint64_t start = 0, offset = 0;
};
// Each file once, in the order of their addresses.
std::vector<FileMapping> executable_files(std::string_view maps);

}  // namespace hwprof::observe
