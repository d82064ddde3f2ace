// The sentences of the verdict on a run: what was called by whom, what served it with which
// vectors, and what else took the time. Pure.
#pragma once

#include <string>
#include <vector>

#include "src/blas/evidence/served.h"
#include "src/blas/judge/run_verdict.h"

namespace hwprof::blas {

// Of the loss, in the words that end the first sentence; empty where there is none.
std::vector<std::string> findings(const RunVerdictInput& input, const Served& served,
                                  const std::string& loss, const RunThresholds& thresholds);

// "256-bit FMA" of what executed, else of the core; "" when neither is known.
std::string width_of(const Served& served);
// "libopenblas Haswell kernels", "the reference BLAS"
std::string kernels_of(const Served& served);
// Threads that worked, else those that the library had; absent when neither is known.
std::optional<int> threads_of(const Served& served);

}  // namespace hwprof::blas
