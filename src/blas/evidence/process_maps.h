// The files that a process has mapped for execution, from the text of /proc/PID/maps. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof::blas {

struct FileMapping {
  std::string path;
  std::uint64_t inode = 0;
  bool deleted = false;  // the file that is mapped is no longer at its path
  // Where the file's first mapping begins, and at which offset of the file.
  std::uint64_t start = 0, offset = 0;
};

// Each file once, in the order of their addresses; only those with an executable mapping, since a
// library that is merely read (by a debugger, by us) is not loaded.
std::vector<FileMapping> executable_files(std::string_view maps);

}  // namespace hwprof::blas
