// A file that a process has mapped, where it lies there, and how its memory is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/choice.h"
#include "src/observe/proc/maps.h"

namespace hwprof::blas {

// What the loader added to the addresses of the file, from where its first mapping lies.
std::optional<std::uint64_t> load_bias(const LibraryFile& file,
                                       const observe::FileMapping& mapping);

// Through a descriptor of /proc/PID/mem; `error` becomes the errno of what fails.
ReadMemory memory_of(int memory, int& error);

// Whether the open file is the one that some process has mapped, which its path need not lead to
// any more: another one may lie there, or be mounted over it.
bool is_mapped_file(int file, const observe::FileId& mapped);

// Whether what lies at `path` here is the file that is open.
bool is_same_file(int file, const std::string& path);

}  // namespace hwprof::blas
