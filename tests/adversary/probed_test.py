"""Code in which the kernel sets no uprobe, or that a uprobe would disturb (root; attach, --user)."""

import platform
import unittest

import harness
from coverage_harness import BY_UPROBES, PRODUCT, CoverageTest, called, count, needs_uprobes

CALLER = r"""
#include <stdlib.h>
void SYMBOL(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 50; ++i)
    SYMBOL("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 3;
}
"""
CHOSEN = PRODUCT.replace("void sgemm_", "static void product") + r"""
static void* choose(void) { return (void*)product; }
void sgemm_(void) __attribute__((ifunc("choose")));
"""
BEGINS_WITH_AVX = PRODUCT.replace("sgemm_", "product") + r"""
asm(".text\n.globl sgemm_\n.type sgemm_,@function\nsgemm_: vmovd (%rdx),%xmm7\njmp product\n"
    ".size sgemm_,.-sgemm_\n");
"""
# The same, of a function that nobody has called one.
WITHOUT_TYPE = PRODUCT.replace("sgemm_", "product") + r"""
asm(".text\n.globl sgemm_\nsgemm_: jmp product\n");
"""
# As what maps its code into huge pages: it runs a copy, with the breakpoints in it.
COPIES_ITSELF = "#define _GNU_SOURCE\n#include <stdio.h>\n#include <string.h>\n#include <sys/mman.h>\n" + \
    PRODUCT + r"""
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  const unsigned long here = (unsigned long)sgemm_;
  unsigned long begin = 0, end = 0;
  char line[512];
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps))
    if (sscanf(line, "%lx-%lx", &begin, &end) == 2 && here >= begin && here < end) break;
  char* copy = mmap(0, end - begin, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(copy, (void*)begin, end - begin);
  mprotect(copy, end - begin, PROT_READ | PROT_EXEC);
  if (mremap(copy, end - begin, end - begin, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)begin) ==
      MAP_FAILED) return 9;
  for (int i = 0; i < 50; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 3;
}
"""
# A product that complains of its arguments, and a program that throws when it hears of it.
COMPLAINS = r"""
void xerbla_(const char* name, const int* argument, int letters);
void sgemm_(const char* ta) { const int first = 1; if (*ta == '?') xerbla_("SGEMM", &first, 5); }
"""
THROWS = r"""
#include <stdexcept>
extern "C" void sgemm_(const char*);
extern "C" void xerbla_(const char*, const int*, int) { throw std::runtime_error("argument"); }
int main() {
  int caught = 0;
  for (int i = 0; i < 3; ++i)
    try { sgemm_("?"); } catch (const std::exception&) { ++caught; }
  return caught;
}
"""

# Two routines that a program calls by one instruction, as an interpreter calls foreign functions:
# 50 times each.
TWO_ROUTINES = r"""
double ddot_(const int* n, const double* x, const int* ix, const double* y, const int* iy) {
  return x[0] * y[0] * *n;
}
double dasum_(const int* n, const double* x, const int* ix) { return x[0] * *n; }
"""
ONE_CALL = r"""
double ddot_();
double dasum_();
int main(void) {
  static double x[4], y[4];
  const int n = 4, one = 1;
  double (*volatile table[])() = {ddot_, dasum_};
  volatile double sum = 0;
  for (int i = 0; i < 100; ++i) sum += table[i % 2](&n, x, &one, y, &one);
  return 3;
}
"""
# One that hands its calls on by a jump, under the same name.
HANDS_ON = r"""
#include <dlfcn.h>
typedef double (*Dot)(const int*, const double*, const int*, const double*, const int*);
static Dot next;
__attribute__((constructor)) static void find(void) {
  next = (Dot)dlsym(dlopen(NEXT, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND), "ddot_");
}
double ddot_(const int* n, const double* x, const int* ix, const double* y, const int* iy) {
  return next(n, x, ix, y, iy);
}
"""
ONE_ROUTINE = ONE_CALL.replace("table[i % 2]", "ddot_").replace("dasum_", "ddot_")
# A product that a time limit ends (the first), then 50 of functions deeper than it.
LEFT = PRODUCT.replace("void sgemm_", "void (*leaves)(void);\nvoid sgemm_").replace(
    "{\n", "{\n  if (leaves) leaves();\n", 1)
LEAVES = r"""
#include <setjmp.h>
void sgemm_();
extern void (*leaves)(void);
static jmp_buf back;
static void leave(void) { longjmp(back, 1); }
static float a[16 * 16], b[16 * 16], c[16 * 16];
static const int n = 16;
static const float one = 1, zero = 0;
static __attribute__((noinline)) void deep(int levels) {
  volatile char room[4096];
  room[0] = 0;
  if (levels > 0) deep(levels - 1);
  for (int i = 0; levels == 0 && i < 50; ++i)
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  room[1] = 0;
}
int main(void) {
  leaves = leave;
  if (setjmp(back) == 0) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  leaves = 0;
  deep(5);
  return 3;
}
"""


@needs_uprobes
class Probed(CoverageTest):
    def linked(self, library, symbol="sgemm_"):
        return self.compile("caller", CALLER, "-DSYMBOL=" + symbol, "-Wl,-rpath,$ORIGIN",
                            "-Wl,--no-as-needed", library)

    def of_library(self, source, *flags, symbol="sgemm_"):
        library = self.compile("libodd.so", source, "-shared", "-fPIC", "-w", *flags)
        done, report = self.observe(self.linked(library, symbol), options=BY_UPROBES)
        self.assertEqual(done.returncode, 3)
        return report

    def check_unseen(self, report, *words):
        self.assertEqual(count(report), 0)
        self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
        self.assertLess(called(report)["executions_watched"], called(report)["executions"])
        for word in words:
            self.assertIn(word, " ".join(called(report)["blind_to"]))

    def test_a_routine_is_chosen_at_start(self):
        self.check_unseen(self.of_library(CHOSEN), "chooses its sgemm_", "libodd.so")

    @unittest.skipUnless(platform.machine() == "x86_64", "instructions of x86")
    def test_an_instruction_takes_no_probe(self):
        self.check_unseen(self.of_library(BEGINS_WITH_AVX), "at which the kernel sets no uprobe")

    def test_code_is_writable(self):
        self.check_unseen(self.of_library(PRODUCT, "-Wl,--omagic", "-nostdlib"))

    def test_a_name_is_not_the_usual_one(self):
        self.check_unseen(self.of_library(PRODUCT.replace("sgemm_", "sgemm"), symbol="sgemm"),
                          "has sgemm, but no sgemm_")

    @unittest.skipUnless(platform.machine() == "x86_64", "instructions of x86")
    def test_a_function_has_no_type(self):
        report = self.of_library(WITHOUT_TYPE)
        self.assertEqual(count(report), 50, called(report))

    def test_a_copy_of_code_has_the_breakpoint(self):
        """It ends the program, which cannot be helped; that it called nothing is not said."""
        done, report = self.observe(self.compile("copies", COPIES_ITSELF), options=BY_UPROBES)
        if done.returncode == 9:
            self.skipTest("this kernel does not let code be moved so")
        if done.returncode == 3:
            self.assertEqual(count(report), 50)  # a machine whose uprobes do not trap
            return
        self.check_unseen(report, "SIGTRAP", "--no-calls")

    def test_exceptions_pass_through_calls(self):
        library = self.compile("libodd.so", COMPLAINS, "-shared", "-fPIC", "-fexceptions")
        program = self.compile("throws", THROWS, "-x", "c++", "-Wl,-rpath,$ORIGIN",
                               "-Wl,--no-as-needed,--export-dynamic," + library, "-lstdc++")
        done, report = self.observe(program, options=BY_UPROBES)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(count(report), 3)
        self.assertIn("xerbla_", " ".join(called(report)["blind_to"]))
        self.assertIsNone(called(report)["calls"][0]["time_ns"])

    def test_routines_are_called_by_one_instruction(self):
        library = self.compile("libtwo.so", TWO_ROUTINES, "-shared", "-fPIC", "-w")
        program = self.compile("one_call", ONE_CALL, "-w", *self.needing(library))
        done, report = self.observe(program, options=BY_UPROBES)
        self.assertEqual(done.returncode, 3)
        for symbol in ["ddot_", "dasum_"]:
            self.assertEqual(count(report, symbol), 50, called(report))

    def test_a_routine_hands_its_calls_on_by_a_jump(self):
        """Each is one call, which the library behind serves; both are known at the start."""
        behind = self.compile("libtwo.so", TWO_ROUTINES, "-shared", "-fPIC", "-w")
        front = self.compile("libfront.so", HANDS_ON, "-shared", "-fPIC", "-w", "-O2", "-ldl",
                             '-DNEXT="%s"' % behind)
        program = self.compile("one_routine", ONE_ROUTINE, "-w", *self.needing(front, behind))
        done, report = self.observe(program, options=BY_UPROBES)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(count(report, "ddot_"), 100, called(report))
        self.assertEqual(called(report)["calls"][0]["library"], behind)

    def test_calls_after_one_that_was_left(self):
        """By longjmp(), as time limits and interrupts do out of a signal handler."""
        library = self.compile("libleft.so", LEFT, "-shared", "-fPIC")
        program = self.compile("leaves", LEAVES, "-w", *self.needing(library))
        done, report = self.observe(program, options=BY_UPROBES)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(count(report), 51, called(report))


if __name__ == "__main__":
    harness.main()
