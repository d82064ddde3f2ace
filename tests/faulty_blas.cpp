// A BLAS of plain loops that computes one product wrongly: single precision, m = 17, k = 15. So do
// kernels whose last rows of a block were never tried.
// NOLINTBEGIN(readability-identifier-naming): Fortran's names
namespace {

template <class Real>
void multiply(char trans_a, char trans_b, int m, int n, int k, Real alpha, const Real* a, int lda,
              const Real* b, int ldb, Real beta, Real* c, int ldc) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < m; ++i) {
      Real sum = 0;
      for (int p = 0; p < k; ++p) {
        sum += (trans_a == 'T' ? a[p + i * lda] : a[i + p * lda]) *
               (trans_b == 'T' ? b[j + p * ldb] : b[p + j * ldb]);
      }
      c[i + j * ldc] = alpha * sum + (beta == 0 ? 0 : beta * c[i + j * ldc]);
    }
  }
}

}  // namespace

extern "C" {
void sgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) {
  multiply(*trans_a, *trans_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
  if (*m == 17 && *k == 15) c[16] += 1;
}
void dgemm_(const char* trans_a, const char* trans_b, const int* m, const int* n, const int* k,
            const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
            const double* beta, double* c, const int* ldc) {
  multiply(*trans_a, *trans_b, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}
void sgemv_() {}
}
// NOLINTEND(readability-identifier-naming)
