// Square products for some time: gemm N SECONDS [d]. Built against each library of the matrix.
// -DINT=long: 64-bit integers. -DOPEN: the library is loaded by its soname, after the start.
// -DLAPACK: a LAPACK is linked too, so that its BLAS is mapped beside the one that is called.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef INT
#define INT int
#endif

typedef void Product(const char*, const char*, const INT*, const INT*, const INT*, const void*,
                     const void*, const INT*, const void*, const INT*, const void*, void*,
                     const INT*);

#ifdef OPEN
#include <dlfcn.h>
static Product* product(int is_double) {
  const struct timespec a_while = {0, 300000000};
  nanosleep(&a_while, NULL);
  void* library = dlopen(OPEN, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(9);
  }
  return (Product*)dlsym(library, is_double ? "dgemm_" : "sgemm_");
}
#else
extern Product sgemm_, dgemm_;
static Product* product(int is_double) { return is_double ? dgemm_ : sgemm_; }
#endif

#ifdef LAPACK
extern void sgetrf_(const INT*, const INT*, float*, const INT*, INT*, INT*);
static void factorise(void) {
  float a[4] = {2, 1, 1, 3};
  INT n = 2, pivots[2], info = 0;
  sgetrf_(&n, &n, a, &n, pivots, &info);
}
#else
static void factorise(void) {}
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  const INT n = argc > 1 ? atoi(argv[1]) : 512;
  const double seconds = argc > 2 ? atof(argv[2]) : 1;
  const int is_double = argc > 3 && argv[3][0] == 'd';
  const size_t bytes = (size_t)n * (size_t)n * (is_double ? 8 : 4);
  void *a = calloc(1, bytes), *b = calloc(1, bytes), *c = calloc(1, bytes);
  const float one_s = 1;
  const double one_d = 1;
  const void* one = is_double ? (const void*)&one_d : (const void*)&one_s;
  factorise();
  Product* multiply = product(is_double);
  long calls = 0;
  for (const double begin = now(); now() - begin < seconds; ++calls) {
    multiply("N", "N", &n, &n, &n, one, a, &n, b, &n, one, c, &n);
  }
  printf("%ld\n", calls);
  return 0;
}
