// E2, what a loaded library chose: it is asked itself, through functions of the file that serves
// sgemm_ or of what that file stands on (BlasLibrary::symbol), never of another that is mapped.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/blas_library.h"

namespace hwprof::blas {

struct Identity {
  std::string provider;   // "openblas", "blis", "mkl", "atlas", "reference", "flexiblas", ...
  std::string version;    // "" when the library does not say
  std::string core;       // core type it selected: "Haswell"; "" when it has none or does not say
  std::string threading;  // "pthreads", "openmp", "single-threaded", "" unknown
  std::optional<int> threads;
  std::vector<std::string> ignored;  // variables of this provider that are set, but whose names its
                                     // file does not hold: it cannot read them
  std::string kernels;  // file with the kernels: libopenblas below Debian's libblas.so.3
};

// Asks the loaded library itself.
Identity identify(const BlasLibrary& library);

// Names of the architectures that a BLIS knows, in the order of BLIS_ARCH_TYPE, "generic" last.
// Empty when the library does not export them (Debian's libblas.so.3 of BLIS).
std::vector<std::string> blis_architectures(const BlasLibrary& library);

}  // namespace hwprof::blas
