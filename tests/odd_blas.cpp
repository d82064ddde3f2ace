// Stands in for a BLAS: routines with the real signatures that prove their arguments by their
// result, and one that calls back, so that a caller can leave it in any way.
#include <complex>

// NOLINTBEGIN(readability-identifier-naming): names of a BLAS
extern "C" {
void cblas_sgemm(int layout, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                 const float*, int lda, const float*, int ldb, float beta, float* c, int ldc) {
  c[0] = static_cast<float>(layout + transpose_a + transpose_b + m + n + k + lda + ldb + ldc) +
         alpha + beta;
}

// By the hidden lengths of Fortran's texts, which come last.
void sgemm_(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
            const int* k, const float* alpha, const float*, const int* lda, const float*,
            const int* ldb, const float* beta, float* c, const int* ldc, unsigned long length_a,
            unsigned long length_b) {
  c[0] = static_cast<float>(*transpose_a + *transpose_b + *m + *n + *k + *lda + *ldb + *ldc) +
         *alpha + *beta + static_cast<float>(1000 * length_a + 10000 * length_b);
}

// LAPACK, with a result in the last argument.
void dgesv_(const int* n, const int* right_sides, double*, const int* lda, int*, double*,
            const int* ldb, int* info) {
  *info = *n + 10 * *right_sides + 100 * *lda + 1000 * *ldb;
}

void dgesvd_(const char* job_u, const char* job_v, const int* m, const int* n, double*,
             const int* lda, double*, double*, const int* ldu, double*, const int* ldv, double*,
             const int* work, int* info, unsigned long length_u, unsigned long length_v) {
  *info = *job_u + *job_v + *m + *n + *lda + *ldu + *ldv + *work +
          static_cast<int>(1000 * length_u + 10000 * length_v);
}

double _Complex zdotc_(const int* n, const void*, const int* step_x, const void*,
                       const int* step_y) {
  double _Complex result;
  __real__ result = *n + 10.0 * *step_x;
  __imag__ result = 100.0 * *step_y;
  return result;
}

double cblas_ddot(int n, const double* x, int step_x, const double*, int step_y) {
  return n + 10.0 * step_x + 100.0 * step_y + x[0];
}

// `x` is a function, `a` what it gets.
void cblas_dgemv(int, int, int, int, double, const double* a, int, const double* x, int, double,
                 double*, int) {
  reinterpret_cast<void (*)(const void*)>(reinterpret_cast<unsigned long>(x))(a);
}
}
// NOLINTEND(readability-identifier-naming)
