// Which functions are BLAS routines, by the name of their symbol, and where each finds the
// dimensions of its product. Read by the uprobes and by the audit library, which has no C++
// library below it: plain constexpr code, no includes.
//
// Names are those of the Fortran and C interfaces with all suffixes in use: sgemm_, cblas_sgemm;
// 64-bit integers sgemm_64_, sgemm64_, cblas_sgemm64_, cblas_sgemm_64; and the same with SciPy's
// prefix, scipy_. Debian's ILP64 libraries have no suffix: their dimensions are read as 32 bits,
// which on a little-endian machine is right below 2^31.
// Sources: netlib BLAS and cblas.h, OpenBLAS exports/gensymbol, Intel oneMKL mkl_blas.h, dnnl.h.
#pragma once

namespace hwprof::observe {

struct Routine {
  bool blas = true;           // false: a product of oneDNN, which is not BLAS
  bool timed = false;         // matrix products: long enough that the time inside means something
  bool by_reference = false;  // dimensions are passed by pointer, as Fortran does
  bool wide = false;          // they are 64-bit by the name of the routine
  // Which integer arguments, counted from 0, hold the dimensions of the product m x k times k x n;
  // -1: that dimension is 1. All count among the six that x86-64 passes in registers.
  signed char m = -1, n = -1, k = -1;
  unsigned char flops = 0;  // for each of m n k; 0: the shape is not read
};

namespace routine_names {

// An operation, for which types it is there, and the positions of m, n, k in Fortran. The C
// interface has the memory layout in front, but not where there is no matrix.
struct Operation {
  const char* name;
  const char* types;
  bool timed;
  bool has_shape;
  signed char m, n, k;
  bool layout_in_c;
};

inline constexpr Operation kOperations[] = {
    {"gemm", "sdcz", true, true, 2, 3, 4, true},
    {"gemm3m", "cz", true, true, 2, 3, 4, true},
    {"gemmt", "sdcz", true, false, -1, -1, -1, true},
    {"gemm_batch", "sdcz", true, false, -1, -1, -1, true},
    {"gemm_batch_strided", "sdcz", true, false, -1, -1, -1, true},
    {"gemv", "sdcz", false, true, 1, -1, 2, true},
    {"ger", "sd", false, true, 0, 1, -1, true},
    {"geru", "cz", false, true, 0, 1, -1, true},
    {"gerc", "cz", false, true, 0, 1, -1, true},
    {"dot", "sd", false, true, -1, -1, 0, false},
    // Compilers disagree on how Fortran returns a complex number: with or without a hidden argument
    // in front.
    {"dotu", "cz", false, false, -1, -1, -1, false},
    {"dotc", "cz", false, false, -1, -1, -1, false},
    {"dotu_sub", "cz", false, true, -1, -1, 0, false},
    {"dotc_sub", "cz", false, true, -1, -1, 0, false},
    {"axpy", "sdcz", false, true, -1, -1, 0, false},
    {"syrk", "sdcz", false, false, -1, -1, -1, true},
    {"herk", "cz", false, false, -1, -1, -1, true},
    {"syr2k", "sdcz", false, false, -1, -1, -1, true},
    {"her2k", "cz", false, false, -1, -1, -1, true},
    {"symm", "sdcz", false, false, -1, -1, -1, true},
    {"hemm", "cz", false, false, -1, -1, -1, true},
    {"symv", "sd", false, false, -1, -1, -1, true},
    {"hemv", "cz", false, false, -1, -1, -1, true},
    {"trmm", "sdcz", false, false, -1, -1, -1, true},
    {"trsm", "sdcz", false, false, -1, -1, -1, true},
    {"trmv", "sdcz", false, false, -1, -1, -1, true},
    {"trsv", "sdcz", false, false, -1, -1, -1, true},
};

// Products on narrow types (bfloat16, half), whose names do not begin with one of the four letters.
inline constexpr const char* kNarrowProducts[] = {"sbgemm", "bgemm", "shgemm", "hgemm"};

struct OtherLibrary {
  const char* name;
  Routine routine;
};
inline constexpr OtherLibrary kOtherLibraries[] = {
    {"dnnl_primitive_execute", {.blas = false}},
    {"mkldnn_primitive_execute", {.blas = false}},
    {"dnnl_sgemm", {.blas = false, .wide = true, .m = 2, .n = 3, .k = 4, .flops = 2}},
    {"dnnl_gemm_u8s8s32", {.blas = false, .wide = true, .m = 3, .n = 4, .k = 5, .flops = 2}},
    {"dnnl_gemm_s8s8s32", {.blas = false, .wide = true, .m = 3, .n = 4, .k = 5, .flops = 2}},
};

constexpr bool equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// What follows `prefix` in `text`, or nullptr.
constexpr const char* after(const char* text, const char* prefix) {
  while (*prefix != '\0') {
    if (*text++ != *prefix++) return nullptr;
  }
  return text;
}

constexpr bool is_suffix(const char* text, bool c_interface, bool& wide) {
  wide = equal(text, "64_") || equal(text, c_interface ? "_64" : "_64_");
  return wide || equal(text, c_interface ? "" : "_");
}

constexpr void set_shape(const Operation& operation, bool c_interface, bool complex,
                         Routine& routine) {
  routine.timed = operation.timed;
  if (!operation.has_shape) return;
  const signed char shift = c_interface && operation.layout_in_c ? 1 : 0;
  const auto moved = [&](signed char position) {
    return static_cast<signed char>(position < 0 ? position : position + shift);
  };
  routine.m = moved(operation.m);
  routine.n = moved(operation.n);
  routine.k = moved(operation.k);
  routine.flops = complex ? 8 : 2;
}

}  // namespace routine_names

// False when the name is none of theirs.
constexpr bool find_routine(const char* name, Routine& routine) {
  using namespace routine_names;
  // Of the hundred thousands of symbols of a process, most end here.
  if (*name < 'b' || *name > 'z') return false;
  for (const OtherLibrary& other : kOtherLibraries) {
    if (equal(name, other.name)) return routine = other.routine, true;
  }
  const char* rest = after(name, "scipy_");
  if (rest == nullptr) rest = name;
  const char* c_name = after(rest, "cblas_");
  const bool c_interface = c_name != nullptr;
  if (c_interface) rest = c_name;

  routine = Routine{};
  routine.by_reference = !c_interface;
  for (const char* product : kNarrowProducts) {
    const char* suffix = after(rest, product);
    if (suffix != nullptr && is_suffix(suffix, c_interface, routine.wide)) {
      return set_shape(kOperations[0], c_interface, false, routine), true;
    }
  }
  for (const Operation& operation : kOperations) {
    const char* suffix = *rest != '\0' ? after(rest + 1, operation.name) : nullptr;
    if (suffix == nullptr || !is_suffix(suffix, c_interface, routine.wide)) continue;
    for (const char* type = operation.types; *type != '\0'; ++type) {
      if (*type != *rest) continue;
      return set_shape(operation, c_interface, *type == 'c' || *type == 'z', routine), true;
    }
  }
  return false;
}

}  // namespace hwprof::observe
