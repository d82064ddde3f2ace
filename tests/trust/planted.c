/* A kernel that is EXTRA_PERCENT slower on purpose: for `trust.py slower`. */
#include <stdio.h>

#ifndef EXTRA_PERCENT
#define EXTRA_PERCENT 0
#endif

enum { kSize = 192, kRows = 600 * kSize };

static float a[kSize][kSize], b[kSize][kSize], c[kSize][kSize];

/* Read at run time, so that both builds have the same code. */
static volatile int extra_percent = EXTRA_PERCENT;

/* One row of the product. */
__attribute__((noinline)) static void row(int i) {
  for (int k = 0; k < kSize; ++k)
    for (int j = 0; j < kSize; ++j) c[i][j] += a[i][k] * b[k][j];
}

int main(void) {
  for (int i = 0; i < kSize; ++i)
    for (int j = 0; j < kSize; ++j) {
      a[i][j] = (float)(i % 7);
      b[i][j] = (float)(j % 5);
    }
  for (long i = 0; i < kRows; ++i) {
    row((int)(i % kSize));
    if (i % 100 < extra_percent) row((int)(i % kSize));
  }
  printf("%g\n", (double)c[1][1]);
  return 0;
}
