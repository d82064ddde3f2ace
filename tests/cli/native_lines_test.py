"""`hwprof run --lines` of programs in C, C++ and Fortran that measure themselves what each of their lines takes."""

import json
import os
import shutil
import subprocess

import harness
from evidence_harness import EvidenceTest, needs_root, needs_samples
from harness import environment, hwprof
from lines_test import KNOWN, POINTS

# Two loops, called 3 and 7 times as long; writes what each took. Lines are found by their marks.
SHARES_C = """
#include <stdio.h>
#include <time.h>
volatile double x[64];
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}
__attribute__((noinline)) void light(int n) {
  for (int i = 0; i < n; ++i) x[i % 64] += 0.5 * i; /* LIGHT */
}
static inline __attribute__((always_inline)) void add(int i) {
  x[i % 64] *= 0.5 + i; /* INLINED */
}
__attribute__((noinline)) void heavy(int n) {
  for (int i = 0; i < n; ++i)
    add(i); /* HEAVY */
}
__attribute__((noinline)) int deep(int depth, int n) {
  if (depth == 0) heavy(n);
  else return 1 + deep(depth - 1, n); /* DEEP */
  return n;
}
int main(int count, char** arguments) {
  double took[2] = {0, 0};
  double unit = now(), end;
  light(3000000);
  unit = (now() - unit) / 3000000;
  int n = (int)(0.004 / unit);
  for (int i = 0; i < 30; ++i) {
    double began = now();
    light(3 * n); /* CALLS LIGHT */
    double between = now();
    deep(5, 7 * n); /* CALLS HEAVY */
    end = now();
    took[0] += between - began;
    took[1] += end - between;
  }
  FILE* file = fopen(arguments[1], "w");
  fprintf(file, "{\\"light\\": %g, \\"heavy\\": %g}", took[0], took[1]);
  fclose(file);
  return count != 2;
}
"""
SHARES_F90 = """
subroutine light(n, x)
  integer, intent(in) :: n
  double precision, intent(inout) :: x(64)
  integer :: i
  do i = 1, n
    x(mod(i, 64) + 1) = sin(x(mod(i, 64) + 1)) + i  ! LIGHT
  end do
end subroutine
subroutine heavy(n, x)
  integer, intent(in) :: n
  double precision, intent(inout) :: x(64)
  integer :: i
  do i = 1, n
    x(mod(i, 64) + 1) = cos(x(mod(i, 64) + 1)) - i  ! HEAVY
  end do
end subroutine
program shares
  double precision :: x(64), began, between, end, took(2)
  character(len=1000) :: path
  integer :: round
  x = 1
  took = 0
  do round = 1, 30
    call cpu_time(began)
    call light(300000, x)  ! CALLS LIGHT
    call cpu_time(between)
    call heavy(700000, x)  ! CALLS HEAVY
    call cpu_time(end)
    took = took + [between - began, end - between]
  end do
  call get_command_argument(1, path)
  open(unit=1, file=trim(path))
  write(1, '(a, f9.6, a, f9.6, a)') '{"light": ', took(1), ', "heavy": ', took(2), '}'
  if (x(1) > 1d300) stop 1
end program
"""
# In a library that is loaded, called by Python.
EXTENSION_C = """
volatile double x[64];
__attribute__((noinline)) static void inner(int n) {
  for (int i = 0; i < n; ++i) x[i % 64] += 0.5 * i; /* INNER */
}
void work(int n) {
  inner(n); /* CALLS INNER */
}
"""
EXTENSION_PY = """
import ctypes, json, sys, time
work = ctypes.CDLL(sys.argv[2]).work
def compiled():
    work(10000000)
def python():
    sum(i * i % 7 for i in range(500000))
truth = {"compiled": 0.0, "python": 0.0}
for _ in range(12):
    for function in (compiled, python):
        began = time.thread_time()
        function()
        truth[function.__name__] += time.thread_time() - began
json.dump(truth, open(sys.argv[1], "w"))
"""
PRODUCTS_C = """
extern void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*,
                   const int*, const float*, const int*, const float*, float*, const int*);
static float a[400 * 400], b[400 * 400], c[400 * 400];
static void product(int n) {
  float one = 1, zero = 0;
  sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n); /* PRODUCT */
}
int main(void) {
  for (int i = 0; i < 400 * 400; ++i) a[i] = b[i] = 1.0f / (i % 7 + 1);
  float one = 1, zero = 0;
  int n = 200;
  for (int i = 0; i < 100; ++i)
    sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n); /* DIRECT */
  for (int i = 0; i < 20; ++i) product(400); /* CALLS PRODUCT */
  return 0;
}
"""
VECTORS_CPP = """
#include <cstdio>
#include <ctime>
#include <numeric>
#include <vector>
__attribute__((noinline)) double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0); // SUM
}
int main() {
  std::vector<double> values(65536, 1.0);
  double sum = 0;
  while (clock() < CLOCKS_PER_SEC / 2) sum += total(values);
  std::printf("%d", sum > 0);
}
"""


def line_of(source, mark):
    return next(number for number, line in enumerate(source.split("\n"), 1)
                if line.rstrip("*/ ").endswith(("/* " + mark, "// " + mark, "! " + mark)))


class NativeLines(EvidenceTest):
    def lines(self, *command, options=(), **more):
        done, report = self.observe(*command, options=["--no-ladder", "--no-counters", "--lines", *options], **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return report

    def build(self, name, compiler, source, *flags):
        if shutil.which(compiler) is None:
            self.skipTest("no " + compiler)
        path = self.path(name.partition(".")[0])
        done = subprocess.run([compiler, "-o", path, self.path(name, source), *flags], capture_output=True)
        if done.returncode != 0:
            self.skipTest("%s: %s" % (compiler, done.stderr.decode()))
        return path

    def share(self, report, source, mark, key="total_share"):
        """Of the one row of that line; 0: it has none."""
        line = line_of(source, mark)
        rows = [row for row in report["lines"] if row["line"] == line and row["language"] == "native"]
        self.assertLessEqual(len(rows), 1, rows)
        return rows[0][key] if rows else 0.0

    def check_shares(self, report, source, truth):
        shares = {"light": self.share(report, source, "CALLS LIGHT"), "heavy": self.share(report, source, "CALLS HEAVY")}
        self.assertGreater(sum(shares.values()), 0.8, report["lines_known"])
        for name, seconds in truth.items():
            self.assertAlmostEqual(100 * shares[name] / sum(shares.values()), 100 * seconds / sum(truth.values()),
                                   delta=POINTS, msg=report["lines"])


@needs_samples
class Shares(NativeLines):
    def c_shares(self, **more):
        program, truth = self.compile("shares", SHARES_C, "-g", "-O2", "-fno-optimize-sibling-calls"), self.path("truth")
        report = self.lines(program, truth, **more)
        with open(truth) as file:
            self.check_shares(report, SHARES_C, json.load(file))
        return report

    def test_lines_of_c_have_the_shares_that_the_program_measures(self):
        report = self.c_shares()
        # What is inlined is the line where it was written; who calls has it with its calls.
        inlined, loop = (self.share(report, SHARES_C, mark, "self_share") for mark in ("INLINED", "HEAVY"))
        self.assertGreater(inlined, 0.2, report["lines"])
        self.assertAlmostEqual(self.share(report, SHARES_C, "HEAVY"), inlined + loop, delta=0.02)
        # Five times on each stack, and once in a sample.
        deep, calls = self.share(report, SHARES_C, "DEEP"), self.share(report, SHARES_C, "CALLS HEAVY")
        self.assertAlmostEqual(deep, calls, delta=0.02)
        self.assertAlmostEqual(report["lines_known"]["coverage"], 1, delta=0.05)

    def test_each_line_has_its_source(self):
        report = self.c_shares()
        row = next(row for row in report["lines"] if row["line"] == line_of(SHARES_C, "INLINED"))
        self.assertEqual(row["source"], "x[i % 64] *= 0.5 + i; /* INLINED */")
        self.assertEqual((row["file"], row["function"]), (self.path("shares.c"), "add"))
        self.assertEqual([part["what"] for part in row["parts"]][:1], ["own code"])

    def test_there_are_no_rows_of_the_systems_libraries(self):
        report = self.c_shares()
        self.assertEqual({row["file"] for row in report["lines"]}, {self.path("shares.c")})

    @needs_root
    def test_a_worker_without_rights_finds_the_same(self):
        self.c_shares(options=["--user", "nobody"])

    @needs_root
    def test_a_user_finds_the_same(self):
        self.c_shares(**self.as_nobody())

    @needs_root
    def test_source_that_the_user_cannot_read_is_absent(self):
        program = self.compile("shares", SHARES_C, "-g", "-O2")
        os.chmod(self.path("shares.c"), 0o600)
        report = self.lines(program, self.path("truth"), options=["--user", "nobody"])
        self.assertTrue(report["lines"])
        self.assertEqual({row["source"] for row in report["lines"]}, {None})

    def test_lines_of_fortran_have_the_shares_that_the_program_measures(self):
        program = self.build("shares.f90", "gfortran", SHARES_F90, "-g", "-O1")
        truth = self.path("truth")
        report = self.lines(program, truth)
        with open(truth) as file:
            self.check_shares(report, SHARES_F90, json.load(file))
        # Their time is in sine and cosine, of the system's library.
        row = next(row for row in report["lines"] if row["line"] == line_of(SHARES_F90, "HEAVY"))
        self.assertTrue(any(part["what"].startswith("libm") for part in row["parts"]), row)

    def test_what_the_standard_library_inlines_belongs_to_the_line_that_calls_it(self):
        for compiler, flag in (("g++", "-gdwarf-5"), ("clang++", "-gdwarf-4")):
            with self.subTest(compiler):
                program = self.build("vectors.cpp", compiler, VECTORS_CPP, "-O2", "-g", flag)
                report = self.lines(program)
                self.assertGreater(self.share(report, VECTORS_CPP, "SUM", "self_share"), 0.8, report["lines"])

    def test_a_line_of_python_contains_the_line_of_c_that_it_calls(self):
        if not KNOWN:
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        library = self.compile("extension.so", EXTENSION_C, "-g", "-O2", "-shared", "-fPIC",
                               "-fno-optimize-sibling-calls")
        truth, script = self.path("truth"), self.path("script.py", EXTENSION_PY)
        report = self.lines(next(iter(KNOWN.values())), script, truth, library)
        with open(truth) as file:
            seconds = json.load(file)
        inner = self.share(report, EXTENSION_C, "INNER", "self_share")
        calls = self.share(report, EXTENSION_C, "CALLS INNER")
        rows = {row["function"]: row for row in report["lines"] if row["language"] == "python"}
        compiled, python = rows["compiled"], rows["python"]
        self.assertAlmostEqual(inner, calls, delta=0.02)
        self.assertAlmostEqual(compiled["total_share"], inner, delta=0.04)
        self.assertLess(compiled["self_share"], 0.05)
        true = seconds["compiled"] / sum(seconds.values())
        self.assertAlmostEqual(inner / (inner + python["total_share"]), true, delta=POINTS / 100)


@needs_samples
class Calls(NativeLines):
    def test_calls_of_a_blas_stand_under_the_line_that_makes_them(self):
        folders = ["-L" + folder for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
        program = self.build("products.c", os.environ.get("CC_FOR_TESTS", "cc"), PRODUCTS_C, "-g", "-O1",
                             *folders, "-l:libblas.so.3")
        report = self.lines(program, env=environment(OPENBLAS_NUM_THREADS="1"))
        rows = {row["line"]: row for row in report["lines"]}
        for mark, count, size in (("DIRECT", 100, 200), ("PRODUCT", 20, 400)):
            row = rows[line_of(PRODUCTS_C, mark)]
            call, = row["calls"]
            self.assertEqual(call["routine"], "sgemm_")
            self.assertEqual(call["calls"], count)
            self.assertEqual([(s["m"], s["n"], s["k"]) for s in call["shapes"]], [(size,) * 3])
            self.assertGreater(call["gflops"], 0)
            self.assertGreater(call["share"], 0)
        outer = rows[line_of(PRODUCTS_C, "CALLS PRODUCT")]
        self.assertEqual(outer["calls"], [])
        self.assertAlmostEqual(outer["total_share"], rows[line_of(PRODUCTS_C, "PRODUCT")]["total_share"], delta=0.02)


@needs_samples
class Without(NativeLines):
    def test_a_program_without_lines_is_named_with_what_to_do(self):
        for name, flags in (("plain", []), ("stripped", ["-g", "-s"])):
            with self.subTest(name):
                program, truth = self.compile(name, SHARES_C, "-O2", *flags), self.path("truth")
                report = self.lines(program, truth)
                self.assertEqual(report["lines"], [])
                notes = report["lines_known"]["notes"]
                self.assertEqual(len(notes), 1, notes)
                self.assertRegex(notes[0], r"^build with -g: (9\d|100) % of the samples lie in or under code without "
                                           r"line information in " + name + "$")

    def test_the_text_says_so_too(self):
        program = self.compile("plain", SHARES_C, "-O2")
        done = hwprof("run", "--no-ladder", "--lines", "--", program, self.path("truth"))
        self.assertRegex(" ".join(done.stderr.split()), r"build with -g: (9\d|100) % of the samples lie in or under "
                                                        r"code without line information in plain")

    def test_a_library_without_lines_is_named_beside_its_callers_lines(self):
        library = self.compile("libplain.so", EXTENSION_C, "-O2", "-shared", "-fPIC")
        main = "void work(int);\nint main(void) {\n  for (int i = 0; i < 60; ++i) work(10000000); /* LOOP */\n}\n"
        program = self.build("caller.c", os.environ.get("CC_FOR_TESTS", "cc"), main, "-g", "-O1", library)
        report = self.lines(program)
        self.assertGreater(self.share(report, main, "LOOP", "self_share"), 0.9)
        self.assertRegex(report["lines_known"]["notes"][0], r"without line information in libplain\.so$")
        row, = [row for row in report["lines"] if row["line"] == 3]
        self.assertEqual(row["parts"][0]["what"], "libplain.so")

    def test_a_program_that_does_nothing_has_no_note(self):
        report = self.lines("true")
        self.assertEqual(report["lines"], [])
        if report["lines_known"]:
            self.assertEqual(report["lines_known"]["notes"], [])


@needs_samples
class Threads(NativeLines):
    def test_lines_of_threads_are_their_own(self):
        source = SHARES_C.replace("int main(", "int once(") + """
#include <pthread.h>
static void* run(void* n) {
  while (now() < 0.4) light(*(int*)n); /* THREAD */
  return 0;
}
int main(void) {
  int n = 100000;
  pthread_t thread;
  pthread_create(&thread, 0, run, &n);
  while (now() < 0.4) heavy(n); /* MAIN */
  return pthread_join(thread, 0);
}
"""
        report = self.lines(self.compile("threads", source, "-g", "-O2", "-pthread"))
        for mark in ("THREAD", "MAIN"):
            self.assertAlmostEqual(self.share(report, source, mark), 0.5, delta=POINTS / 100, msg=mark)


if __name__ == "__main__":
    harness.main()
