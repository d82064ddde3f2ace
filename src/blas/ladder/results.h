// Whether a library computes what it should: a kernel that is fast and wrong is worse than a slow
// one, and a core type that was forced or that is new is the one that nobody has tried.
//
// Products of small integers are exact in any order of additions; others are held against double
// precision. Tried are sizes beside the blocks of the known kernels, every transpose, operands that
// are not aligned, rows that are longer than the matrix (what lies between must stay), a C full of
// NaN under beta = 0, NaN and infinity in A.
#pragma once

#include "kernels/blas_library.h"
#include "src/model/blas.h"

namespace hwprof::blas {

// Takes some milliseconds. `wrong` names routine, shape and the first element that differs, as the
// library was called: in column-major order.
report::Results check_results(const BlasLibrary& library);

}  // namespace hwprof::blas
