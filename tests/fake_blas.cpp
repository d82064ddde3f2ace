// A library that has the names of a BLAS and nothing behind them.
extern "C" {
void sgemm_() {}
void dgemm_() {}
void sgemv_() {}
}
