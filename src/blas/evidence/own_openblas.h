// An OpenBLAS that is hwprof's own: unpacked beside its build and never installed, so that it is
// never what programs get. With it a machine that has only the reference BLAS still has something
// to be compared with.
#pragma once

#include <string>
#include <vector>

namespace hwprof::blas {

struct OwnOpenBlas {
  std::string path;    // the file itself, links followed; "" where there is none
  std::string folder;  // in which the loader finds what it needs
  std::string reason;  // why there is none, and what to do
};

// The first of `places` that is there and may be loaded.
OwnOpenBlas own_openblas(const std::vector<std::string>& places);
// Where an installed hwprof has it, then where the build has.
OwnOpenBlas own_openblas();

}  // namespace hwprof::blas
