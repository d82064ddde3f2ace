// Where the debug information of a stripped file lies: found as gdb and elfutils find it, but never
// waited for, and believed only where it belongs to that file.
//
// Source: GDB manual, "Debugging Information in Separate Files".
#pragma once

#include <cstdint>
#include <string>

#include "src/base/unique_fd.h"

namespace hwprof::observe {

struct DebugFileWanted {
  std::string beside;               // path of the file that was stripped
  std::string build_id;             // hexadecimal, "" when it has none
  std::string link;                 // name in its .gnu_debuglink, "" when it has none
  std::uint32_t link_checksum = 0;  // CRC-32 of the file that the link means
};

struct DebugFile {
  // Invalid: there is none. What its owner could still change is a copy, unless it is too large.
  UniqueFd file;
  std::string path;
};

DebugFile find_debug_file(const DebugFileWanted& wanted);

}  // namespace hwprof::observe
