"""What the tests share that ask whether each program was watched whole, and its calls counted."""

import os
import unittest

import harness
from evidence_harness import AS_ROOT, EvidenceTest, has_uprobes, sites

BY_UPROBES = ["--no-ladder", "--calls-by", "uprobes"]
needs_uprobes = unittest.skipUnless(has_uprobes(), "needs uprobes, and root for them")

# Calls sgemm_ of a library that no file of the program names: LIBRARY TIMES [SECONDS [fork]].
CALLS = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char** words) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  if (count > 4 && fork() != 0) return wait(NULL) < 0;
  void* library = dlopen(words[1], RTLD_NOW);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 9; }
  void (*sgemm)() = (void (*)())dlsym(library, "sgemm_");
  printf("up\n");
  fflush(stdout);
  do {
    if (count > 3) usleep((unsigned)(1e6 * atof(words[3])));
    for (int i = 0; i < atoi(words[2]); ++i)
      sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  } while (count > 4);
  return 0;
}
"""
PRODUCT = r"""
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) c[i + j * *ldc] = *alpha * a[i] * b[j * *ldb] + *beta;
}
"""


def called(report):
    return report["blas"]["evidence"]["called"]


def count(report, symbol="sgemm_"):
    return sum(site["count"] for site in sites(report, symbol))


class CoverageTest(EvidenceTest):
    def setUp(self):
        super().setUp()
        # No name that hwprof would look for before the program starts.
        self.library = self.compile("libproduct.so", PRODUCT, "-shared", "-fPIC",
                                    "-Wl,-soname,libproduct.so")
        self.program = self.compile("calls", CALLS, "-ldl")

    @staticmethod
    def needing(*libraries):
        """In front of the source, where the linker knows of no use of it yet."""
        folders = ["-Wl,-rpath," + os.path.dirname(library) for library in libraries]
        return ["-Wl,--no-as-needed", *folders, *libraries]

    def more(self):
        return self.as_nobody() if AS_ROOT else {}

    def hidden(self):
        """Nothing on the command line names the library."""
        return harness.environment(CALLS=self.program, LIBRARY=self.library)

    def check_inconclusive(self, report):
        self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
        self.assertLess(called(report)["executions_watched"], called(report)["executions"])
        self.assertIn("%d of the %d programs" % (called(report)["executions_watched"],
                                                 called(report)["executions"]),
                      report["blas"]["why"])

    def check_not_denied(self, report):
        if count(report) == 0:
            self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
            self.assertLess(called(report)["executions_watched"], called(report)["executions"])
