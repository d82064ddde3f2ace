"""hwprof run --exact: calls of a program, counted instruction by instruction. What is counted is held
against what the program counts of itself by src/exact, without hwprof."""

import json
import os
import platform
import subprocess
import sys
import unittest

import harness
from evidence_harness import CALLER as BLAS_CALLER
from harness import CliTest, environment, hwprof

CALLER = os.environ.get("EXACT_CALLER")
SANITIZED = os.environ.get("SANITIZED_PRODUCT")
STATIC_CALLER = os.environ.get("STATIC_CALLER")
NUMPY = "import numpy as np; a = np.ones((128, 128), 'f4'); assert ((a @ a) == 128).all()"


def python_with(module):
    for python in [sys.executable, "/usr/bin/python3"]:
        done = subprocess.run([python, "-c", "import " + module], capture_output=True)
        if done.returncode == 0:
            return python
    return None


@unittest.skipUnless(platform.machine() == "x86_64", "exact counting is for x86-64")
class ExactTest(CliTest):
    option = "--exact"

    def exact(self, what, *command, options=(), **popen):
        """Runs `command`; returns (completed process, report)."""
        path = self.path("report.json")
        done = hwprof("run", "--no-ladder", "--no-samples", "--no-counters", self.option, what,
                      "--format", "json", "-o", path, *options, "--", *command, **popen)
        with open(path) as file:
            return done, json.load(file)

    def counted(self, what, *command, **popen):
        """The calls; each of them has a count."""
        done, report = self.exact(what, *command, **popen)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIsNone(report["exact_reason"])
        for call in report["exact"]:
            self.assertIsNone(call["reason"])
        return report["exact"]


@unittest.skipUnless(CALLER, "no BLAS to link with, or no cblas.h")
class Calls(ExactTest):
    def test_a_call_is_what_the_program_counts_of_itself(self):
        for n in [33, 64, 128]:
            alone = subprocess.run([CALLER, "reference", str(n)], capture_output=True, text=True,
                                   env=environment(OPENBLAS_NUM_THREADS="1"))
            self.assertEqual(alone.returncode, 0, alone.stderr)
            expected = json.loads(alone.stdout)
            call, = self.counted("cblas_sgemm:2", CALLER, "products", str(n), "3")
            self.assertEqual((call["symbol"], call["call"]), ("cblas_sgemm", 2))
            self.assertEqual((call["m"], call["n"], call["k"]), (n, n, n))
            self.assertEqual(call["form"], "row-major, B transposed")
            self.assertEqual(call["model_flops"], 2 * n ** 3)
            self.assertEqual(call["instructions"], expected["instructions"])
            self.assertEqual(call["flops"], expected["flops"])
            self.assertEqual(call["bytes_loaded"], expected["loaded"])
            for key in ["instructions", "flops", "bytes_loaded"]:
                self.assertEqual(sum(row[key] for row in call["by_function"]), call[key], key)
            self.assertEqual(call["flops_by_width"].get("256", 0), expected["at_256"])
            self.assertEqual(sum(call["flops_by_width"].values()), call["flops"])
            self.assertGreaterEqual(call["flops"], call["model_flops"])
            self.assertAlmostEqual(call["to_model"], call["flops"] / call["model_flops"])
            # Nothing of hwprof's own between the two is in it.
            for row in call["by_function"]:
                self.assertNotIn("hwprof", row["library"] or "")

    def test_two_runs_are_the_same(self):
        one, two = (self.counted("cblas_sgemm:2", CALLER, "products", "64", "2") for _ in range(2))
        self.assertEqual(one, two)

    def test_the_first_of_each_two(self):
        calls = self.counted("cblas_sgemm:/2", CALLER, "products", "33", "5")
        self.assertEqual([call["call"] for call in calls], [1, 3, 5])
        self.assertEqual(calls[1]["by_function"], calls[2]["by_function"])

    def test_calls_are_numbered_over_all_processes(self):
        call, = self.counted("cblas_sgemm:2", CALLER, "forks", "20")
        self.assertEqual(call["m"], 40)

    def test_results_errno_and_rounding_stay(self):
        for symbol in ["cblas_ddot", "cblas_idamax"]:
            call, = self.counted(symbol, CALLER, "results")
            self.assertEqual(call["k"], 3)
        self.assertIsNone(call["model_flops"])
        self.assertIsNone(call["to_model"])

    def test_a_thread_of_the_least_stack(self):
        # Not a core type of OpenBLAS's that needs more than that itself, as Prescott does.
        call, = self.counted("cblas_sgemm", CALLER, "small-stack", "33",
                             env=environment(OPENBLAS_CORETYPE="Haswell"))
        self.assertEqual(call["n"], 33)

    @unittest.skipUnless(SANITIZED, "no address sanitizer, or one in the program itself")
    def test_a_program_whose_sanitizer_wants_to_be_first(self):
        done, report = self.exact("cblas_dgemm", SANITIZED)
        self.assertEqual(done.returncode, 7, done.stderr)
        call, = report["exact"]
        self.assertGreaterEqual(call["flops"], 2 * 20 ** 3)
        # What it is told itself stays.
        done, _ = self.exact("cblas_dgemm", SANITIZED, env=environment(ASAN_OPTIONS="exitcode=9:help=1"))
        self.assertIn("verify_asan_link_order", done.stderr)
        self.assertEqual(done.returncode, 7, done.stderr)

    def test_the_report_says_it(self):
        for form in ["text", "markdown"]:
            done = hwprof("run", "--no-ladder", "--no-samples", "--format", form, "--exact",
                          "cblas_sgemm", "--", CALLER, "products", "64")
            words = " ".join(done.stderr.replace("\\", "").split())
            self.assertIn("cblas_sgemm, call 1", words)
            self.assertIn("64x64x64", words)
            self.assertIn("the 524288 of its operation", words)

    def test_its_time_is_no_time(self):
        done, report = self.exact("cblas_sgemm", CALLER, "products", "64", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        called = report["blas"]["evidence"]["called"]
        self.assertEqual(sum(site["count"] for site in called["calls"]), 3)
        self.assertIn("1 call ran while it was counted exactly", " ".join(called["blind_to"]))
        self.assertIsNone(called["wall_ns"])


@unittest.skipUnless(CALLER, "no BLAS to link with, or no cblas.h")
class NotCounted(ExactTest):
    def test_another_thread(self):
        done, report = self.exact("cblas_sgemm", CALLER, "threads", "64")
        self.assertEqual(done.returncode, 0, done.stderr)
        call, = report["exact"]
        self.assertIn("other thread", call["reason"])
        self.assertIn("OPENBLAS_NUM_THREADS=1", call["reason"])
        for key in ["flops", "instructions", "flops_by_width", "by_function"]:
            self.assertNotIn(key, call)

    def test_a_routine_that_is_not_called(self):
        done, report = self.exact("dgemm_", CALLER, "products", "20")
        self.assertEqual((done.returncode, report["exact"]), (0, []))
        self.assertIn("dgemm_ was never called", report["exact_reason"])
        self.assertIn("cblas_sgemm", report["exact_reason"])
        done, report = self.exact("cblas_sgemm:9", CALLER, "products", "20", "2")
        self.assertIn("2 times only", report["exact_reason"])

    def test_a_count_that_no_call_has_left(self):
        """The folder is the program's to write into."""
        for command in [["sh", "-c", "echo forged > $HWPROF_EXACT/1.exact"],
                        ["sh", "-c", "echo forged > $HWPROF_EXACT/1.exact; exec \"$@\"", "sh",
                         CALLER, "products", "20"]]:
            done, report = self.exact("dgemm_", *command)
            self.assertEqual((done.returncode, report["exact"]), (0, []))
            self.assertIn("dgemm_ was never called", report["exact_reason"])
            self.assertIn("1 count lies where hwprof reads them", report["exact_reason"])

    @unittest.skipUnless(STATIC_CALLER, "no static program")
    def test_a_static_program(self):
        done, report = self.exact("sgemm_", STATIC_CALLER)
        self.assertEqual((done.returncode, report["exact"]), (0, []))
        self.assertIn("static", report["exact_reason"])

    def test_a_process_that_drops_the_library(self):
        done, report = self.exact("cblas_sgemm", "env", "-u", "LD_PRELOAD", CALLER, "products",
                                  "20")
        self.assertEqual((done.returncode, report["exact"]), (0, []))
        self.assertIn("without libhwprof-exact", report["exact_reason"])

    def test_a_process_that_limits_its_files(self):
        for bytes_ in ["0", "8192", "100000"]:
            done, report = self.exact("cblas_sgemm", CALLER, "limited-files", bytes_)
            self.assertEqual(done.returncode, 0, done.stderr)
            reasons = [call["reason"] for call in report["exact"]] + [report["exact_reason"] or ""]
            self.assertRegex("".join(reasons), "a limit on the size of its files|File too large")

    def test_a_program_that_limits_its_system_calls(self):
        done, report = self.exact("sgemm_:5", BLAS_CALLER, "seccomp")
        self.assertEqual((done.returncode, report["exact"]), (0, []))
        self.assertIn("seccomp", report["exact_reason"])

    def test_the_exit_code_is_the_commands(self):
        done, _ = self.exact("cblas_sgemm", "sh", "-c", '"$0" products 20; exit 7', CALLER)
        self.assertEqual(done.returncode, 7)


class Refused(ExactTest):
    def refuse(self, names, *options, command="run"):
        self.assert_refused(command, *options, "--", "true", names=names)

    def test_symbols(self):
        self.refuse(["'cblas_sgem' is no routine", "cblas_sgemm"], "--exact", "cblas_sgem")
        self.refuse(["'sgemm' is no routine", "sgemm_"], "--exact", "sgemm")
        self.refuse("is no routine", "--exact", "x" * 5000)
        self.refuse("--exact", "--exact", "")

    def test_calls(self):
        for call in ["0", "-1", "x", "", "/", "/0", "1/2", "99999999999999999999"]:
            self.refuse("says no call", "--exact", "cblas_sgemm:" + call)

    def test_what_it_needs(self):
        self.refuse("--no-calls", "--exact", "cblas_sgemm", "--no-calls")
        self.refuse("--calls-by uprobes", "--exact", "cblas_sgemm", "--calls-by", "uprobes")

    def test_attach(self):
        self.assert_refused("attach", "--exact", "cblas_sgemm", "1", names="--exact")


class Python(ExactTest):
    def python(self, module, code):
        python = python_with(module)
        if python is None:
            self.skipTest("no Python here has " + module)
        call, = self.counted("cblas_sgemm" if module == "numpy" else "sgemm_", python, "-c", code,
                             env=environment(PYTHONHASHSEED="0"))
        return call

    def test_numpy(self):
        one, two = (self.python("numpy", NUMPY) for _ in range(2))
        self.assertEqual((one["m"], one["n"], one["k"]), (128, 128, 128))
        self.assertEqual(one["model_flops"], 2 * 128 ** 3)
        # The model at least, and no more than 5 % beyond it on any kernel of OpenBLAS.
        self.assertGreaterEqual(one["flops"], 2 * 128 ** 3)
        self.assertLess(one["to_model"], 1.05)
        self.assertGreater(one["by_function"][0]["flops"], 0.9 * one["flops"])
        for key in ["flops", "flops_by_width", "operations"]:
            self.assertEqual(one[key], two[key], key)

    def test_torch(self):
        call = self.python("torch", "import torch; torch.set_num_threads(1); a = torch.ones(64, 64);"
                                    "assert bool(((a @ a) == 64).all())")
        self.assertEqual((call["m"], call["n"], call["k"]), (64, 64, 64))
        self.assertGreaterEqual(call["flops"], 2 * 64 ** 3)


if __name__ == "__main__":
    harness.main()
