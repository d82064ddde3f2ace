// Needs a library with the name of a BLAS, and nothing else.
extern "C" void sgemm_();

int main() { sgemm_(); }
