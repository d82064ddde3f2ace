// Files of another process: its memory map, its memory, the files that it has mapped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "src/base/account.h"
#include "src/base/unique_fd.h"

namespace hwprof::observe {

// A file of another process, to read.
struct ForeignFile {
  enum class Kind : std::uint32_t {
    kMaps,         // its memory map
    kEnvironment,  // as it began with it
    kProgram,      // a name of the program that it runs (O_PATH)
    kMemory,       // its memory, at its addresses
    kMapped,       // the file that is mapped from `start` to `end`, whatever its name says by now
    kInRoot,  // the file that the process finds at `path`: it may live in another mount namespace
    kPages,   // what its memory's pages are
    kPagesByNode,  // and on which NUMA nodes they lie
  };
  Kind kind = Kind::kMaps;
  pid_t pid = 0;
  std::uint64_t start = 0, end = 0;
  std::string path;
};

// errno where the result is not valid. A mapped file, or one in its root, is opened only if it is a
// regular one, and never waits.
UniqueFd open_foreign(const ForeignFile& file);
// The file at `path` for whoever has the folder `root` (O_PATH) as "/": only a regular one, and
// without waiting.
UniqueFd open_regular_in(const UniqueFd& root, const std::string& path);
// errno where it is absent.
std::optional<std::string> read_maps(pid_t pid);

// For a process that has given its rights away, and asks another one where its own do not suffice.
using ForeignOpener = UniqueFd (*)(const ForeignFile& file);
void open_foreign_with(ForeignOpener opener);
// By this process alone; a mapped file, or one in the process's root, with that account's rights.
UniqueFd open_foreign_here(const ForeignFile& file);
UniqueFd open_foreign_here(const ForeignFile& file, const Account* on_behalf_of);

}  // namespace hwprof::observe
