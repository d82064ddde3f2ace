// Looks like OpenBLAS to who reads it from outside, and computes nothing: its dispatch pointer, its
// tables, its number of threads, and the text of its version. NO_CHOICE leaves the pointer empty,
// as it is before the library's constructor has run.
// NOLINTBEGIN(readability-identifier-naming): names of OpenBLAS and of Fortran
extern "C" {
struct Table {
  int of;
};
Table gotoblas_HASWELL{1};
Table gotoblas_PRESCOTT{2};
#ifdef NO_CHOICE
Table* gotoblas = nullptr;
#else
Table* gotoblas = &gotoblas_PRESCOTT;
#endif
int blas_cpu_number = 3;
const char* openblas_get_config() { return "OpenBLAS 0.3.99 DYNAMIC_ARCH "; }
void gotoblas_init() {}
void sgemm_() {}
}
// NOLINTEND(readability-identifier-naming)
