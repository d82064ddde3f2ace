// E2, what a library chose: one that is loaded here is asked itself, one in another process has its
// memory read. Which functions and which variables, the table of providers says.
#pragma once

#include <string>

#include "src/blas/evidence/library_file.h"
#include "src/blas/providers/choice.h"

namespace hwprof::blas {

Identity identify(const BlasLibrary& library);

// Of a library that hands its work on, once it has: "openblas 0.3.21 SkylakeX of /usr/lib/...", by
// what is mapped below it. "" for any other, and where nothing is.
std::string backend_of(const BlasLibrary& library, report::Provider provider);

// `bias` is what the loader added to the addresses of the file; `whose` names the process. A core,
// or the reason why none is known.
report::ChosenCore core_in_memory(const LibraryFile& file, const std::string& path,
                                  std::uint64_t bias, const ReadMemory& read,
                                  const std::string& whose);

}  // namespace hwprof::blas
