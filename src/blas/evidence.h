// Which BLAS this process got, level by level: declared (E0: environment, alternatives), loaded
// (E1: path, provider, by symbol and not by file name), selected (E2: version, core type, threads).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernels/blas_library.h"

namespace hwprof::blas {

struct Identity {
  std::string provider;   // "openblas", "blis", "mkl", "atlas", "reference", "flexiblas", ...
  std::string version;    // "" when the library does not say
  std::string core;       // core type it selected: "Haswell"; "" when it has none
  std::string threading;  // "pthreads", "openmp", "single-threaded", "" unknown
  std::optional<int> threads;
};

// Asks the loaded library itself.
Identity identify(const BlasLibrary& library);

// Variables of this process that shape a BLAS (OPENBLAS_*, BLIS_*, MKL_*, OMP_*, ...).
std::map<std::string, std::string> blas_environment();

struct InstalledBlas {
  std::string path;      // resolved
  std::string how;       // "loader cache libopenblas.so.0", "alternative of libblas.so.3"
  std::string provider;  // by the symbols of the file, nothing is loaded
};
// Every BLAS that the loader cache and the alternatives know, each file once.
std::vector<InstalledBlas> installed_blas();

}  // namespace hwprof::blas
