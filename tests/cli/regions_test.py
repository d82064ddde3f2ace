"""Regions in `hwprof profile` and `hwprof run`: the table, the trace, what is refused.

No assertion on a time; on counts, nesting, and that every form of the report says the same.
"""

import csv
import glob
import json
import os
import tempfile

import harness
from harness import CliTest, environment, hwprof, profile

PROGRAM = os.environ["REGION_PROGRAM"]
MEMORY = os.environ["HWPROF_MEMORY"]
QUIET = ["--no-ladder", "--no-samples", "--no-calls", "--no-counters"]


def slices(trace):
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def not_nested(trace):
    """Slices that end after the one of their thread that was open when they began."""
    found, threads = [], {}
    for call in slices(trace):
        start = round(call["ts"] * 1000)
        threads.setdefault(call["tid"], []).append((start, -(start + round(call["dur"] * 1000))))
    for calls in threads.values():
        around = []
        for start, end in sorted(calls):
            while around and -around[-1] <= start:
                around.pop()
            if around and -end > -around[-1]:
                found.append((start, -end))
            around.append(end)
    return found


class Profile(CliTest):
    def test_the_trace_and_the_table_are_of_the_same_calls(self):
        trace_path, csv_path = self.path("trace.json"), self.path("regions.csv")
        report = profile("--no-ladder", "--variant", "simd", "--trace", trace_path,
                         "--regions", csv_path, "--events", "task-clock,page-faults")
        with open(trace_path) as file:
            trace = json.load(file)
        with open(csv_path, newline="") as file:
            lines = list(csv.DictReader(file))
        regions = report["regions"]
        self.assertEqual([row["path"] for row in regions["rows"]],
                         [["forward"], ["forward", "conv1d"], ["forward", "maxpool"],
                          ["forward", "linear"]])
        self.assertEqual(not_nested(trace), [])
        self.assertEqual(trace["otherData"]["dropped_calls"], 0)
        self.assertEqual(regions["trace"]["calls"], len(slices(trace)))
        self.assertEqual(len(lines), len(regions["rows"]))
        for row, line in zip(regions["rows"], lines):
            calls = [call for call in slices(trace) if call["name"] == row["name"]]
            self.assertEqual(len(calls), row["calls"])
            self.assertEqual(int(line["calls"]), row["calls"])
            self.assertEqual(float(line["total_ns"]), row["total_ns"])
            self.assertEqual(float(line["self_ns"]), row["self_ns"])
            self.assertEqual(int(line["memory_total_bytes"]), row["memory_bytes"]["total"])
            # The trace has raw times: with what entering costs.
            self.assertGreaterEqual(sum(call["dur"] for call in calls) * 1000 + 1, row["total_ns"])
            self.assertEqual(sum(call["args"]["allocated_bytes"] for call in calls),
                             row["memory_bytes"]["total"])
        whole = regions["rows"][0]
        self.assertEqual(whole["flops"], sum(row["flops"] for row in regions["rows"][1:]))
        self.assertAlmostEqual(sum(row["self_share"] for row in regions["rows"]), 1)

    def test_a_short_ring_says_what_it_dropped(self):
        path = self.path("trace.json")
        report = profile("--no-ladder", "--variant", "simd", "--trace", path, "--trace-calls", "3")
        with open(path) as file:
            trace = json.load(file)
        self.assertEqual(len(slices(trace)), 3)
        self.assertGreater(trace["otherData"]["dropped_calls"], 0)
        self.assertEqual(report["regions"]["trace"]["dropped"],
                         trace["otherData"]["dropped_calls"])

    def test_overhead_has_a_row_for_each_way_of_watching(self):
        rows = profile("--no-ladder", "--variant", "simd", "--overhead")["regions"]["overhead"]
        self.assertEqual([row["mode"] for row in rows], ["none", "counting", "sampling", "tracing"])
        for row in rows:
            if row["pass_ns"] is None:
                self.assertTrue(row["reason"])
            else:
                self.assertGreater(row["pass_ns"], 0)
                self.assertIsNotNone(row["memory_bytes"])

    def test_wrong_views_are_refused_by_name(self):
        self.assert_refused("profile", "--sort", "slef", names=["slef", "did you mean self?"])
        self.assert_refused("run", "--sort", "slef", "--", "true", names=["slef", "self"])
        self.assert_refused("profile", "--group-by", "stack", names=["--group-by", "stack", "path"])
        self.assert_refused("profile", "--top", "0", names=["--top", "0"])
        self.assert_refused("profile", "--depth", "-1", names="--depth")
        self.assert_refused("profile", "--trace", self.path("t.txt"), names=["--trace", "t.txt"])
        self.assert_refused("profile", "--regions", self.path("t.txt"), names=["--regions", ".csv"])
        self.assert_refused("profile", "--trace", self.path("no/t.json"), names="no", code=3)


class Run(CliTest):
    def run_program(self, *arguments, **options):
        done = hwprof("run", *QUIET, "--format", "json", *arguments, "--",
                      "env", "LD_PRELOAD=" + MEMORY, PROGRAM, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stderr)["regions"]

    def test_the_regions_of_all_processes_add_up(self):
        folders = os.path.join(tempfile.gettempdir(), "hwprof-regions-*")
        before = set(glob.glob(folders))
        regions = self.run_program()
        self.assertEqual(regions["processes"], 3)
        calls = {(row["name"], row["shape"]): row["calls"] for row in regions["rows"]}
        self.assertEqual(calls, {("step", None): 10, ("fill", "1048576"): 5, ("fill", "2097152"): 5})
        self.assertEqual(set(glob.glob(folders)), before, "left something behind")

    def test_one_trace_has_the_calls_of_all_processes(self):
        path = self.path("trace.json")
        regions = self.run_program("--trace", path)
        with open(path) as file:
            trace = json.load(file)
        spans, begin = regions["trace"].pop("spans"), regions["trace"].pop("spans_begin_ns")
        self.assertAlmostEqual(begin, 1000 * min(call["ts"] for call in slices(trace)), delta=1)
        self.assertEqual(regions["trace"],
                         {"path": path, "calls": 20, "dropped": 0, "spans_note": None})
        self.assertEqual(sorted(span["name"] for span in spans),
                         sorted(call["name"] for call in slices(trace)))
        self.assertEqual(min(span["start_ns"] for span in spans), 0)
        self.assertEqual(len(slices(trace)), 20)
        self.assertEqual(len({call["pid"] for call in slices(trace)}), 3)
        self.assertEqual(trace["otherData"]["calls"], 20)

    def test_a_program_without_regions_leaves_no_trace_and_a_warning(self):
        path, report = self.path("trace.json"), self.path("report.json")
        done = hwprof("run", *QUIET, "--trace", path, "--format", "json", "-o", report, "--",
                      "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(os.path.exists(path))
        with open(report) as file:
            self.assertIn("trace", [warning["code"] for warning in json.load(file)["warnings"]])

    def test_memory_is_self_total_and_peak(self):
        rows = {row["shape"]: row for row in self.run_program()["rows"]}
        memory = rows["2097152"]["memory_bytes"]
        self.assertAlmostEqual(memory["self"], 5 * 2097152, delta=5 * 8192)
        self.assertAlmostEqual(memory["peak"], 2097152, delta=8192)
        self.assertEqual(rows[None]["memory_bytes"]["self"], 0)

    def test_grouped_sorted_and_cut(self):
        regions = self.run_program("--group-by", "name", "--sort", "memory-self", "--top", "1")
        self.assertEqual([row["name"] for row in regions["rows"]], ["fill"])
        self.assertEqual(regions["rows"][0]["calls"], 10)
        self.assertEqual(regions["hidden"], 1)

    def test_a_file_of_the_users_own_is_read_and_stays(self):
        path = self.path("mine.json")
        regions = self.run_program(env=environment(HWPROF_REGIONS=path))
        # The process that was started by exec shares the file with the first, which ends last.
        self.assertEqual(regions["processes"], 2)
        self.assertTrue(os.path.exists(path))

    def test_memory_that_nobody_watches_is_absent_with_the_reason(self):
        done = hwprof("run", *QUIET, "--format", "json", "--", PROGRAM)
        regions = json.loads(done.stderr)["regions"]
        self.assertIn("libhwprof-memory", regions["memory_reason"])
        self.assertEqual([row["memory_bytes"] for row in regions["rows"]], [None] * 3)

    def test_a_program_without_regions_has_none(self):
        done = hwprof("run", *QUIET, "--format", "json", "--", "true")
        self.assertIsNone(json.loads(done.stderr)["regions"])
        self.assertNotIn("Regions", hwprof("run", *QUIET, "--", "true").stderr)


if __name__ == "__main__":
    harness.main()
