// A BLAS that is loaded, not linked: the question is what this machine's programs get, so the
// library is opened by path or soname at run time and called through pointers.
//
// Integers are passed as 64-bit values by address. On the little-endian machines that hwprof
// supports, a library with 32-bit integers reads the low half: one call serves LP64 and ILP64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "src/base/result.h"

namespace hwprof {

class BlasLibrary {
 public:
  using Int = std::int64_t;
  // Fortran interface (reference BLAS, netlib.org/blas): everything by address, column-major.
  // The hidden lengths of the character arguments follow, as gfortran's ABI has them.
  using Sgemm = void (*)(const char* transa, const char* transb, const Int* m, const Int* n,
                         const Int* k, const float* alpha, const float* a, const Int* lda,
                         const float* b, const Int* ldb, const float* beta, float* c,
                         const Int* ldc, std::size_t, std::size_t);
  using Dgemm = void (*)(const char* transa, const char* transb, const Int* m, const Int* n,
                         const Int* k, const double* alpha, const double* a, const Int* lda,
                         const double* b, const Int* ldb, const double* beta, double* c,
                         const Int* ldc, std::size_t, std::size_t);
  using Sgemv = void (*)(const char* trans, const Int* m, const Int* n, const float* alpha,
                         const float* a, const Int* lda, const float* x, const Int* incx,
                         const float* beta, float* y, const Int* incy, std::size_t);

  // `path_or_soname` empty: what the dynamic loader gives a program that asks for libblas.so.3,
  // then libopenblas.so.0, then the other sonames of the table in the source.
  // Fault::kUsage when a named file cannot be opened or is not a BLAS; Fault::kEnvironment when
  // no default is installed. RTLD_LOCAL; never closed (BLAS worker threads outlive dlclose).
  // A small product is computed and checked: what merely has a symbol of that name is refused.
  static Result<BlasLibrary> load(const std::string& path_or_soname);
  // The same of a file that served a program's calls: one without these functions may have others.
  static Result<BlasLibrary> load_what_served(const std::string& path);

  // False only of what load_what_served() gave: then nothing but symbol() may be called.
  [[nodiscard]] bool has_products() const { return sgemm_ != nullptr; }
  [[nodiscard]] const std::string& requested() const { return requested_; }
  // File that holds sgemm_, resolved (alternatives followed).
  [[nodiscard]] const std::string& path() const { return path_; }

  // C = alpha op(A) op(B) + beta C, row-major, as cblas_sgemm(CblasRowMajor, ...).
  // op(A): [m, k]; op(B): [k, n]; C: [m, n].
  void sgemm(bool trans_a, bool trans_b, Int m, Int n, Int k, float alpha, const float* a, Int lda,
             const float* b, Int ldb, float beta, float* c, Int ldc) const;
  void dgemm(bool trans_a, bool trans_b, Int m, Int n, Int k, double alpha, const double* a,
             Int lda, const double* b, Int ldb, double beta, double* c, Int ldc) const;
  // y = alpha A x + beta y, A: [rows, cols] row-major.
  void sgemv(Int rows, Int cols, float alpha, const float* a, Int lda, const float* x, float beta,
             float* y) const;

  // Tells the library how many threads to use; false when it offers no such call.
  bool set_threads(int count) const;

  // Address of a symbol of the file that serves sgemm_, or of what that file depends on (gotoblas
  // lives in libopenblas.so.0, below Debian's libblas.so.3); nullptr when there is none. Other
  // libraries of the process are never searched: a reference BLAS stays one while OpenBLAS is
  // mapped too. The decoration of the library's sgemm_ is tried first: "openblas_get_config" finds
  // scipy_openblas_get_config64_.
  [[nodiscard]] void* symbol(const std::string& name) const;

 private:
  BlasLibrary() = default;
  static Result<BlasLibrary> open(const std::string& path_or_soname, bool needs_products);
  bool bind();
  [[nodiscard]] bool multiplies() const;

  std::string requested_, path_;
  std::string prefix_, suffix_ = "_";  // of sgemm: "" and "_", "scipy_" and "_64_"
  void* handle_ = nullptr;
  Sgemm sgemm_ = nullptr;
  Dgemm dgemm_ = nullptr;
  Sgemv sgemv_ = nullptr;
};

}  // namespace hwprof
