// E2, what a library chose: one that is loaded here is asked itself, one in another process has its
// memory read. Which functions and which variables, the table of providers says.
#pragma once

#include <string>
#include <vector>

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

// What the library at `path` has chosen. One that hands its calls on to another file of its
// provider (Debian's libblas.so.3 of OpenBLAS) tells nothing itself: then that of the provider,
// where all that say a core say the same, threads, too. nullptr: not known.
const report::ChosenCore* core_behind(const std::vector<report::ChosenCore>& cores,
                                      const std::string& path, report::Provider provider);

}  // namespace hwprof::blas
