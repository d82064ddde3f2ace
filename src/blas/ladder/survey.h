// E1 and E5 of a machine rather than of a program: each library in a child process, in the
// environment that programs get, on one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "src/blas/evidence/libraries.h"
#include "src/blas/ladder/rung.h"

namespace hwprof::blas {

struct Surveyed {
  InstalledBlas library;
  std::optional<RungResult> result;
  std::string reason;  // why there is none
};

struct SurveyOptions {
  std::chrono::milliseconds budget{10000};        // for all together
  std::chrono::milliseconds longest_child{2000};  // for one
  std::string program = "/proc/self/exe";         // as LadderOptions has it
};

// Fastest first, then those without a result.
std::vector<Surveyed> survey(const std::vector<InstalledBlas>& libraries,
                             const SurveyOptions& options);

}  // namespace hwprof::blas
