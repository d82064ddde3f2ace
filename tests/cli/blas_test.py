"""`hwprof blas`: the line for other programs, the ranking, and what is refused."""

import json
import os
import re

import harness
from harness import CliTest, environment, hwprof

LINE = re.compile(r"verdict=(\S+) provider=(\S+) core=(\S+) gflops=(\S+) peak_fraction=(\S+)$")
EXIT_CODES = {"optimal": 0, "borderline": 1, "suboptimal": 1, "unoptimised": 1, "missing": 1,
              "inconclusive": 3}


class Blas(CliTest):
    def test_the_first_line_and_the_exit_code_agree(self):
        done = hwprof("blas", "--quick")
        line = LINE.match(done.stdout.split("\n")[0])
        self.assertIsNotNone(line, done.stdout)
        self.assertEqual(done.returncode, EXIT_CODES[line.group(1)])
        self.assertEqual(done.stderr, "")

    def test_quick_judges_what_programs_get(self):
        done = hwprof("blas", "--quick", "--format", "json")
        report = json.loads(done.stdout)
        found = [rung for rung in report["ladder"] if rung["as_found"]]
        if found:  # a machine may have no BLAS
            self.assertNotEqual(found[0]["peak_fraction"] is None, found[0]["reason"] is None)
        self.assertEqual(done.returncode == 0, report["verdict"] == "optimal")

    def test_every_library_has_a_number_or_a_reason(self):
        report = json.loads(hwprof("blas", "--format", "json").stdout)
        self.assertEqual(report["schema"], "hwprof.blas/1")
        for library in report["libraries"]:
            self.assertTrue(os.path.isabs(library["path"]))
            self.assertNotEqual(library["sgemm"]["gflops"] is None, library["reason"] is None)
        self.assertLessEqual(sum(library["default"] for library in report["libraries"]), 1)
        shares = [library["sgemm"]["peak_fraction"] or -1 for library in report["libraries"]]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_a_factor_is_measured_or_absent_and_a_fact_has_one_number(self):
        report = json.loads(hwprof("blas", "--format", "json").stdout)
        measured = [rung for rung in report["ladder"] if rung["gflops"]]
        self.assertEqual(report["factor"] is not None, len(measured) > 1)
        found = [rung for rung in measured if rung["as_found"]]
        for library in report["libraries"]:
            if library["default"] and found:
                self.assertEqual(library["sgemm"]["gflops"], found[0]["gflops"])
        self.assertNotEqual(report["own"] is None, report["own_reason"] is None)

    def test_where_programs_get_none_the_own_one_is_measured_or_said_why_not(self):
        # The loader gives up at a file of that name that is no library.
        for name in ("libblas.so.3", "libopenblas.so.0", "libflexiblas.so.3", "libblis.so.4",
                     "libmkl_rt.so.2", "libmkl_rt.so", "libopenblas64.so.0", "libblas64.so.3",
                     "libsatlas.so.3"):
            self.path(name, "")
        path = ":".join(filter(None, [self.folder, os.environ.get("LD_LIBRARY_PATH")]))
        none = environment(LD_LIBRARY_PATH=path)
        report = json.loads(hwprof("blas", "--format", "json", env=none).stdout)
        self.assertEqual(report["verdict"], "missing")
        self.assertIn("install", report["fix"])
        self.assertNotEqual(report["own"] is None, report["own_reason"] is None)
        if report["own"]:
            self.assertIn("which is not installed and was measured, reaches", report["why"])
        text = hwprof("blas", "--quick", env=none)
        self.assertEqual(text.returncode, 1)
        self.assertTrue(text.stdout.startswith("verdict=missing provider=- "), text.stdout)

    def test_the_environment_is_reported(self):
        done = hwprof("blas", "--quick", env=environment(OPENBLAS_NUM_THREADS="1"))
        self.assertIn("OPENBLAS_NUM_THREADS=1", done.stdout)

    def test_wrong_usage(self):
        self.assert_refused("blas", self.path("nonsense", "no library"), names="nonsense")
        self.assert_refused("blas", "/no/such/library", names="/no/such/library")
        self.assert_refused("blas", "--format", "xml", names=["--format", "xml"])


if __name__ == "__main__":
    harness.main()
