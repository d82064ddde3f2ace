// A program with GCC's address sanitizer, which is a library that wants to be the first one. Exit 7:
// the product is right.
#include <stdlib.h>

void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int,
                 double, double*, int);

int main(void) {
  enum { kSize = 20, kRowMajor = 101, kPlain = 111 };
  double* a = malloc(kSize * kSize * sizeof(double));
  double* c = calloc(kSize * kSize, sizeof(double));
  for (int i = 0; i < kSize * kSize; ++i) a[i] = 1;
  cblas_dgemm(kRowMajor, kPlain, kPlain, kSize, kSize, kSize, 1, a, kSize, a, kSize, 0, c, kSize);
  const int right = c[0] == kSize && c[kSize * kSize - 1] == kSize;
  free(a);
  free(c);
  return right ? 7 : 3;
}
