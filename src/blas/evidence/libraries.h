// E0 and E1, what is declared and what is there: the environment that shapes a BLAS, the libraries
// that this machine could give to a program, and who made a file, by its symbols and never by its
// name (libblas.so.3 is the name of six different libraries). Nothing is loaded here.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hwprof::blas {

// True for OPENBLAS_*, BLIS_*, MKL_*, OMP_*, ...: names that a BLAS reads.
bool shapes_blas(const std::string& variable);
// Those of this process.
std::map<std::string, std::string> blas_environment();

// Variables by whose: what the names of all begin with, and the one that forces a core type.
struct ProviderVariables {
  const char* provider;
  std::string_view prefix;
  const char* core;
};
inline constexpr std::array kProviderVariables = {
    ProviderVariables{"openblas", "OPENBLAS_", "OPENBLAS_CORETYPE"},
    ProviderVariables{"blis", "BLIS_", "BLIS_ARCH_TYPE"},
    ProviderVariables{"mkl", "MKL_", "MKL_ENABLE_INSTRUCTIONS"},
};

struct FileIdentity {
  // "openblas", "blis", "mkl", "atlas", "flexiblas", "reference", ..., "unknown" for a BLAS that
  // nothing gives away.
  std::string provider;
  bool threaded = false;  // known of OpenBLAS only: it has or takes threaded products
};
// Absent when the file is no shared library of this architecture with an sgemm_ of its own, or
// hands its work to a GPU.
std::optional<FileIdentity> identify_file(const std::string& path);

// Whether the constants of the file hold `text`: a library that reads a variable holds its name.
bool file_mentions(const std::string& path, const std::string& text);

// By names under which a BLAS is installed: "libblas.so.3", "libopenblas64.so.0".
bool is_blas_file_name(std::string_view name);
// Calls `take` with the soname and the file of each library that the loader cache has, of every
// architecture, in its order.
void each_in_loader_cache(
    const std::function<void(std::string_view soname, std::string_view path)>& take);
// The BLAS that the loader cache has under `soname`; "" when it has none.
std::string library_of_loader_cache(std::string_view soname);

struct InstalledBlas {
  std::string path;  // resolved
  std::string how;   // "loader cache libopenblas.so.0", "alternative of libblas.so.3-..."
  FileIdentity file;
  std::string select;  // command that makes it what programs get; "" when there is none
};
// Every BLAS that LD_LIBRARY_PATH, the alternatives and the loader cache know, each file once.
std::vector<InstalledBlas> installed_blas();

}  // namespace hwprof::blas
