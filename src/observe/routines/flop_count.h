// Floating-point operations of a call: those of LAPACK Working Note 41, appendix C, as LAPACK's own
// timing programs count them (sopbl2.f, sopbl3.f), but for the scaling by alpha and beta.
#pragma once

#include "src/observe/routines/call_shape.h"

namespace hwprof::observe {

// Of a complex number a multiplication is six operations and an addition two.
constexpr double flop_count(const Routine& routine, const Shape& shape) {
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
             k = static_cast<double>(shape.k) * (routine.parts ? 2 : 1);
  double multiplications = 0, additions = 0;
  switch (routine.work) {
    case Work::kUnknown:
      break;
    case Work::kProduct:
      multiplications = additions = m * n * k;
      break;
    case Work::kTriangle:
      multiplications = m * n * (k + 1) / 2;
      additions = m * n * (k - 1) / 2;
      break;
    case Work::kHalf:
      multiplications = additions = k * n * (n + 1) / 2;
      break;
    case Work::kHalfOfBoth:
      multiplications = k * n * n;
      additions = n > 0 && k > 0 ? k * n * n + n : 0;
      break;
    case Work::kScaling:
      multiplications = k;
      break;
    case Work::kSum:
      additions = k;
      break;
    case Work::kRotation:
      multiplications = 4 * k;
      additions = 2 * k;
      break;
    case Work::kMoving:
      break;
  }
  return routine.complex ? 6 * multiplications + 2 * additions : multiplications + additions;
}

}  // namespace hwprof::observe
