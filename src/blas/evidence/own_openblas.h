// An OpenBLAS that is hwprof's own: unpacked beside its build and never installed, so that it is
// never what programs get. With it a machine that has only the reference BLAS still has something
// to be compared with.
#pragma once

#include <sys/types.h>

#include <set>
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

// Why hwprof must not run what is in this file: others than `owners` could have written it. Empty:
// it may. Root and this user are always among the owners.
std::string why_not_to_load(const std::string& path, std::set<uid_t> owners = {});

}  // namespace hwprof::blas
