// A library without a name that anybody knows, and one routine of a BLAS: a plain loop.
// NOLINTBEGIN(readability-identifier-naming): Fortran's name
extern "C" void dgemm_(const char* /*a_form*/, const char* /*b_form*/, const int* m, const int* n,
                       const int* k, const double* alpha, const double* a, const int* lda,
                       const double* b, const int* ldb, const double* beta, double* c,
                       const int* ldc) {
  // NOLINTEND(readability-identifier-naming)
  for (long j = 0; j < *n; ++j) {
    for (long i = 0; i < *m; ++i) {
      double sum = 0;
      for (long l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
    }
  }
}
