"""Where single long calls of a BLAS came from: the line of Python and the open region of each.

The BLAS is made here: its calls take 200 us, so that each is a long one.
"""

import collections
import json
import os
import re
import shutil
import subprocess
import sys

from harness import BINARY, environment
from lines_test import KNOWN
from run_harness import RunTest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIBRARY = os.path.join(os.path.dirname(BINARY), "..", "counters", "regions", "libhwprof.so.0")
QUIET = ("--no-counters", "--lines")
BLAS = r"""
#define _GNU_SOURCE
#include <complex.h>
#include <time.h>
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
static void work(void) { for (double end = now() + 200; now() < end;) {} }
void sgemm_(const char* a, const char* b, const int* m, const int* n, const int* k,
            const float* alpha, const float* x, const int* lda, const float* y, const int* ldb,
            const float* beta, float* z, const int* ldc) { work(); }
double _Complex zdotu_(const int* n, const double _Complex* x, const int* incx,
                       const double _Complex* y, const int* incy) {
  work();
  return 3 + 4 * I;
}
float sdot_(const int* n, const float* x, const int* incx, const float* y, const int* incy) {
  work();
  return 2.5f;
}
"""
# All calls are made at a line that has "sgemm_" in it.
SCRIPT = """
import ctypes, os, sys, threading, time
import hwprof
blas = ctypes.CDLL(sys.argv[1])
one, size = ctypes.c_float(1), ctypes.c_int(4)
space = (ctypes.c_float * 16)()
r = ctypes.byref
arguments = (b"N", b"N", r(size), r(size), r(size), r(one), space, r(size), space, r(size), r(one),
             space, r(size))
def plain():
    blas.sgemm_(*arguments)
def inside():
    with hwprof.region("step"):
        with hwprof.region("product"):
            blas.sgemm_(*arguments)
        blas.sgemm_(*arguments)
def deep(n):
    if n:
        deep(n - 1)
    else:
        blas.sgemm_(*arguments)
def key(value):
    blas.sgemm_(*arguments)
    return value
def generate(n):
    for i in range(n):
        blas.sgemm_(*arguments)
        yield i
class Layer:
    def forward(self):
        blas.sgemm_(*arguments)
def child():
    blas.sgemm_(*arguments)
def thread():
    with hwprof.region("thread"):
        blas.sgemm_(*arguments)
for _ in range(5):
    plain()
    inside()
deep(40)
sorted(range(3), key=key)
list(generate(4))
Layer().forward()
threads = [threading.Thread(target=thread) for _ in range(3)]
for one_thread in threads: one_thread.start()
for one_thread in threads: one_thread.join()
pid = os.fork()
if pid == 0:
    for _ in range(3): child()
    time.sleep(0.5)  # it is read meanwhile
    os._exit(0)
os.waitpid(pid, 0)
time.sleep(0.5)
"""
EXPECTED = {"plain": (5, None), "deep": (1, None), "key": (3, None), "generate": (4, None),
            "Layer.forward": (1, None), "child": (3, None), "thread": (3, "thread")}
DAEMONS = """
import ctypes, sys, threading, time
blas = ctypes.CDLL(sys.argv[1])
size, one, space = ctypes.c_int(4), ctypes.c_float(1), (ctypes.c_float * 16)()
r = ctypes.byref
def loop():
    while True:
        blas.sgemm_(b"N", b"N", r(size), r(size), r(size), r(one), space, r(size), space, r(size),
                    r(one), space, r(size))
for _ in range(4): threading.Thread(target=loop, daemon=True).start()
time.sleep(0.03)
"""
PROGRAM = r"""
#include <complex.h>
#include <stdio.h>
typedef unsigned long Region;
Region hwprof_enter(const char* name);
void hwprof_leave(Region region);
double _Complex zdotu_(const int*, const double _Complex*, const int*, const double _Complex*,
                       const int*);
float sdot_(const int*, const float*, const int*, const float*, const int*);
int main(void) {
  const int n = 2, step = 1;
  double _Complex x[2] = {0};
  float y[2] = {0};
  Region outer = hwprof_enter("a rather long name of what is around it all, twice as long as others");
  for (int i = 0; i < 4; ++i) {
    Region inner = hwprof_enter("another one, so that both together have no room in the table");
    const double _Complex sum = zdotu_(&n, x, &step, x, &step);
    const float dot = sdot_(&n, y, &step, y, &step);
    hwprof_leave(inner);
    printf("%g %g %g\n", creal(sum), cimag(sum), dot);
  }
  hwprof_leave(outer);
  const float last = sdot_(&n, y, &step, y, &step);
  printf("%g\n", last);
}
"""
# Has an interpreter's names. What it tells of a thread leads nowhere.
NO_PYTHON = r"""
const unsigned long Py_Version = 0x030b02f0;
unsigned long _PyRuntime[200], states[3][32];
void* PyGILState_GetThisThreadState(void) {
  static int call;
  states[1][7] = 0x7000000;                     // no memory
  states[2][7] = (unsigned long)&states[2][1];  // a frame that is its own
  states[2][2] = states[2][8] = (unsigned long)&states[2][2];
  ++call;
  return call % 4 == 3 ? (void*)0x123450 : states[call % 4];
}
"""
HOST = r"""
#include <dlfcn.h>
float sdot_(const int*, const float*, const int*, const float*, const int*);
int main(int count, char** words) {
  const int n = 2, step = 1;
  float y[2] = {0};
  void* python = dlopen(words[1], RTLD_NOW);
  if (!python) return 2;
  for (int i = 0; i < 8; ++i) sdot_(&n, y, &step, y, &step);
  if (dlclose(python) != 0 || dlopen(words[1], RTLD_NOW | RTLD_NOLOAD)) return 3;
  for (int i = 0; i < 8; ++i) sdot_(&n, y, &step, y, &step);
  return 7;
}
"""


class CallPlaces(RunTest):
    def setUp(self):
        super().setUp()
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        self.blas = self.compile("libblas_of_test.so", BLAS, "-shared", "-fPIC")

    def compile(self, name, code, *options):
        path = self.path(name)
        subprocess.run(["cc", "-O2", "-o", path, self.path(name + ".c", code), *options], check=True)
        return path

    def observe(self, *command, options=QUIET, **changes):
        changes.setdefault("PYTHONPATH", os.path.join(ROOT, "python"))
        done, report = self.run_json(*command, options=options,
                                     env=environment(HWPROF_LIBRARY=LIBRARY, **changes))
        called = report["blas"]["evidence"]["called"]
        self.assertEqual(called["how"], "audit", called)
        return done, called

    def observe_python(self, python, text, **more):
        script = self.path("script.py", text)
        done, called = self.observe(python, script, self.blas, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(script) as file:
            return file.read().splitlines(), called

    def test_each_long_call_has_its_line_and_its_region(self):
        if not KNOWN:
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        for version, python in KNOWN.items():
            with self.subTest(version=version):
                source, called = self.observe_python(python, SCRIPT)
                self.check(source, called)

    def check(self, source, called):
        self.assertIsNone(called["lines_reason"])
        found = collections.Counter()
        for span in called["spans"]:
            line = span["line"]
            self.assertEqual(os.path.basename(line["file"]), "script.py")
            self.assertIn("sgemm_", source[line["line"] - 1])
            self.assertEqual(span["stack"][0],
                             "%s (script.py:%d)" % (line["function"], line["line"]))
            found[line["function"], span.get("region")] += 1
        expected = {(name, region): count for name, (count, region) in EXPECTED.items()}
        expected["inside", "step/product"] = expected["inside", "step"] = 5
        self.assertEqual(found, expected)
        stacks = {span["line"]["function"]: span["stack"] for span in called["spans"]}
        self.assertEqual(len(stacks["deep"]), 6)
        self.assertTrue(all(one.startswith("deep (") for one in stacks["deep"]), stacks["deep"])
        self.assertTrue(stacks["key"][1].startswith("<module> ("), stacks["key"])
        self.assertEqual(len({span["process"] for span in called["spans"]}), 2)
        self.assertEqual(len({span["thread"] for span in called["spans"]}), 5)

    def test_without_lines_it_is_said_why_there_are_none(self):
        if not KNOWN:
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        _, called = self.observe_python(next(iter(KNOWN.values())), SCRIPT,
                                        options=("--no-counters",))
        self.assertIn("--lines", called["lines_reason"])
        for span in called["spans"]:
            self.assertNotIn("line", span)
            self.assertNotIn("stack", span)
        self.assertEqual(sum(span.get("region") == "step/product" for span in called["spans"]), 5)

    def test_threads_that_outlive_the_interpreter_end_as_alone(self):
        for python in KNOWN.values():
            script = self.path("script.py", DAEMONS)
            for _ in range(8):
                done, _ = self.observe(python, script, self.blas)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_results_and_regions_of_a_program_in_c(self):
        folder = os.path.dirname(LIBRARY)
        program = self.compile("program", PROGRAM, self.blas, LIBRARY,
                               "-Wl,-rpath," + self.folder + ":" + os.path.abspath(folder))
        alone = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        done, called = self.observe(program)
        self.assertEqual(done.stdout, alone)
        self.assertEqual(alone.splitlines()[0], "3 4 2.5")
        self.assertIn("9 calls from threads without a function of a Python", called["lines_reason"])
        regions = collections.Counter(span.get("region") for span in called["spans"])
        inner = "another one, so that both together have no room in the table"
        outer = "a rather long name of what is around it all, twice as long as others"
        self.assertEqual(regions, {(outer + "/" + inner)[-119:]: 8, None: 1})

    def test_what_is_no_interpreter_any_more_or_never_was(self):
        host = self.compile("host", HOST, self.blas, "-Wl,-rpath," + self.folder, "-ldl")
        done, called = self.observe(host, self.compile("libno_python.so", NO_PYTHON, "-shared", "-fPIC"))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(len(called["spans"]), 16)
        self.assertFalse([span for span in called["spans"] if "line" in span])
        self.assertNotEqual(called["lines_reason"], None)

    def test_the_trace_has_the_calls_in_their_regions(self):
        if not KNOWN:
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        trace_path = self.path("trace.json")
        source, called = self.observe_python(next(iter(KNOWN.values())), SCRIPT,
                                             options=(*QUIET, "--trace", trace_path))
        with open(trace_path) as file:
            trace = json.load(file)
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        calls = [event for event in slices if event["cat"] == "BLAS"]
        self.assertEqual(len(calls), len(called["spans"]))
        self.assertEqual(trace["otherData"]["blas_calls"], len(calls))
        regions = [event for event in slices if event["cat"] == "region"]
        self.assertEqual(len(regions), 13)
        for call in calls:
            path, line = call["args"]["line"].rsplit(":", 1)
            self.assertIn("sgemm_", source[int(line) - 1])
            around = [region["name"]
                      for region in sorted(regions, key=lambda one: (one["ts"], -one["dur"]))
                      if (region["pid"], region["tid"]) == (call["pid"], call["tid"])
                      and region["ts"] <= call["ts"]
                      and call["ts"] + call["dur"] <= region["ts"] + region["dur"] + 1e-3]
            self.assertEqual("/".join(around) or None, call["args"].get("region"))


if __name__ == "__main__":
    import unittest

    unittest.main()
