// A library that has the names of a BLAS and nothing behind them; with GPU one that calls
// libcublas, as libnvblas does.
// NOLINTBEGIN(readability-identifier-naming): Fortran's names
extern "C" {
#ifdef GPU
void cublas_product();
void sgemm_() { cublas_product(); }
#else
void cublas_product() {}
void sgemm_() {}
#endif
void dgemm_() {}
void sgemv_() {}
}
// NOLINTEND(readability-identifier-naming)
