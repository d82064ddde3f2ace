// thread_loads KIND SECONDS [THREADS]: OpenMP and BLAS loads whose truth is known. Prints the share
// of its CPU time that was no work of its own, by the clocks of its threads.
//   unbalanced  thread 0 does four times the work of the others, then a barrier
//   balanced    each the same, long between barriers
//   arithmetic  one thread, floating point alone
//   yield       a thread of its own loops over sched_yield while the main thread computes
//   product     sgemm in each thread of a region: a pool inside a pool
//   products    small sgemm of one thread with pauses: the pool's workers idle
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kNumbers = 4096, kMostThreads = 64 };
static float numbers[kMostThreads][kNumbers];
static atomic_int stop;
static double seconds;

static double now_s(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((noinline)) static float work(float* x, long rounds) {
  for (long r = 0; r < rounds; ++r)
    for (int i = 0; i < kNumbers; ++i) x[i] = x[i] * 0.999F + 0.5F;
  return x[0];
}

// Until `seconds` of wall time are over, agreed at the barrier.
static double in_step(long first, long others) {
  double busy = 0;
  const double end = now_s(CLOCK_MONOTONIC) + seconds;
  int on = 1;
#pragma omp parallel reduction(+ : busy)
  while (on) {
    const int id = omp_get_thread_num();
    const double begin = now_s(CLOCK_THREAD_CPUTIME_ID);
    work(numbers[id % kMostThreads], id == 0 ? first : others);
    busy += now_s(CLOCK_THREAD_CPUTIME_ID) - begin;
#pragma omp barrier
    if (id == 0) on = now_s(CLOCK_MONOTONIC) < end;
#pragma omp barrier
  }
  return busy;
}

static void* yields(void* busy) {
  (void)busy;
  while (!atomic_load(&stop)) sched_yield();
  return NULL;
}

static double compute(double until) {
  const double begin = now_s(CLOCK_THREAD_CPUTIME_ID);
  while (now_s(CLOCK_THREAD_CPUTIME_ID) - begin < until) work(numbers[0], 100);
  return now_s(CLOCK_THREAD_CPUTIME_ID) - begin;
}

static double beside_yield(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, yields, NULL) != 0) exit(1);
  const double busy = compute(seconds);
  atomic_store(&stop, 1);
  pthread_join(thread, NULL);
  return busy;
}

typedef void (*Gemm)(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
static Gemm gemm(void) {
  void* library = dlopen("libblas.so.3", RTLD_NOW);
  if (library == NULL) library = dlopen("libopenblas.so.0", RTLD_NOW);
  void* symbol = library == NULL ? NULL : dlsym(library, "cblas_sgemm");
  if (symbol == NULL) exit(77);
  Gemm found;
  memcpy(&found, &symbol, sizeof found);
  return found;
}

static void multiply(Gemm product, int n, float* a) {
  product(101, 111, 111, n, n, n, 1, a, n, a + n * n, n, 0, a + 2 * n * n, n);
}

static float* matrices(int n) {
  float* a = calloc((size_t)3 * (size_t)n * (size_t)n, sizeof *a);
  if (a == NULL) exit(1);
  return a;
}

static void nested_products(void) {
  const Gemm product = gemm();
  const double end = now_s(CLOCK_MONOTONIC) + seconds;
#pragma omp parallel
  {
    float* a = matrices(512);
    while (now_s(CLOCK_MONOTONIC) < end) multiply(product, 512, a);
    free(a);
  }
}

static void small_products(void) {
  const Gemm product = gemm();
  float* a = matrices(192);
  const double end = now_s(CLOCK_MONOTONIC) + seconds;
  while (now_s(CLOCK_MONOTONIC) < end) {
    multiply(product, 192, a);
    usleep(200);
  }
  free(a);
}

int main(int count, char** words) {
  if (count < 3) return 2;
  seconds = atof(words[2]);
  if (count > 3) omp_set_num_threads(atoi(words[3]));
  double busy = -1;
  if (strcmp(words[1], "unbalanced") == 0)
    busy = in_step(400, 100);
  else if (strcmp(words[1], "balanced") == 0)
    busy = in_step(2000, 2000);
  else if (strcmp(words[1], "arithmetic") == 0)
    busy = compute(seconds);
  else if (strcmp(words[1], "yield") == 0)
    busy = beside_yield();
  else if (strcmp(words[1], "product") == 0)
    nested_products();
  else if (strcmp(words[1], "products") == 0)
    small_products();
  else
    return 2;
  const double used = now_s(CLOCK_PROCESS_CPUTIME_ID);
  if (busy >= 0) printf("%.4f\n", (used - busy) / used);
  return 0;
}
