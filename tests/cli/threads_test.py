"""`hwprof --threads LIST`: one number of threads after the other, side by side."""

import csv
import io
import json
import os
import unittest

import harness
from harness import CliTest, hwprof, profile, quick, work_ns

ONE_CPU = str(min(os.sched_getaffinity(0)))
QUICK = ["--no-ladder", "--variant", "simd"]


class Threads(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.report = profile(*QUICK, "--pin", ONE_CPU, "--threads", "1,2", "--time-budget", "2")

    def test_every_row_is_measured_on_every_number(self):
        self.assertEqual([row["threads"] for row in self.report["rows"]], [1] * 3 + [2] * 3)
        self.assertEqual([row["op"] for row in self.report["rows"]][:3],
                         [row["op"] for row in self.report["rows"]][3:])
        self.assertEqual([count["threads"] for count in self.report["scaling"]["counts"]], [1, 2])

    def test_the_numbers_side_by_side_are_those_of_the_rows(self):
        rows = self.report["rows"]
        for i, beside in enumerate(self.report["scaling"]["rows"]):
            first, second = beside["points"]
            self.assertEqual(first["time_ns"], work_ns(rows[i]))
            self.assertEqual(second["time_ns"], work_ns(rows[i + 3]))
            self.assertEqual((first["speedup"], first["efficiency"]), (1, 1))
            self.assertEqual(first["speedup_ci95"], [None, None])
            low, high = second["speedup_ci95"]
            if low is None:  # too few turns: then it is that of the medians
                self.assertAlmostEqual(second["speedup"], first["time_ns"] / second["time_ns"])
            else:
                self.assertLessEqual(low, second["speedup"])
                self.assertLessEqual(second["speedup"], high)
                self.assertAlmostEqual(second["efficiency_ci95"][0], low / 2)
            self.assertAlmostEqual(second["efficiency"], second["speedup"] / 2)

    def test_two_threads_on_one_cpu_are_oversubscribed_and_share_it(self):
        one, two = self.report["scaling"]["counts"]
        self.assertEqual((one["oversubscribed"], two["oversubscribed"]), (False, True))
        for row in self.report["scaling"]["rows"]:
            for point in row["points"]:
                if point["cpu_shares_reason"] is None:
                    self.assertLess(sum(point["cpu_shares"]), 1.1)  # of one CPU

    def test_the_head_of_the_report_is_on_the_first(self):
        self.assertEqual(self.report["threads"], 1)
        self.assertEqual(self.report["peak"]["threads"], 1)
        passes = {p["name"]: p["time_ns"] for p in self.report["passes"]}
        simd = sum(work_ns(row) for row in self.report["rows"][:3])
        self.assertAlmostEqual(passes["simd"], simd)

    def test_one_number_is_as_before(self):
        report = profile(*QUICK, "--threads", "1")
        self.assertIsNone(report["scaling"])
        self.assertEqual(len(report["rows"]), 3)

    def test_every_format_shows_both(self):
        options = [*QUICK, "--pin", ONE_CPU, "--threads", "2,1"]
        for form in ["text", "markdown"]:
            text = hwprof(*quick(*options, "--format", form)).stdout
            self.assertIn("Threads side by side", text)
            self.assertIn("2 threads share 1 CPU: oversubscribed", text)
        lines = csv.DictReader(io.StringIO(hwprof(*quick(*options, "--format", "csv")).stdout))
        self.assertEqual([line["threads"] for line in lines], ["2"] * 3 + ["1"] * 3)

    def test_lists_that_are_none_are_refused(self):
        for value in ["0", "1,0", "1,,2", "1,two", "-1", "1.5", "8193", ","]:
            self.assert_refused("--threads=" + value, names="--threads")


if __name__ == "__main__":
    harness.main()
