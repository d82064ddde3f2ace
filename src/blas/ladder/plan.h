// Which rungs a ladder has, and the environment of each.
#pragma once

#include <string>
#include <vector>

#include "counters/machine.h"
#include "src/blas/evidence/library_file.h"
#include "src/blas/ladder/ladder.h"
#include "src/blas/providers/providers.h"

namespace hwprof::blas {

struct Attempt {
  std::string setting;  // as report::LadderRung has it
  std::string library;
  Provider provider = Provider::kNone;
  std::string core = {};  // expected; "": whatever the library chooses
  bool as_found = false;
  bool own = false;
};

// The widest cores and the other libraries decide the verdict; a budget that ends early costs
// only what can hardly win.
struct Plan {
  std::vector<Attempt> deciding, rest;
};

Plan plan_rungs(const BlasLibrary& library, const Identity& identity,
                const std::vector<report::InstalledBlas>& installed, const Machine& machine,
                const LadderOptions& options);

// Whether the library may be another in this process than in a clean environment: what it does not
// read does not matter, nor do numbers of threads, since a rung has one.
bool environment_shapes(const Identity& identity);

// hwprof's own OpenBLAS, which chooses its core itself.
Attempt own_attempt(const OwnOpenBlas& own);
// One that forces this core of an OpenBLAS.
Attempt openblas_core(const std::string& library, const CoreType& core);
// Whether a file has kernels of that core.
bool offers(const LibraryFile& file, const CoreType& core);
// Of core types: libraries differ in upper and lower case.
bool same_name(const std::string& a, const std::string& b);
// "Haswell", "/usr/lib/libopenblas.so.0 (auto)"
std::string label(const Attempt& attempt);

// That of this process, with or without the variables that shape a BLAS.
std::vector<std::string> environment_with(bool blas_variables);
std::vector<std::string> environment_for(const Attempt& attempt, const OwnOpenBlas& own);

}  // namespace hwprof::blas
