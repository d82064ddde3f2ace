// `hwprof blas`: which BLAS programs get on this machine, how good it is, and what else there is.
#pragma once

#include "src/base/result.h"
#include "src/commands/blas_options.h"

namespace hwprof {

// 0 optimal, 1 not, 3 inconclusive.
Result<int> run_blas(const BlasOptions& options);

}  // namespace hwprof
