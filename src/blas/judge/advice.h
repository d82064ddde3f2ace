// What to do about a BLAS, each advice once. What is so already is never advised. Pure.
#pragma once

#include <string>

#include "src/blas/judge/judge.h"

namespace hwprof::blas {

// The variable by which the loader gives programs the library that is judged; else "".
std::string deciding_variable(const Evidence& evidence);
// Make programs get what this rung measured.
std::string how_to_select(const report::LadderRung& rung, const Evidence& evidence);
// An installed, threaded OpenBLAS, or the package that has one.
std::string how_to_get_openblas(const Evidence& evidence);
// Where the library itself lacks the kernels or does not know the CPU.
std::string how_to_get_better(Provider provider, const Evidence& evidence);

}  // namespace hwprof::blas
