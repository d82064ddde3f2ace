// Which functions are routines of BLAS, LAPACK, oneDNN and FFTW, by the name of their symbol, and
// where each finds the dimensions of its product. Read by the uprobes and by the audit library,
// which has no C++ library below it: plain constexpr code.
//
// Names are those of the Fortran and C interfaces with all suffixes in use: sgemm_, cblas_sgemm;
// 64-bit integers sgemm_64_, sgemm64_, cblas_sgemm64_, cblas_sgemm_64; and the same with SciPy's
// prefix, scipy_. Debian's ILP64 libraries have no suffix: their dimensions are read as 32 bits,
// which on a little-endian machine is right below 2^31.
// Sources: netlib BLAS, LAPACK and cblas.h, OpenBLAS exports/gensymbol, Intel oneMKL mkl_blas.h,
// dnnl.h.
#pragma once

#include "src/observe/routines/fftw_routine.h"
#include "src/observe/routines/prepared_work.h"
#include "src/observe/routines/routine_names.h"

namespace hwprof::observe {

// How many operations a shape m x n x k stands for: flop_count.h.
enum class Work : unsigned char {
  kUnknown,     // the shape is not read
  kProduct,     // an m x k matrix times a k x n one
  kTriangle,    // the same with a triangular k x k matrix, or solved for it
  kHalf,        // of the n x n result of a product, one triangle
  kHalfOfBoth,  // the same of two products, A B' + B A'
  kScaling,     // of k numbers
  kSum,         // of k numbers
  kRotation,    // of k pairs of numbers
  kMoving,      // of k numbers, which computes nothing
  // LAPACK's, of a matrix with m rows or, where there is one, n right-hand sides.
  kLu,               // of an m x n matrix
  kLuSolution,       // with a factored matrix
  kLuBoth,           // factored and solved
  kCholesky,         // of a symmetric matrix
  kCholeskyInverse,  // of a factored one
  kCholeskySolution,
  kCholeskyBoth,
  kTriangleInverse,
};

// Where the routine's are not known. No BLAS routine has more.
inline constexpr unsigned char kMostArguments = 24;

struct Routine {
  bool blas = true;  // false: a product of oneDNN, LAPACK, or FFTW
  bool lapack = false;
  Prepared prepared = Prepared::kNone;
  fftw::Function fftw = {};   // of a plan or a planner
  bool timed = false;         // matrix products: long enough that the time inside means something
  bool by_reference = false;  // dimensions and letters are passed by pointer, as Fortran does
  bool wide = false;          // dimensions are 64-bit by the name of the routine
  bool complex = false;
  bool parts = false;   // real arithmetic on the real and on the imaginary parts
  bool layout = false;  // the first argument says whether rows or columns are contiguous
  Work work = Work::kUnknown;
  // Which integer arguments, counted from 0, hold the dimensions and what the call says of its
  // matrices; kOne: that dimension is 1, that is not said.
  signed char m = -1, n = -1, k = -1;
  signed char side = -1, transpose_a = -1, transpose_b = -1;
  // The operands whose whole rectangle is read, each with its leading dimension or step behind it:
  // call_operand.h. kOne: there is none that is known.
  signed char a = -1, b = -1;
  unsigned char number_bytes = 0;  // of the numbers in them
  // At most so many are no floating-point numbers, the hidden lengths of Fortran's texts among
  // them: who calls it in another's place passes them on.
  unsigned char arguments = kMostArguments;
};
inline constexpr signed char kOne = -1;
// k is m where the square matrix stands left, else n.
inline constexpr signed char kBySide = -2;

namespace routine_names {

// An operation, for which types it is there, and its arguments in Fortran, a letter each:
//   s side, u uplo, t and v transposes, d diag; m n k dimensions; a b scalars, p q real ones of a
//   complex routine; A B C matrices with their leading dimension, P a packed one; x y vectors with
//   their step; r where the result goes.
// The C interface has the memory layout in front, but not where there is no matrix.
struct Operation {
  const char* name;
  const char* types;
  bool timed;
  bool layout_in_c;
  Work work = Work::kUnknown;
  const char* arguments = "";
  bool replayed = true;  // false: some libraries have no such routine, or it returns by a pointer
  bool parts = false;    // of complex numbers, by real arithmetic on their parts
};

// The dimensions of what comes in batches do not tell how many there are; those of bands are four.
inline constexpr Operation kOperations[] = {
    {"gemm", "sdcz", true, true, Work::kProduct, "tvmnkaABbC"},
    {"gemm3m", "cz", true, true, Work::kProduct, "tvmnkaABbC", false},
    {"gemmt", "sdcz", true, true, Work::kHalf, "utvnkaABbC"},
    {"gemmtr", "sdcz", true, true, Work::kHalf, "utvnkaABbC", false},
    {"gemm_batch", "sdcz", true, true},
    {"gemm_batch_strided", "sdcz", true, true},
    {"syrk", "sdcz", true, true, Work::kHalf, "utnkaAbC"},
    {"herk", "cz", true, true, Work::kHalf, "utnkpAqC"},
    {"syr2k", "sdcz", true, true, Work::kHalfOfBoth, "utnkaABbC"},
    {"her2k", "cz", true, true, Work::kHalfOfBoth, "utnkaABqC"},
    {"symm", "sdcz", true, true, Work::kProduct, "sumnaABbC"},
    {"hemm", "cz", true, true, Work::kProduct, "sumnaABbC"},
    {"trmm", "sdcz", true, true, Work::kTriangle, "sutdmnaAB"},
    {"trsm", "sdcz", true, true, Work::kTriangle, "sutdmnaAB"},
    {"gemv", "sdcz", false, true, Work::kProduct, "tmkaAxby"},
    {"ger", "sd", false, true, Work::kProduct, "mnaxyA"},
    {"geru", "cz", false, true, Work::kProduct, "mnaxyA"},
    {"gerc", "cz", false, true, Work::kProduct, "mnaxyA"},
    {"symv", "sdcz", false, true, Work::kProduct, "umaAxby"},
    {"hemv", "cz", false, true, Work::kProduct, "umaAxby"},
    {"spmv", "sdcz", false, true, Work::kProduct, "umaPxby"},
    {"hpmv", "cz", false, true, Work::kProduct, "umaPxby"},
    {"trmv", "sdcz", false, true, Work::kTriangle, "utdmAx"},
    {"trsv", "sdcz", false, true, Work::kTriangle, "utdmAx"},
    {"tpmv", "sdcz", false, true, Work::kTriangle, "utdmPx"},
    {"tpsv", "sdcz", false, true, Work::kTriangle, "utdmPx"},
    {"syr", "sdcz", false, true, Work::kHalf, "umaxA"},
    {"her", "cz", false, true, Work::kHalf, "umpxA"},
    {"spr", "sdcz", false, true, Work::kHalf, "umaxP"},
    {"hpr", "cz", false, true, Work::kHalf, "umpxP"},
    {"syr2", "sd", false, true, Work::kHalfOfBoth, "umaxyA"},
    {"her2", "cz", false, true, Work::kHalfOfBoth, "umaxyA"},
    {"spr2", "sd", false, true, Work::kHalfOfBoth, "umaxyP"},
    {"hpr2", "cz", false, true, Work::kHalfOfBoth, "umaxyP"},
    {"gbmv", "sdcz", false, true},
    {"sbmv", "sd", false, true},
    {"hbmv", "cz", false, true},
    {"tbmv", "sdcz", false, true},
    {"tbsv", "sdcz", false, true},
    {"dot", "sd", false, false, Work::kProduct, "kxy"},
    // Compilers disagree on how Fortran returns a complex number: with or without a hidden argument
    // in front.
    {"dotu", "cz", false, false},
    {"dotc", "cz", false, false},
    {"dotu_sub", "cz", false, false, Work::kProduct, "kxyr", false},
    {"dotc_sub", "cz", false, false, Work::kProduct, "kxyr", false},
    {"axpy", "sdcz", false, false, Work::kProduct, "kaxy"},
    {"sdot", "d", false, false, Work::kProduct, "kxy", false},    // dsdot
    {"dsdot", "s", false, false, Work::kProduct, "kaxy", false},  // sdsdot
    {"nrm2", "sd", false, false, Work::kProduct, "kx", false},
    {"cnrm2", "s", false, false, Work::kProduct, "kx", false, true},
    {"znrm2", "d", false, false, Work::kProduct, "kx", false, true},
    {"asum", "sd", false, false, Work::kSum, "kx", false},
    {"casum", "s", false, false, Work::kSum, "kx", false, true},
    {"zasum", "d", false, false, Work::kSum, "kx", false, true},
    {"scal", "sdcz", false, false, Work::kScaling, "kax", false},
    {"sscal", "c", false, false, Work::kScaling, "kpx", false, true},
    {"dscal", "z", false, false, Work::kScaling, "kpx", false, true},
    {"rot", "sd", false, false, Work::kRotation, "kxypq", false},
    {"srot", "c", false, false, Work::kRotation, "kxypq", false, true},
    {"drot", "z", false, false, Work::kRotation, "kxypq", false, true},
    {"rotm", "sd", false, false, Work::kRotation, "kxyP", false},
    {"copy", "sdcz", false, false, Work::kMoving, "kxy", false},
    {"swap", "sdcz", false, false, Work::kMoving, "kxy", false},
    {"samax", "i", false, false, Work::kMoving, "kx", false},
    {"damax", "i", false, false, Work::kMoving, "kx", false},
    {"camax", "i", false, false, Work::kMoving, "kx", false},
    {"zamax", "i", false, false, Work::kMoving, "kx", false},
    {"rotg", "sdcz", false, false},
    {"rotmg", "sd", false, false},
};

// Of LAPACK those that take long. How many FLOP an eigenvalue takes lies in the numbers; what has a
// workspace (geqrf) is called to ask for its size, too.
inline constexpr Operation kLapack[] = {
    {"getrf", "sdcz", true, false, Work::kLu, "mnAPP"},
    {"getrs", "sdcz", true, false, Work::kLuSolution, "tmnAPBP"},
    {"gesv", "sdcz", true, false, Work::kLuBoth, "mnAPBP"},
    {"potrf", "sdcz", true, false, Work::kCholesky, "umAP"},
    {"potri", "sdcz", true, false, Work::kCholeskyInverse, "umAP"},
    {"potrs", "sdcz", true, false, Work::kCholeskySolution, "umnABP"},
    {"posv", "sdcz", true, false, Work::kCholeskyBoth, "umnABP"},
    {"trtri", "sdcz", true, false, Work::kTriangleInverse, "udmAP"},
    {"getri", "sdcz", true, false},
    {"sytrf", "sdcz", true, false},
    {"hetrf", "cz", true, false},
    {"sysv", "sdcz", true, false},
    {"hesv", "cz", true, false},
    {"gbsv", "sdcz", true, false},
    {"geqrf", "sdcz", true, false},
    {"geqp3", "sdcz", true, false},
    {"gelqf", "sdcz", true, false},
    {"orgqr", "sd", true, false},
    {"ungqr", "cz", true, false},
    {"ormqr", "sd", true, false},
    {"unmqr", "cz", true, false},
    {"gels", "sdcz", true, false},
    {"gelsd", "sdcz", true, false},
    {"gelsy", "sdcz", true, false},
    {"gehrd", "sdcz", true, false},
    {"gebrd", "sdcz", true, false},
    {"sytrd", "sd", true, false},
    {"hetrd", "cz", true, false},
    {"syev", "sd", true, false},
    {"heev", "cz", true, false},
    {"syevd", "sd", true, false},
    {"heevd", "cz", true, false},
    {"syevr", "sd", true, false},
    {"heevr", "cz", true, false},
    {"sygvd", "sd", true, false},
    {"hegvd", "cz", true, false},
    {"geev", "sdcz", true, false},
    {"gees", "sdcz", true, false},
    {"hseqr", "sdcz", true, false},
    {"gesvd", "sdcz", true, false},
    {"gesdd", "sdcz", true, false},
};

// Products on narrow types (bfloat16, half), whose names do not begin with one of the four letters.
inline constexpr const char* kNarrowProducts[] = {"sbgemm", "bgemm", "shgemm", "hgemm"};

struct OtherLibrary {
  const char* name;
  Routine routine;
};
inline constexpr OtherLibrary kOtherLibraries[] = {
    {"dnnl_primitive_execute", {.blas = false, .prepared = Prepared::kPrimitive, .arguments = 4}},
    {"mkldnn_primitive_execute", {.blas = false, .arguments = 4}},
    {"dnnl_sgemm", {.blas = false, .wide = true, .work = Work::kProduct, .m = 2, .n = 3, .k = 4}},
    {"dnnl_gemm_u8s8s32",
     {.blas = false, .wide = true, .work = Work::kProduct, .m = 3, .n = 4, .k = 5}},
    {"dnnl_gemm_s8s8s32",
     {.blas = false, .wide = true, .work = Work::kProduct, .m = 3, .n = 4, .k = 5}},
};

// `bare`: Fortran's, without the underscore at its end.
constexpr bool is_suffix(const char* text, bool c_interface, bool& wide, bool& bare) {
  const bool bare_wide = !c_interface && equal(text, "_64");
  bare = bare_wide || (!c_interface && equal(text, ""));
  wide = bare_wide || equal(text, "64_") || equal(text, c_interface ? "_64" : "_64_");
  return bare || wide || equal(text, c_interface ? "" : "_");
}

// Dimensions stand before what takes more than one argument.
constexpr signed char position_of(char letter, const char* arguments) {
  for (signed char i = 0; arguments[i] != '\0'; ++i) {
    if (arguments[i] == letter) return i;
  }
  return kOne;
}

// Real scalars that the C interface passes by value are no integer arguments.
constexpr signed char operand_position(char operand, const Operation& operation, bool c_interface,
                                       bool complex) {
  int place = c_interface && operation.layout_in_c ? 1 : 0;
  for (const char* letter = operation.arguments; *letter != '\0'; ++letter) {
    if (*letter == operand) return static_cast<signed char>(place);
    const bool is_array =
        *letter == 'A' || *letter == 'B' || *letter == 'C' || *letter == 'x' || *letter == 'y';
    const bool is_real =
        *letter == 'p' || *letter == 'q' || (!complex && (*letter == 'a' || *letter == 'b'));
    place += is_array ? 2 : c_interface && is_real ? 0 : 1;
  }
  return kOne;
}

// Of a symmetric or triangular matrix only a part need be there.
constexpr void set_operands(const Operation& operation, char type, bool c_interface,
                            Routine& routine) {
  const bool single = type == 's' || type == 'c', complex = type == 'c' || type == 'z';
  const auto place = [&](char operand) {
    return operand_position(operand, operation, c_interface, complex);
  };
  const bool whole =
      routine.transpose_a >= 0 && routine.side == kOne && routine.work != Work::kTriangle;
  if (!whole && routine.side == kOne) return;
  routine.a = whole ? place('A') : kOne;
  routine.b = place(routine.timed ? 'B' : 'x');
  routine.number_bytes = single ? 4 : 8;
}

constexpr unsigned char count_arguments(const Operation& operation, bool c_interface) {
  if (*operation.arguments == '\0') return kMostArguments;
  unsigned count = c_interface && operation.layout_in_c ? 1 : 0;
  for (const char* letter = operation.arguments; *letter != '\0'; ++letter) {
    const bool is_text =
        *letter == 's' || *letter == 'u' || *letter == 't' || *letter == 'v' || *letter == 'd';
    const bool is_array = *letter == 'A' || *letter == 'B' || *letter == 'C' || *letter == 'x' ||
                          *letter == 'y';  // and its leading dimension or step
    count += is_array || (is_text && !c_interface) ? 2 : 1;
  }
  return static_cast<unsigned char>(count);
}

constexpr void set_operation(const Operation& operation, bool lapack, bool c_interface,
                             bool complex, Routine& routine) {
  routine.timed = operation.timed;
  routine.complex = complex && !operation.parts;
  routine.parts = operation.parts;
  routine.layout = c_interface && operation.layout_in_c;
  routine.work = operation.work;
  routine.arguments = count_arguments(operation, c_interface);
  const auto position = [&](char letter) {
    const signed char at = position_of(letter, operation.arguments);
    return static_cast<signed char>(at < 0 || !routine.layout ? at : at + 1);
  };
  routine.blas = !lapack;
  routine.lapack = lapack;
  routine.m = position('m');
  routine.n = position('n');
  routine.k = position('k');
  routine.side = position('s');
  routine.transpose_a = position('t');
  routine.transpose_b = position('v');
  // A triangle's result is square; so is a matrix between two vectors, or beside another.
  if (routine.lapack) {
    if (routine.work == Work::kCholesky || routine.work == Work::kCholeskyInverse ||
        routine.work == Work::kTriangleInverse) {
      routine.n = routine.m;
    }
  } else if (routine.work == Work::kHalf || routine.work == Work::kHalfOfBoth) {
    routine.m = routine.n = routine.m == kOne ? routine.n : routine.m;
  } else if (routine.side >= 0) {
    routine.k = kBySide;
  } else if (routine.n == kOne && routine.k == kOne) {
    routine.k = routine.m;
  }
}

// Room for the name of a Fortran routine.
inline constexpr unsigned kFortranBytes = 32;

// "dgemm_" of "dgemm", "DGEMM" and "DGEMM_", as MKL has them beside it, and its header for C
// declares them. False where `name` can be none of these spellings.
constexpr bool usual_spelling(const char* name, char* usual) {
  const bool upper = *name >= 'B' && *name <= 'Z';
  if (!upper && (*name < 'b' || *name > 'z')) return false;
  unsigned length = 0;
  for (; name[length] != '\0'; ++length) {
    const char letter = name[length];
    const bool fits = (letter >= '0' && letter <= '9') || letter == '_' ||
                      (upper ? letter >= 'A' && letter <= 'Z' : letter >= 'a' && letter <= 'z');
    if (!fits || length + 2 >= kFortranBytes) return false;
    usual[length] =
        static_cast<char>(upper && letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
  }
  if (usual[length - 1] != '_') {
    usual[length++] = '_';
  } else if (!upper) {
    return false;
  }
  usual[length] = '\0';
  return true;
}

}  // namespace routine_names

// The same as find_routine(), and in the same time, of names without the underscore, too, which
// `bare` says. A function of any program may be called so: it is a routine where the file that has
// it has it by the usual name as well (routine_names::usual_spelling).
constexpr bool find_spelling(const char* name, Routine& routine, bool& bare) {
  using namespace routine_names;
  // Of the hundred thousands of symbols of a process, most end here.
  if (*name < 'b' || *name > 'z') return false;
  for (const OtherLibrary& other : kOtherLibraries) {
    if (equal(name, other.name)) return routine = other.routine, true;
  }
  if (fftw::Function function; fftw::find_function(name, function)) {
    routine = Routine{.blas = false, .fftw = function};
    routine.prepared = function.planner != nullptr ? Prepared::kPlanner : Prepared::kPlan;
    routine.arguments =
        function.planner != nullptr ? function.planner->arguments : fftw::kMostArgumentsOfExecution;
    return true;
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
    if (suffix != nullptr && is_suffix(suffix, c_interface, routine.wide, bare)) {
      return set_operation(kOperations[0], false, c_interface, false, routine), true;
    }
  }
  const auto is_named = [&](const Operation& operation, bool lapack) {
    const char* suffix = *rest != '\0' ? after(rest + 1, operation.name) : nullptr;
    if (suffix == nullptr || !is_suffix(suffix, c_interface, routine.wide, bare)) return false;
    for (const char* type = operation.types; *type != '\0'; ++type) {
      if (*type != *rest) continue;
      const bool complex = *type == 'c' || *type == 'z';
      set_operation(operation, lapack, c_interface, complex, routine);
      if (!lapack) set_operands(operation, *type, c_interface, routine);
      return true;
    }
    return false;
  };
  for (const Operation& operation : kOperations) {
    if (is_named(operation, false)) return true;
  }
  for (const Operation& operation : kLapack) {
    if (!c_interface && is_named(operation, true)) return true;
  }
  return false;
}

// False when the name is none of theirs.
constexpr bool find_routine(const char* name, Routine& routine) {
  bool bare = false;
  return find_spelling(name, routine, bare) && !bare;
}

}  // namespace hwprof::observe
