"""Calls that the loader binds without a word, or not at all: they are seen beside LD_AUDIT, or it
is said that there may be some."""

import os
import shutil

import harness
from coverage_harness import BY_UPROBES, CoverageTest, PRODUCT, called, count, needs_uprobes
from evidence_harness import has_uprobes, needs_samples, sites

# Calls sgemm_ by its address in this file's data, which the loader writes: from a table, and with
# -fno-plt always. Its constructor hands it to the program, so that nobody asks for a symbol.
PLUGIN = r"""
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
typedef void (*Product)(const char*, const char*, const int*, const int*, const int*, const float*,
                        const float*, const int*, const float*, const int*, const float*, float*,
                        const int*);
static const Product table[] = {sgemm_};
static const Product* volatile products = table;
__attribute__((visibility("default"))) void work(int times) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < times; ++i) {
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    products[0]("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  }
}
extern void take_plugin(void (*)(int)) __attribute__((weak));
extern void dgemm_(void) __attribute__((weak));
__attribute__((constructor)) static void start(void) {
  if (dgemm_) work(1000);  // nobody has it: that stays so
  if (IN_START) work(IN_START);
  if (take_plugin) take_plugin(work);
}
"""
BY_BOTH = ["--no-ladder", "--calls-by", "both"]
# LIBRARY TIMES [new]: the third word opens it in a namespace of its own.
HOST = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void (*work)(int);
void take_plugin(void (*taken)(int)) { work = taken; }
int main(int count, char** words) {
  void* library = count > 3 ? dlmopen(LM_ID_NEWLM, words[1], RTLD_NOW)
                            : dlopen(words[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) { fprintf(stderr, "%s\n", dlerror()); return 9; }
  if (count > 3) work = (void (*)(int))dlsym(library, "work");
  if (work) work(atoi(words[2]));
  return 0;
}
"""
# Has a product of its own, and calls it.
OWN = PRODUCT.replace("void sgemm_", "SEEN void sgemm_") + r"""
__attribute__((visibility("default"))) int work(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 50; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""
# Calls that one, and the product of another library 30 times.
SOLVES = r"""
int work(void);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
int main(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 30; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return work();
}
"""
# What calls a BLAS of its own under the name of LAPACK.
LAPACK = PRODUCT + r"""
__attribute__((visibility("default"))) void dgesv_(const int* n) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const float one = 1, zero = 0;
  sgemm_("N", "N", n, n, n, &one, a, n, b, n, &zero, c, n);
}
"""
# The same in a function that hwprof does not count, beside what computes nothing.
OTHER = LAPACK.replace("dgesv_", "FUNCTION") + r"""
__attribute__((visibility("default"))) long sum(long a, long b, long c, long d, long e, long f,
                                                long g, double h) {
  return a + b + c + d + e + f + g + (long)h;
}
__attribute__((visibility("default"))) void openblas_set_num_threads(int threads) {}
"""
OTHER_CALLER = r"""
#include <dlfcn.h>
void FUNCTION(const int*);
long sum(long, long, long, long, long, long, long, double);
void openblas_set_num_threads(int);
static void (*volatile table[])(const int*) = {FUNCTION};
int main(int count, char** words) {
  const int n = 16;
  openblas_set_num_threads(1);
  if (count > 9) FUNCTION(&n);
  CALL;
  return 7;
}
"""


# Loads the library anew, each time at another address: LIBRARY TIMES.
RELOADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
int main(int count, char** words) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < atoi(words[2]); ++i) {
    void* library = dlopen(words[1], RTLD_NOW);
    void (*sgemm)() = (void (*)())dlsym(library, "sgemm_");
    char* place = dlsym(library, "place");
    if (!place) return 9;
    sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    dlclose(library);
    place -= (unsigned long)place % 4096;
    if (mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
        place)
      return 8;
  }
  return 7;
}
"""


class Unbound(CoverageTest):
    def plugin(self, *flags, in_start=0):
        return self.compile("libplugin.so", PLUGIN, "-shared", "-fPIC", "-fno-builtin", "-w",
                            "-DIN_START=%d" % in_start, *flags, *self.needing(self.library))

    def test_addresses_in_a_file_that_is_opened_later(self):
        """The loader writes them behind its last word on the file, and before its constructors."""
        host = self.compile("host", HOST, "-rdynamic", "-ldl")
        for flags in [[], ["-fno-plt"], ["-fno-plt", "-Wl,-z,now"], ["-fno-plt", "-Wl,-z,norelro"]]:
            for words in [[], ["new"]]:
                with self.subTest([flags, words]):
                    _, report = self.observe(host, self.plugin(*flags), "50", *words,
                                             **self.more())
                    self.assertEqual(count(report), 100, called(report))
        with self.subTest("constructor"):
            done, report = self.observe(host, self.plugin("-fno-plt", in_start=7), "50",
                                        **self.more())
            self.assertEqual(done.returncode, 0)
            self.assertEqual(count(report), 114, called(report))

    @needs_samples
    def test_a_file_whose_beginning_cannot_be_awaited(self):
        """It has no function that runs first: what it calls may be unseen, and that is said."""
        host = self.compile("host", HOST, "-rdynamic", "-ldl")
        plugin = self.plugin("-fno-plt", "-nostartfiles")
        _, report = self.observe(host, plugin, "50", **self.more())
        if count(report) == 0:
            self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
            self.assertIn("bindings were not watched", " ".join(called(report)["blind_to"]))

    def test_a_library_that_is_loaded_again_and_again(self):
        """As by a host of plugins: it has more addresses than there are stubs."""
        library = self.compile("libagain.so", PRODUCT + "int place;", "-shared", "-fPIC")
        host = self.compile("reloads", RELOADS, "-w", "-ldl")
        done, report = self.observe(host, library, "2500", **self.more())
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(count(report), 2500, called(report))

    def check_calls_within(self, file, report):
        self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
        self.assertEqual(list(map(os.path.basename, called(report)["own_routines"])), [file])
        label = file.split(".so")[0]
        # A sample in the routine is said, where a fast clock happens to take one.
        self.assertRegex(report["blas"]["why"],
                         "(but|:) calls within %s[.so]* are not seen by LD_AUDIT" % label)
        self.assertIn("--calls-by uprobes", report["blas"]["fix"])

    @needs_samples
    def test_calls_within_one_file(self):
        """Nobody binds them: a static BLAS in a library or in the program, under any name."""
        main = "int work(void); int main(void) { return work(); }"
        for seen in ["default", "hidden"]:
            with self.subTest(seen):
                flag = '-DSEEN=__attribute__((visibility("%s")))' % seen
                own = self.compile("libsolver.so", OWN, flag, "-shared", "-fPIC")
                program = self.compile("solve", main, *self.needing(own))
                _, report = self.observe("sh", "-c", program + "; exit 3", **self.more())
                self.check_calls_within("libsolver.so", report)
                if has_uprobes():
                    _, report = self.observe(program, options=BY_UPROBES)
                    self.assertEqual(called(report)["own_routines"], [])
                    self.assertEqual(count(report), 50)
        own = self.compile("whole", OWN + "int main(void) { return work(); }", "-DSEEN=")
        _, report = self.observe("sh", "-c", own + "; exit 3", **self.more())
        self.check_calls_within("whole", report)

    @needs_uprobes
    def test_uprobes_beside_name_what_the_loader_did_not_bind(self):
        own = self.compile("libsolver.so", OWN, '-DSEEN=__attribute__((visibility("hidden")))',
                           "-shared", "-fPIC")
        program = self.compile("solve", SOLVES, *self.needing(own), *self.needing(self.library))
        _, report = self.observe(program, options=BY_BOTH)
        self.assertEqual(called(report)["how"], "audit")
        self.assertEqual(called(report)["own_routines"], [])
        said = " ".join(called(report)["blind_to"])
        self.assertIn("50 calls of sgemm_ in libsolver.so were seen by uprobes alone, without a "
                      "time: libsolver.so calls itself there", said)
        self.assertNotIn("libproduct.so", said)
        compared = called(report)["compared"]
        missed, = compared.pop("missed_calls")
        self.assertEqual(compared, {"by_both": 30, "within": 0, "missed": 50, "lost": 0})
        self.assertEqual(os.path.basename(missed.pop("library")), "libsolver.so")
        self.assertEqual(os.path.basename(missed.pop("caller")), "libsolver.so")
        self.assertEqual(missed, {"symbol": "sgemm_", "because": "own-call", "by_uprobes": 50,
                                  "by_audit": 0})
        by_library = {os.path.basename(site["library"]): site for site in sites(report, "sgemm_")}
        self.assertEqual(by_library["libproduct.so"]["count"], 30)
        self.assertGreater(by_library["libproduct.so"]["time_ns"], 0)
        self.assertEqual(by_library["libsolver.so"]["count"], 50)
        self.assertIsNone(by_library["libsolver.so"]["time_ns"])
        self.assertIsNone(called(report)["wall_ns"])

    @needs_uprobes
    def test_uprobes_beside_take_calls_in_a_library_that_was_entered_for_part_of_it(self):
        blas = self.compile("libopenblas.so.99", LAPACK, "-shared", "-fPIC",
                            "-Wl,-soname,libopenblas.so.99")
        solves = self.compile("solves", "void dgesv_(const int*);"
                              "int main(void) { const int n = 16; dgesv_(&n); return 0; }",
                              *self.needing(blas))
        _, report = self.observe(solves, options=BY_BOTH)
        self.assertEqual(count(report), 0, called(report))
        self.assertEqual(called(report)["compared"]["within"], 1)
        self.assertEqual(called(report)["compared"]["missed_calls"], [])
        self.assertIn("1 call within a library is taken for part of the calls into it.",
                      called(report)["blind_to"])

    @needs_uprobes
    def test_uprobes_beside_agree_where_all_is_bound(self):
        _, report = self.observe(self.program, self.library, "40", options=BY_BOTH)
        self.assertEqual(count(report), 40)
        self.assertEqual(called(report)["compared"], {"by_both": 40, "within": 0, "missed": 0,
                                                      "lost": 0, "missed_calls": []})
        self.assertIn("Of 40 calls that uprobes saw LD_AUDIT missed none.",
                      called(report)["blind_to"])
        self.assertGreater(called(report)["wall_ns"], 0)

    def test_without_uprobes_it_is_said_that_nothing_was_compared(self):
        _, report = self.observe(self.program, self.library, "40", options=BY_BOTH, **self.more())
        self.assertEqual(count(report), 40)
        self.assertIsNone(called(report)["compared"])
        self.assertIn("nothing was held against uprobes: ", called(report)["reason"])

    @needs_samples
    def test_a_file_that_another_has_replaced(self):
        """What ran had a product of its own; what has its name at the end has none."""
        other = self.compile("other", "int main(void) { return 0; }")
        own = self.compile("whole", OWN + "int main(void) { return work(); }", "-DSEEN=")
        for replace in ["mv %s %s", "cat %s > %s"]:
            kept = self.path("kept")
            shutil.copy(own, kept)
            with self.subTest(replace):
                _, report = self.observe(
                    "sh", "-c", "%s; cp %s next; sleep 0.1; %s; %s; exit 3" % (
                        kept, other, replace % ("next", kept), kept),
                    cwd=os.path.dirname(kept))
                self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])
                self.assertEqual(called(report)["own_routines"], [kept + " (deleted)"])

    def test_thread_variables_of_a_fixed_place(self):
        """The loader has little room for them once there is an auditor: a program would not start."""
        source = ("__attribute__((tls_model(\"initial-exec\"))) __thread char pool[%d];"
                  "int fill(int at) { return pool[at]++; }")
        large = self.compile("liblarge.so", source % 20000, "-shared", "-fPIC")
        small = self.compile("libsmall.so", source % 2632, "-shared", "-fPIC")
        needs = self.compile("needs", "int fill(int); int main(void) { return 6 + fill(9); }",
                             *self.needing(large))
        done, _ = self.observe(needs)
        self.assertEqual(done.returncode, 6, done.stderr)
        other = self.compile("other", "int main(void) { return 6; }")
        done, _ = self.observe("env", "LD_PRELOAD=" + small, other)  # as jemalloc
        self.assertEqual(done.returncode, 6, done.stderr)

    @needs_samples
    def test_a_blas_that_is_only_loaded_is_not_called(self):
        """What calls itself under the name of a BLAS is one, until LAPACK is called in it."""
        blas = self.compile("libopenblas.so.99", LAPACK, "-shared", "-fPIC",
                            "-Wl,-soname,libopenblas.so.99")
        idle = self.compile("idle", "int main(void) { return 0; }", *self.needing(blas))
        _, report = self.observe(idle, **self.more())
        self.assertEqual(report["blas"]["verdict"], "not-called", report["blas"]["why"])
        solves = self.compile("solves", "void dgesv_(const int*);"
                              "int main(void) { const int n = 16; dgesv_(&n); return 0; }",
                              *self.needing(blas))
        _, report = self.observe(solves, **self.more())
        self.check_calls_within("libopenblas.so.99", report)

    def other_blas(self, function="dpbtrf_"):
        return self.compile("libopenblas.so.99", OTHER, "-shared", "-fPIC",
                            "-DFUNCTION=" + function, "-Wl,-soname,libopenblas.so.99")

    @needs_samples
    def test_a_blas_by_functions_that_are_not_counted(self):
        """They may call the BLAS within their file: found by name, by address, or asked for."""
        asked = '((void (*)(const int*))dlsym(dlopen("%s", 2), "dpbtrf_"))(&n)'
        calls = [("dpbtrf_(&n)", []), ("dpbtrf_(&n)", ["-fno-plt"]), ("table[0](&n)", []),
                 (asked, []), ("return sum(1, 1, 1, 1, 1, 1, 1, 0)", [])]
        blas = self.other_blas()
        for call, flags in calls:
            with self.subTest([call, flags]):
                call = call % blas if "%s" in call else call
                program = self.compile("calls_other", OTHER_CALLER, "-w", *flags, "-ldl",
                                       "-DFUNCTION=dpbtrf_", "-DCALL=" + call, *self.needing(blas))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.check_calls_within("libopenblas.so.99", report)
        for function in ["LAPACKE_dpbtrf", "bli_dgemm", "scipy_dpbtrf_64_", "saxpby_"]:
            with self.subTest(function):
                program = self.compile("calls_other", OTHER_CALLER, "-w", "-fno-plt",
                                       "-DFUNCTION=" + function, "-DCALL=%s(&n)" % function,
                                       *self.needing(self.other_blas(function)))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.check_calls_within("libopenblas.so.99", report)

    @needs_samples
    def test_functions_that_are_only_bound_are_not_called(self):
        """Nor is it a call to set the number of threads."""
        blas = self.other_blas()
        for flags in [[], ["-fno-plt"], ["-Wl,-z,now"]]:
            with self.subTest(flags):
                program = self.compile("binds_other", OTHER_CALLER, "-w", *flags, "-ldl",
                                       "-DFUNCTION=dpbtrf_", "-DCALL=", *self.needing(blas))
                done, report = self.observe(program, **self.more())
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(report["blas"]["verdict"], "not-called", report["blas"]["why"])

    @needs_samples
    def test_a_name_that_begins_like_that_of_a_blas(self):
        """Of one that exports no routine, nobody binds any."""
        own = self.compile("libsci_solver.so", OWN, '-DSEEN=__attribute__((visibility("hidden")))',
                           "-shared", "-fPIC")
        program = self.compile("solve", "int work(void); int main(void) { return work(); }",
                               *self.needing(own))
        _, report = self.observe(program, **self.more())
        self.check_calls_within("libsci_solver.so", report)


if __name__ == "__main__":
    harness.main()
