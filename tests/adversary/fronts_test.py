"""Libraries in front of a BLAS: what one has of its own, what it calls, and what it hands on."""

import os

import harness
from coverage_harness import CoverageTest, called, count
from evidence_harness import needs_samples, sites

PRODUCT_ARGUMENTS = '"N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n'
# One routine of a BLAS, and a function that calls the products of another file.
SOLVER = r"""
void sgemm_();
void ROUTINE(const int* n, float* y) { for (int i = 0; i < *n; ++i) y[i] += 1; }
void SOLVE(const int* times) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < *times; ++i) sgemm_(%s);
}
""" % PRODUCT_ARGUMENTS
SOLVES = r"""
void SOLVE(const int*);
void ROUTINE(const int*, float*);
int main(void) {
  static float y[16];
  const int n = 16, times = 3;
  for (int i = 0; i < 20; ++i) SOLVE(&times);
  for (int i = 0; i < OWN_CALLS; ++i) ROUTINE(&n, y);
  return 7;
}
"""
# Hands each call on to the product of the library that $BEHIND names, PARTS times.
FRONT = r"""
#include <dlfcn.h>
#include <stdlib.h>
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) {
  static void (*behind)();
  if (!behind) behind = (void (*)())dlsym(dlopen(getenv("BEHIND"), RTLD_NOW), "sgemm_");
  for (int i = 0; i < PARTS; ++i) behind(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
"""
CALLS_FRONT = r"""
void sgemm_();
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 10; ++i) sgemm_(%s);
  return 7;
}
""" % PRODUCT_ARGUMENTS


class Fronts(CoverageTest):
    @needs_samples
    def test_a_library_with_a_routine_of_its_own(self):
        """As LAPACK has csymv_, and some a saxpy_: all other calls of a BLAS are its own."""
        for solve, routine, own_calls in [("sgesv_", "csymv_", 0), ("solve", "saxpy_", 50)]:
            with self.subTest(solve):
                names = ["-w", "-DSOLVE=" + solve, "-DROUTINE=" + routine]
                solver = self.compile("libsolver.so", SOLVER, "-shared", "-fPIC", *names,
                                      *self.needing(self.library))
                program = self.compile("solves", SOLVES, *names, "-DOWN_CALLS=%d" % own_calls,
                                       *self.needing(solver))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 60, called(report))
                self.assertEqual(count(report, routine), own_calls, called(report))
                for site in sites(report, routine):
                    self.assertEqual(os.path.basename(site["library"]), "libsolver.so")

    def test_a_call_that_is_handed_on_counts_once(self):
        """Who is behind has served it; of one that is handed on in parts, these are the calls."""
        for parts, caller in [(1, "calls_front"), (3, "libfront.so")]:
            with self.subTest(parts):
                front = self.compile("libfront.so", FRONT, "-shared", "-fPIC", "-w", "-ldl",
                                     "-DPARTS=%d" % parts)
                program = self.compile("calls_front", CALLS_FRONT, "-w", *self.needing(front))
                done, report = self.observe(program, **self.more(),
                                            env=harness.environment(BEHIND=self.library))
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(
                    [(site["count"], os.path.basename(site["caller"]),
                      os.path.basename(site["library"])) for site in sites(report, "sgemm_")],
                    [(10 * parts, caller, "libproduct.so")])


if __name__ == "__main__":
    harness.main()
