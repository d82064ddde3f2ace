// The shape of one call, from the values of its arguments. Read by hwprof and by the audit library:
// plain constexpr code, no C++ library.
#pragma once

#include "src/observe/routines/blas_routine.h"

namespace hwprof::observe {

enum ShapeForm : unsigned {
  kRowMajor = 1,
  kRightSide = 2,  // the symmetric or triangular matrix
  kTransposedA = 4,
  kTransposedB = 8,
};

struct Shape {
  unsigned long m = 0, n = 0, k = 0;
  unsigned form = 0;  // ShapeForm

  constexpr bool operator==(const Shape&) const = default;
};

// 'N', 'T', 'C' in both cases, and the numbers of cblas.h; MKL takes words that begin like them.
// False: another letter, with which a BLAS refuses the call before it looks at what follows.
constexpr bool read_transpose(unsigned char letter, ShapeForm bit, unsigned& form) {
  switch (letter) {
    case 'N':
    case 'n':
    case 111:  // CblasNoTrans
    case 114:  // CblasConjNoTrans
      return true;
    case 'T':
    case 't':
    case 'C':
    case 'c':
    case 112:  // CblasTrans
    case 113:  // CblasConjTrans
      return form |= bit, true;
    default:
      return false;
  }
}

constexpr bool read_side(unsigned char letter, unsigned& form) {
  switch (letter) {
    case 'L':
    case 'l':
    case 141:  // CblasLeft
      return true;
    case 'R':
    case 'r':
    case 142:  // CblasRight
      return form |= kRightSide, true;
    default:
      return false;
  }
}

constexpr bool read_layout(unsigned char letter, unsigned& form) {
  if (letter == 101) form |= kRowMajor;  // CblasRowMajor
  return letter == 101 || letter == 102;
}

// `letter(position, value)` and `dimension(position, value)` fetch an argument; they return false
// where it cannot be read. In the order in which a BLAS checks them, and no further than it goes:
// what stands behind a wrong one need not be there. False: no shape.
template <class Letter, class Dimension>
constexpr bool read_shape(const Routine& routine, Letter letter, Dimension dimension,
                          Shape& shape) {
  if (routine.work == Work::kUnknown) return false;
  unsigned char value = 0;
  shape = Shape{};
  if (routine.layout && !(letter(0, value) && read_layout(value, shape.form))) return false;
  if (routine.side >= 0 && !(letter(routine.side, value) && read_side(value, shape.form)))
    return false;
  if (routine.transpose_a >= 0 &&
      !(letter(routine.transpose_a, value) && read_transpose(value, kTransposedA, shape.form)))
    return false;
  if (routine.transpose_b >= 0 &&
      !(letter(routine.transpose_b, value) && read_transpose(value, kTransposedB, shape.form)))
    return false;
  const signed char positions[] = {routine.m, routine.n, routine.k};
  unsigned long* const dimensions[] = {&shape.m, &shape.n, &shape.k};
  for (int i = 0; i < 3; ++i) {
    long number = 1;
    if (positions[i] >= 0 && !dimension(positions[i], number)) return false;
    if (number < 0) {  // multiplies nothing
      shape = Shape{.form = shape.form};
      return true;
    }
    *dimensions[i] = static_cast<unsigned long>(number);
  }
  if (routine.k == kBySide) shape.k = (shape.form & kRightSide) != 0 ? shape.n : shape.m;
  return true;
}

}  // namespace hwprof::observe
