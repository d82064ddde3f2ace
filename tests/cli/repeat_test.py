"""`hwprof --loops N --repeat R`: as many calls and repeats as were asked for, and what is said of
them in every format."""

import csv
import io
import json
import os
import re
import unittest

import harness
from harness import CliTest, hwprof, profile, quick

QUIET = ["--pin", str(min(os.sched_getaffinity(0))), "--no-ladder", "--variant", "simd"]


class Repeats(CliTest):
    def test_every_row_has_the_loops_and_repeats_asked_for(self):
        report = profile(*QUIET, "--loops", "7", "--repeat", "9")
        for row in report["rows"]:
            time, repeated = row["time_ns"], row["repeated"]
            self.assertEqual(repeated["loops"], 7)
            self.assertEqual(row["calls"], 7 * 9)
            self.assertEqual(len(time["slices"]), 9)
            self.assertEqual(repeated["best_ns"], min(time["slices"]))
            for outlier in repeated["outliers"]:
                self.assertEqual(outlier["ns"], time["slices"][outlier["index"]])
                self.assertGreater(outlier["ns"], time["median"])
                self.assertTrue(outlier["cause"])

    def test_repeat_alone_leaves_the_loops_to_hwprof(self):
        for row in profile(*QUIET, "--repeat", "3")["rows"]:
            self.assertEqual(row["time_ns"]["samples"], 3)
            self.assertEqual(row["calls"], 3 * row["repeated"]["loops"])
            self.assertEqual(row["repeated"]["outliers"], [])
            self.assertIn("fewer than 5", row["repeated"]["outliers_reason"])

    def test_loops_alone_leave_the_repeats_to_hwprof(self):
        for row in profile(*QUIET, "--loops", "2")["rows"]:
            left_out = sum(row["left_out"].values())  # where the host took the CPU
            self.assertEqual(row["calls"], 2 * (row["time_ns"]["samples"] + left_out))

    def test_the_repeats_are_made_whatever_the_time_budget(self):
        report = profile(*QUIET, "--repeat", "40", "--time-budget", "0.1")
        for row in report["rows"]:
            self.assertEqual(row["time_ns"]["samples"], 40)

    def test_without_either_nothing_is_said_of_repeats(self):
        for row in profile(*QUIET)["rows"]:
            self.assertIsNone(row["repeated"])
        self.assertNotIn("best of", hwprof(*quick(*QUIET)).stdout)

    def test_text_and_markdown_say_it_as_timeit_does(self):
        for form in ["text", "markdown"]:
            done = hwprof(*quick(*QUIET, "--loops", "5", "--repeat", "6", "--format", form))
            sentences = re.findall(r"5 loops, best of 6: [\d.e+]+ [mun]?sec per loop", done.stdout)
            self.assertEqual(len(sentences), 3, done.stdout)  # conv1d, maxpool, linear
        done = hwprof(*quick(*QUIET, "--loops", "1", "--repeat", "6"))
        self.assertIn("1 loop, best of 6: ", done.stdout)

    def test_the_table_has_the_numbers_too(self):
        done = hwprof(*quick(*QUIET, "--loops", "5", "--repeat", "6", "--format", "csv"))
        for line in csv.DictReader(io.StringIO(done.stdout)):
            self.assertEqual(line["loops"], "5")
            self.assertGreater(float(line["time_best_ns"]), 0)
            self.assertGreaterEqual(int(line["outliers"]), 0)

    def test_what_is_no_number_of_loops_or_repeats_is_refused(self):
        for option in ["--loops", "--repeat"]:
            for value in ["0", "-1", "1.5", "many", "99999999999999999999"]:
                self.assert_refused(option + "=" + value, names=[option, value])


if __name__ == "__main__":
    harness.main()
