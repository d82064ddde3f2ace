// Floating-point operations of a call: those of LAPACK Working Note 41, appendix C, as LAPACK's own
// timing programs count them (sopbl2.f, sopbl3.f, sopla.f), but for the scaling by alpha and beta.
#pragma once

#include "src/observe/routines/call_shape.h"

namespace hwprof::observe {

// Of an m x n matrix: a reciprocal and m - j products for column j, then (m - j)(n - j) of each.
constexpr void add_lu(double m, double n, double& multiplications, double& additions) {
  const double small = m < n ? m : n, large = m < n ? n : m;
  const double updates = 0.5 * small * (small * (large - small / 3) - large) + small / 6;
  multiplications += small + small * m - small * (small + 1) / 2 + updates;
  additions += updates;
}

constexpr void add_cholesky(double n, double& multiplications, double& additions) {
  multiplications += n * (n * (n / 6 + 0.5) + 1.0 / 3);
  additions += n * (n * n / 6 - 1.0 / 6);
}

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
    case Work::kLu:
      add_lu(m, n, multiplications, additions);
      break;
    case Work::kLuBoth:
      add_lu(m, m, multiplications, additions);
      [[fallthrough]];
    case Work::kLuSolution:
      multiplications += n * m * m;
      additions += n * m * (m - 1);
      break;
    case Work::kCholeskyBoth:
      add_cholesky(m, multiplications, additions);
      [[fallthrough]];
    case Work::kCholeskySolution:
      multiplications += n * m * (m + 1);
      additions += n * m * (m - 1);
      break;
    case Work::kCholesky:
      add_cholesky(m, multiplications, additions);
      break;
    case Work::kCholeskyInverse:
      multiplications = m * (m * (m / 3 + 1) + 2.0 / 3);
      additions = m * (m * (m / 3 - 0.5) + 1.0 / 6);
      break;
    case Work::kTriangleInverse:
      multiplications = m * (m * (m / 6 + 0.5) + 1.0 / 3);
      additions = m * (m * (m / 6 - 0.5) + 1.0 / 3);
      break;
  }
  return routine.complex ? 6 * multiplications + 2 * additions : multiplications + additions;
}

}  // namespace hwprof::observe
