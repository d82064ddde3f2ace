/* Programs of which a factor is foretold and then measured: products of one kind, alone or beside
   work that no BLAS does. */
#include <stdlib.h>
#include <string.h>

void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*,
            const double*, const int*, const double*, const int*, const double*, double*,
            const int*);

static void sgemv(int n, int times) {
  const float one = 1, zero = 0;
  const int step = 1;
  float* a = malloc(sizeof(float) * (size_t)n * (size_t)n);
  float* x = malloc(sizeof(float) * (size_t)n);
  float* y = malloc(sizeof(float) * (size_t)n);
  for (int i = 0; i < n * n; ++i) a[i] = 0.5F;
  for (int i = 0; i < n; ++i) x[i] = 0.25F;
  for (int i = 0; i < times; ++i) sgemv_("N", &n, &n, &one, a, &n, x, &step, &zero, y, &step);
}

static void dgemm(int n, int times, int beside) {
  const double one = 1, zero = 0;
  const size_t size = sizeof(double) * (size_t)n * (size_t)n;
  double *a = malloc(size), *b = malloc(size), *c = malloc(size);
  for (int i = 0; i < n * n; ++i) a[i] = 0.5, b[i] = 0.25;
  volatile double sum = 0;
  for (int i = 0; i < times; ++i) {
    dgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    for (long j = 0; j < (long)beside * 1000; ++j) sum = sum + 0.5;
  }
}

/* sgemv SIZE TIMES | dgemm SIZE TIMES THOUSANDS-OF-ADDITIONS-BESIDE-EACH */
int main(int count, char** words) {
  if (count == 4 && strcmp(words[1], "sgemv") == 0) {
    sgemv(atoi(words[2]), atoi(words[3]));
  } else if (count == 5 && strcmp(words[1], "dgemm") == 0) {
    dgemm(atoi(words[2]), atoi(words[3]), atoi(words[4]));
  } else {
    return 2;
  }
  return 0;
}
