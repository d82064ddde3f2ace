// What an ELF file says of itself that matters to watching its BLAS calls: the routines that it
// holds, with the place of each in the file, and the libraries that it asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "src/observe/calls/blas_routine.h"

namespace hwprof::observe {

struct EntryPoint {
  std::string symbol;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t size = 0;    // 0: the symbol does not say
  Routine routine;
};

struct ElfEntries {
  std::vector<EntryPoint> entries;  // each place in the file once
  std::vector<std::string> needed;
  std::vector<std::string> run_path;  // DT_RUNPATH, or else DT_RPATH, as written
  bool inherited_run_path = false;    // DT_RPATH: it serves the libraries below as well
  std::string interpreter;            // dynamic loader that it asks for; "": static, or a library
  bool native = false;                // of this architecture and word size
};

// Absent when the file is no ELF file. `fd` stays the caller's.
std::optional<ElfEntries> read_elf_entries(int fd);

}  // namespace hwprof::observe
