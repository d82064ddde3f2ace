// Which functions make a plan of FFTW or execute one, by the name of their symbol, and where a
// planner finds the sizes of its transform. Read by hwprof and by the audit library: plain
// constexpr code, no C++ library.
//
// Names are those of the C interface (fftw3.h, and fftw3.f03 for Fortran) for double, single, long
// double and __float128: fftw_, fftwf_, fftwl_, fftwq_. MKL's and others' have the same. The old
// Fortran interface (dfftw_execute_) is not among them.
#pragma once

#include "src/observe/routines/routine_names.h"

namespace hwprof::observe::fftw {

// Arguments are counted from 0, -1: there is none. Sizes are `rank` integers from argument 0 on;
// where that is kArray their number is argument 0, and argument 1 points to the first, the next
// ones `step` bytes behind each other. The number of transforms is argument 2; of the guru planners
// that is the rank of another such array, in argument 3, of whose sizes it is the product.
struct Planner {
  const char* name;
  const char* kind;
  signed char rank;
  unsigned char arguments;
  signed char sign = -1;  // of the exponent
  unsigned char step = 4;
  bool many = false, guru = false;
};
inline constexpr signed char kArray = 0;
// fftw_iodim: three int; fftw_iodim64: three ptrdiff_t.
inline constexpr unsigned char kDimension = 12, kDimension64 = 24;

inline constexpr Planner kPlanners[] = {
    {"dft_1d", "c2c", 1, 5, 3},
    {"dft_2d", "c2c", 2, 6, 4},
    {"dft_3d", "c2c", 3, 7, 5},
    {"dft", "c2c", kArray, 6, 4},
    {"many_dft", "c2c", kArray, 13, 11, 4, true},
    {"guru_dft", "c2c", kArray, 8, 6, kDimension, true, true},
    {"guru64_dft", "c2c", kArray, 8, 6, kDimension64, true, true},
    // Its direction lies in the order of real and imaginary parts.
    {"guru_split_dft", "c2c", kArray, 9, -1, kDimension, true, true},
    {"guru64_split_dft", "c2c", kArray, 9, -1, kDimension64, true, true},
    {"dft_r2c_1d", "r2c", 1, 4},
    {"dft_r2c_2d", "r2c", 2, 5},
    {"dft_r2c_3d", "r2c", 3, 6},
    {"dft_r2c", "r2c", kArray, 5},
    {"many_dft_r2c", "r2c", kArray, 12, -1, 4, true},
    {"guru_dft_r2c", "r2c", kArray, 7, -1, kDimension, true, true},
    {"guru64_dft_r2c", "r2c", kArray, 7, -1, kDimension64, true, true},
    {"guru_split_dft_r2c", "r2c", kArray, 8, -1, kDimension, true, true},
    {"guru64_split_dft_r2c", "r2c", kArray, 8, -1, kDimension64, true, true},
    {"dft_c2r_1d", "c2r", 1, 4},
    {"dft_c2r_2d", "c2r", 2, 5},
    {"dft_c2r_3d", "c2r", 3, 6},
    {"dft_c2r", "c2r", kArray, 5},
    {"many_dft_c2r", "c2r", kArray, 12, -1, 4, true},
    {"guru_dft_c2r", "c2r", kArray, 7, -1, kDimension, true, true},
    {"guru64_dft_c2r", "c2r", kArray, 7, -1, kDimension64, true, true},
    {"guru_split_dft_c2r", "c2r", kArray, 8, -1, kDimension, true, true},
    {"guru64_split_dft_c2r", "c2r", kArray, 8, -1, kDimension64, true, true},
    {"r2r_1d", "r2r", 1, 5},
    {"r2r_2d", "r2r", 2, 7},
    {"r2r_3d", "r2r", 3, 9},
    {"r2r", "r2r", kArray, 6},
    {"many_r2r", "r2r", kArray, 13, -1, 4, true},
    {"guru_r2r", "r2r", kArray, 8, -1, kDimension, true, true},
    {"guru64_r2r", "r2r", kArray, 8, -1, kDimension64, true, true},
};

// Of the plan in their first argument.
inline constexpr const char* kExecutions[] = {
    "execute",     "execute_dft",       "execute_dft_r2c",       "execute_dft_c2r",
    "execute_r2r", "execute_split_dft", "execute_split_dft_r2c", "execute_split_dft_c2r"};
inline constexpr unsigned char kMostArgumentsOfExecution = 5;

struct Function {
  const Planner* planner = nullptr;  // nullptr: it executes a plan
  const char* type = nullptr;        // of the numbers
};

constexpr const char* type_of(char letter) {
#if defined(__x86_64__)
  constexpr const char* kLongDouble = "f80";
#else
  constexpr const char* kLongDouble = "f128";
#endif
  return letter == '_'   ? "f64"
         : letter == 'f' ? "f32"
         : letter == 'l' ? kLongDouble
         : letter == 'q' ? "f128"
                         : nullptr;
}

// False when the name is none of theirs.
constexpr bool find_function(const char* name, Function& function) {
  using namespace routine_names;
  const char* rest = after(name, "fftw");
  if (rest == nullptr || (function.type = type_of(*rest)) == nullptr) return false;
  if (*rest != '_') ++rest;
  if ((rest = after(rest, "_")) == nullptr) return false;
  for (const char* execution : kExecutions)
    if (equal(rest, execution)) return function.planner = nullptr, true;
  const char* planned = after(rest, "plan_");
  if (planned == nullptr) return false;
  for (const Planner& planner : kPlanners)
    if (equal(planned, planner.name)) return function.planner = &planner, true;
  return false;
}

}  // namespace hwprof::observe::fftw
