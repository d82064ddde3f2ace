"""Honest programs whose calls of a BLAS cannot be seen, or lie elsewhere than one looks: that none was
called is not said of them."""

import json
import os
import subprocess

import harness
from coverage_harness import BY_UPROBES, CoverageTest, called, count, needs_uprobes
from evidence_harness import has_uprobes, needs_samples
from harness import BINARY

# A whole product; MORE_NAMES: with those of MKL, WORKS: and who calls it, in the same file.
SLOW_PRODUCT = r"""
#define ARGUMENTS const char* ta, const char* tb, const int* m, const int* n, const int* k, \
                  const float* alpha, const float* a, const int* lda, const float* b, \
                  const int* ldb, const float* beta, float* c, const int* ldc
NAMES void sgemm_(ARGUMENTS) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      float sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
    }
}
#ifdef MORE_NAMES
__attribute__((alias("sgemm_"))) void sgemm(ARGUMENTS);
__attribute__((alias("sgemm_"))) void SGEMM(ARGUMENTS);
#endif
#ifdef WORKS
__attribute__((visibility("default"))) void work(int times) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  for (int i = 0; i < times; ++i)
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}
#endif
"""
WORKER = r"""
#include <stdlib.h>
void work(int times);
int main(int count, char** words) { work(atoi(words[1])); return 0; }
"""
# Calls sgemm, SGEMM and, of a library of the program's own, dgemm, which takes a number.
OTHER_NAMES = r"""
#include <stdlib.h>
void sgemm(), SGEMM();
int dgemm(int);
int main(int count, char** words) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  for (int i = 0; i < atoi(words[1]); ++i) {
    sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    SGEMM("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    if (dgemm(i) != i + 1) return 9;
  }
  return 0;
}
"""
# Copies a library into 22 folders, of 200 letters each, and calls its sgemm_ there.
DEEP = r"""
#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char** words) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  char name[201] = {0};
  memset(name, 'd', 200);
  int from = open(words[1], O_RDONLY);
  if (chdir(words[2]) != 0) return 9;
  for (int i = 0; i < 22; ++i)
    if (mkdir(name, 0777) != 0 || chdir(name) != 0) return 9;
  int to = open("libdeep.so", O_CREAT | O_WRONLY, 0755);
  if (sendfile(to, from, NULL, 1 << 20) <= 0 || close(to) != 0) return 9;
  void* library = dlopen("./libdeep.so", RTLD_NOW);
  if (library == NULL) return 8;
  void (*sgemm)() = (void (*)())dlsym(library, "sgemm_");
  for (int i = 0; i < 50; ++i)
    sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""
OWN_DGEMM = "int dgemm(int i) { return i + 1; }"
# Computes before it ends, without a C library.
OF_32_BITS = r"""
static float a[64], b[64], c[64];
__attribute__((noinline)) void sgemm_(const float* x, const float* y, float* z) {
  for (int i = 0; i < 64; ++i) z[i] += x[i] * y[i];
}
void _start(void) {
  for (int i = 0; i < 100; ++i) sgemm_(a, b, c);
  __asm__ volatile("int $0x80" :: "a"(1), "b"(0));
  for (;;) {}
}
"""


class NotCalled(CoverageTest):
    def ways(self):
        """Of watching: options, and who hwprof is."""
        return [(["--no-ladder"], self.more())] + ([(BY_UPROBES, {})] if has_uprobes() else [])

    @needs_samples
    def test_a_hwprof_in_a_hwprof_counts_once(self):
        """And the one around it does not deny what the other one has counted."""
        inner = self.path("inner.json")
        nested = [BINARY, "run", "--no-ladder", "--format", "json", "-o", inner, "--"]
        _, outer = self.observe(*nested, self.program, self.library, "100", **self.more())
        with open(inner) as file:
            report = json.load(file)
        self.assertEqual(count(report), 100)
        self.check_inconclusive(outer)
        os.unlink(inner)
        static = self.compile("static", "int main(void) { return 0; }", "-static")
        self.observe(*nested, "sh", "-c", static + "; true", **self.more())
        with open(inner) as file:
            self.check_inconclusive(json.load(file))

    @needs_uprobes
    def test_a_program_of_another_word_size_is_not_watched(self):
        program = self.compile("of_32_bits", OF_32_BITS, "-m32", "-static", "-nostdlib",
                               "-fno-pic", "-no-pie")
        if subprocess.run([program]).returncode != 0:
            self.skipTest("this kernel runs no programs of 32 bits")
        for options in [["--no-ladder"], BY_UPROBES]:
            _, report = self.observe("sh", "-c", program + "; true", options=options)
            self.assertEqual(called(report)["executions"], 2)
            self.check_inconclusive(report)

    @needs_uprobes
    def test_a_file_whose_name_is_longer_than_the_kernel_says(self):
        """A page, with all of its folders: it may be a BLAS."""
        deep = self.compile("deep", DEEP, "-ldl")
        _, report = self.observe(deep, self.library, self.folder, options=BY_UPROBES)
        self.assertEqual(report["blas"]["verdict"], "inconclusive")
        self.assertEqual(report["blas"]["why"],
                         "no BLAS call was seen, but not all of its calls could be watched")

    @needs_samples
    def test_what_goes_on_after_the_command_leaves_it_open(self):
        for options, more in self.ways():
            with self.subTest(options):
                _, report = self.observe(
                    "sh", "-c", "(setsid %s %s 10 2 >%s 2>&1 &); sleep 0.5" % (
                        self.program, self.library, os.devnull), options=options, **more)
                self.assertIn("processes-go-on", [w["code"] for w in report["warnings"]])
                self.assertEqual(count(report), 0)
                self.check_inconclusive(report)
                self.assertEqual(called(report)["executions_going_on"], 1)
                self.assertIn("1 goes on after the command's end", report["blas"]["why"])

    def test_names_without_an_underscore(self):
        """As MKL has them, and its header for C declares them; a function of the user's own is none."""
        library = self.compile("libnames.so", SLOW_PRODUCT, "-shared", "-fPIC", "-DNAMES=",
                               "-DMORE_NAMES", "-Wl,-soname,libnames.so")
        own = self.compile("libown.so", OWN_DGEMM, "-shared", "-fPIC", "-Wl,-soname,libown.so")
        for flags in [["-Wl,-z,lazy"], ["-Wl,-z,now"], ["-fno-plt"]]:
            program = self.compile("names", OTHER_NAMES, "-Wl,--no-as-needed", library, own, *flags,
                                   "-Wl,-rpath," + self.folder)
            with self.subTest(flags):
                done, report = self.observe(program, "50", **self.more())
                self.assertEqual(done.returncode, 0)
                self.assertEqual(count(report), 100, called(report))
                self.assertEqual(count(report, "dgemm_"), 0)

    @needs_samples
    def test_a_stripped_file_that_may_hold_a_blas(self):
        """Nobody sees calls within it, of functions without names; its loops are seen."""
        hidden = ["-DNAMES=static __attribute__((noinline))", "-DWORKS", "-O2", "-s"]
        library = self.compile("libwork.so", SLOW_PRODUCT, *hidden, "-shared", "-fPIC",
                               "-fvisibility=hidden", "-Wl,-soname,libwork.so")
        program = self.compile("works", WORKER, "-Wl,--no-as-needed", library, "-Wl,-rpath," + self.folder)
        for options, more in self.ways():
            with self.subTest(options):
                _, report = self.observe(program, "3000", options=options, **more)
                self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
                self.assertIn("lies in loops of libwork that multiply and add",
                              report["blas"]["why"])


if __name__ == "__main__":
    harness.main()
