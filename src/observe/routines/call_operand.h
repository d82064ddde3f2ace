// Where the numbers of a call's operands lie: of those that a BLAS reads whole, a few elements can
// be looked at. Read by the audit library: plain constexpr code, no C++ library.
#pragma once

#include "src/observe/routines/call_shape.h"

namespace hwprof::observe {

// `columns` pieces of `rows` elements each, contiguous, `step` elements apart; a vector is one of
// which each piece is one element.
struct Operand {
  unsigned long rows = 0, columns = 0, step = 0;
};

// Of operand A or B. `step` as the call says it: a negative one of a vector has the same elements.
// No elements where a BLAS would refuse the call, or read none.
constexpr Operand operand_of(const Routine& routine, const Shape& shape, bool second, long step) {
  const auto is = [&](ShapeForm bit) { return (shape.form & bit) != 0; };
  const bool vector = second && !routine.timed;
  unsigned long rows = shape.m, columns = shape.n;  // of a matrix that the result is as large as
  bool turned = false;
  if (vector) {
    rows = 1;
    columns = is(kTransposedA) ? shape.m : shape.k;
  } else if (routine.side >= 0) {
    turned = false;
  } else if (routine.transpose_b >= 0 && second) {
    rows = shape.k;
    turned = is(kTransposedB);
  } else {
    columns = shape.k;
    // Of gemv, m and k are those of the matrix whatever its transpose.
    turned = routine.timed && is(kTransposedA);
  }
  // As they lie in memory: transposed, or row by row, or both.
  if (!vector && turned != is(kRowMajor)) {
    const unsigned long height = rows;
    rows = columns;
    columns = height;
  }
  if (vector && step < 0) step = -step;
  const bool refused = step <= 0 || (!vector && static_cast<unsigned long>(step) < rows);
  if (refused || shape.m == 0 || shape.n == 0 || shape.k == 0) return {};
  return {rows, columns, static_cast<unsigned long>(step)};
}

}  // namespace hwprof::observe
