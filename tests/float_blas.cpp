// Stands in for a BLAS whose arithmetic is known: one product of the first elements, or none.

// NOLINTBEGIN(readability-identifier-naming): names of a BLAS
extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float* a, const int*, const float* b, const int*, const float*, float* c,
            const int*) {
  const volatile float factor = a[0];
  c[0] = factor * b[0];
}

void dgemm_() {}
void zgemm_() {}
void dgemv_() {}
void cblas_dgemm() {}
void cblas_dtrsm() {}
}
// NOLINTEND(readability-identifier-naming)
