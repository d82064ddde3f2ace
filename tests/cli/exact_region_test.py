"""hwprof run --exact-region: entries to a region of libhwprof, counted instruction by instruction. The
work in them is 1000 multiplications and as many additions."""

import os
import platform
import sys
import unittest

from harness import environment, hwprof
from run_exact_test import ExactTest, python_with

PROGRAM = os.environ.get("EXACT_REGIONS")
LIBRARY = os.environ.get("LIBHWPROF")
PACKAGE = os.environ.get("HWPROF_PYTHON")
WORK = "sum_of_squares"
MODULE = """
import torch
torch.set_num_threads(1)
x = torch.ones(1, 4, 20)
conv = torch.nn.Conv1d(4, 8, 3)
net = torch.nn.Sequential(conv, torch.nn.ReLU())
with torch.no_grad():
    net(x), net(x)
"""
REGION = """
import sys
import hwprof
import numpy as np
a = np.ones((64, 64), 'f4')
a @ a
for i in range(3):
    with hwprof.region("LINEAR PASS") as region:
        c = (a @ a) + 1
assert (c == 65).all()
"""


@unittest.skipUnless(platform.machine() == "x86_64" and PROGRAM, "exact counting is for x86-64")
class RegionTest(ExactTest):
    option = "--exact-region"

    def entries(self, what, *command):
        """Of the program: those counted, and the work that is in each."""
        entries = self.counted(what, PROGRAM, *command)
        for entry in entries:
            self.assertIsNone(entry["symbol"])
            for row in entry["by_function"]:
                self.assertNotIn("hwprof-", row["library"] or "")
                self.assertNotIn("libhwprof", row["library"] or "")
        return entries

    def work_in(self, entry):
        return sum(row["flops"] for row in entry["by_function"] if WORK in (row["name"] or ""))

    def reason(self, what, *command):
        done, report = self.exact(what, PROGRAM, *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        reasons = [entry["reason"] for entry in report["exact"]]
        self.assertLessEqual(len(reasons), 1)
        self.assertNotIn(None, reasons)
        return "; ".join(reasons + [report["exact_reason"] or ""])


class Entries(RegionTest):
    def test_what_a_region_does(self):
        entry, = self.entries("inner:3", "plain", "5")
        self.assertEqual((entry["region"], entry["call"]), ("inner", 3))
        self.assertEqual((entry["flops"], entry["model_flops"], entry["to_model"]), (2000, 2000, 1))
        self.assertEqual(entry["operations"], {"add": 1000, "multiply": 1000, "compare": 1})
        self.assertEqual(entry["flops_by_width"], {"scalar": 2000})
        self.assertEqual(self.work_in(entry), 2000)
        self.assertEqual(sum(row["instructions"] for row in entry["by_function"]),
                         entry["instructions"])

    def test_the_region_around_has_what_is_declared_inside(self):
        entries = self.entries("outer:/2", "plain", "5")
        self.assertEqual([entry["call"] for entry in entries], [1, 3, 5])
        for entry in entries:
            self.assertEqual((entry["flops"], entry["model_flops"]), (2000, 2000))
        # The first one has what happens once.
        self.assertEqual(entries[1]["by_function"], entries[2]["by_function"])

    def test_ways_to_leave(self):
        for way in ["left-by-outer", "exception", "in-a-thread"]:
            with self.subTest(way):
                entry, = self.entries("inner", way)
                self.assertEqual((self.work_in(entry), entry["flops"]), (2000, 2000))

    def test_a_region_inside_itself(self):
        entry, = self.entries("inner:/1", "recursion")
        self.assertEqual((entry["call"], entry["flops"]), (1, 4000))
        entry, = self.entries("inner:2", "recursion")
        self.assertEqual(entry["flops"], 2000)

    def test_a_name_with_a_colon(self):
        self.assertIn("never entered", self.reason("a:b", "plain"))
        self.assertIn("its regions are inner, outer", self.reason("inner:x", "plain"))

    def test_the_report_says_it(self):
        done = hwprof("run", "--no-ladder", "--no-samples", "--exact-region", "inner", "--", PROGRAM,
                      "plain")
        words = " ".join(done.stderr.split())
        self.assertIn("region inner, entry 1: executed 2000 FLOP, 1.000 times the 2000 that the program "
                      "declares", words)
        self.assertIn("region inner, entry 1 was counted exactly, which takes longer", words)
        self.assertIn("anonymous namespace)::sum_of_squares: 100 % of the FLOP", words)
        # The copy of the code in which it ran is no library with a BLAS of its own.
        self.assertNotIn("memfd", words)


class NotCounted(RegionTest):
    def test_a_region_that_is_never_left(self):
        for way in ["longjmp", "thread-ends", "program-ends"]:
            with self.subTest(way):
                self.assertIn("left no count", self.reason("inner", way))

    def test_why_there_is_no_count(self):
        for way, why in [("busy-thread", "1 other thread"), ("fork", "starts a thread or a process"),
                         ("limits-itself", "seccomp")]:
            with self.subTest(way):
                self.assertIn(why, self.reason("inner", way))

    def test_fewer_entries_than_asked_for(self):
        self.assertIn("entered 2 times only", self.reason("inner:3", "plain", "2"))

    def test_what_cannot_be_asked(self):
        for options, words in [(["--exact-region", "a:0"], "says no entry"),
                               (["--exact-region", ":2"], "names no region"),
                               (["--exact-region", "x" * 256], "255 is the most"),
                               (["--exact-region", "a", "--exact", "sgemm_"], "exclude each other"),
                               (["--exact-region", "a", "--calls-by", "uprobes"], "--calls-by")]:
            done = hwprof("run", *options, "--", "true")
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(words, done.stderr)


@unittest.skipUnless(python_with("numpy"), "no numpy")
class Python(RegionTest):
    def test_a_region_of_python(self):
        done, report = self.exact("LINEAR PASS:2", python_with("numpy"), "-c", REGION,
                                  env=environment(PYTHONPATH=PACKAGE, HWPROF_LIBRARY=LIBRARY))
        self.assertEqual(done.returncode, 0, done.stderr)
        entry, = report["exact"]
        self.assertIsNone(entry["reason"])
        # 2 x 64^3 and 64^2 for the sum; what a BLAS does beyond.
        self.assertGreaterEqual(entry["flops"], 2 * 64 ** 3 + 64 ** 2)
        self.assertLess(entry["flops"], 1.1 * 2 * 64 ** 3)

    @unittest.skipUnless(python_with("torch"), "no torch")
    def test_a_module_of_pytorch(self):
        done, report = self.exact("0:2", python_with("torch"), "-c", MODULE,
                                  options=["--layers"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(report["exact_reason"])
        entry, = report["exact"]
        self.assertIsNone(entry["reason"])
        self.assertGreaterEqual(entry["flops"], 2 * 8 * 4 * 3 * 18)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
