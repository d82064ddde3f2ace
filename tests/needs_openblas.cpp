// Needs a library with the name of a BLAS, and nothing else.
extern "C" void sgemm_();  // NOLINT(readability-identifier-naming): a name of Fortran

int main() { sgemm_(); }
