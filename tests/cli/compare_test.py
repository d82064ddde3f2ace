"""`hwprof compare`: which rows differ, what is said about it, and what is refused.

The reports are real ones whose numbers are changed, so nothing depends on how fast the machine is.
"""

import copy
import csv
import io
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from harness import CliTest, hwprof, profile


def scaled(report, op, variant, factor, peak=1.0):
    """A copy in which one row takes `factor` times as long, beside `peak` times the FMA peak."""
    changed = copy.deepcopy(report)
    for row in changed["rows"]:
        if (row["op"], row["variant"]) == (op, variant):
            time = row["time_ns"]
            time["median"] *= factor
            time["slices"] = [ns * factor for ns in time["slices"]]
            time["slice_peak_gflops"] = [rate * peak for rate in time["slice_peak_gflops"]]
    return changed


def steady(report):
    """A copy in which every row has 20 slices within 1 % of its median, beside a steady peak, as of
    several threads: without CPU time."""
    changed = copy.deepcopy(report)
    for row in changed["rows"]:
        row["cpu_time_ns"] = None
        row["on_cpu"], row["disturbed"] = 1.0, False
        row["left_out"] = {"moved": 0, "stolen": 0, "waited": 0}
        time = row["time_ns"]
        time["slices"] = [time["median"] * (1 + (i * 7 % 20 - 9.5) / 1000) for i in range(20)]
        time["slice_peak_gflops"] = [100.0 + i * 3 % 20 / 10 for i in range(20)]
        for column in ["slice_migrated", "slice_page_faults", "slice_involuntary_switches"]:
            time[column] = [None] * 20
    return changed


class Compared(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.raw = profile("--pin", str(min(os.sched_getaffinity(0))), "--no-ladder",
                          "--variant", "simd,fused")
        cls.report = steady(cls.raw)

    def file(self, name, report):
        return self.path(name, json.dumps(report))

    def compare(self, *reports, arguments=(), code=0):
        """The comparison as JSON of `reports`, each written to a file of its own."""
        names = [report if report == "--" else self.file("%d.json" % i, report)
                 for i, report in enumerate(reports)]
        done = hwprof("compare", "--format", "json", *arguments, *names)
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def verdicts(self, comparison, file=0):
        return {row["row"]: row["verdict"] for row in comparison["files"][file]["rows"]}


class Verdicts(Compared):
    def test_the_report_holds_its_raw_slices(self):
        for row in self.raw["rows"]:
            time = row["time_ns"]
            self.assertEqual(len(time["slices"]), time["samples"])
            for column in ["slice_peak_gflops", "slice_migrated", "slice_page_faults",
                           "slice_involuntary_switches"]:
                self.assertEqual(len(time[column]), time["samples"], column)

    def test_cpu_time_decides_where_there_is_one(self):
        waited = copy.deepcopy(self.report)  # other programs took half of the CPU
        for row in waited["rows"]:
            row["on_cpu"] = 0.95
            time = row["time_ns"]
            row["cpu_time_ns"] = {"median": time["median"], "min": time["min"],
                                  "ci95": time["ci95"], "slices": list(time["slices"])}
            time["median"] *= 2
            time["slices"] = [2 * ns for ns in time["slices"]]
        comparison = self.compare(self.report, waited)
        self.assertNotIn("slower", self.verdicts(comparison).values())

    def test_a_report_is_the_same_as_itself(self):
        comparison = self.compare(self.report, self.report)
        self.assertEqual(comparison["schema"], "hwprof.compare/1")
        # One run a side cannot show that nothing differs; that nothing was shown it can say.
        self.assertLessEqual(set(self.verdicts(comparison).values()), {"same", "undecided"})
        for row in comparison["files"][0]["rows"]:
            self.assertAlmostEqual(row["ratio"], 1)
        self.assertEqual(comparison["files"][0]["warnings"], [])

    def test_a_slower_row_is_named_and_the_exit_code_is_1(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        comparison = self.compare(self.report, slow, code=1)
        verdicts = self.verdicts(comparison)
        self.assertEqual(verdicts.pop("linear simd"), "slower")
        self.assertLessEqual(set(verdicts.values()), {"same", "undecided"})
        self.assertIn("linear simd 1.50 times", comparison["verdict"])

    def test_the_other_way_round_it_is_faster_and_the_exit_code_is_0(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        self.assertEqual(self.verdicts(self.compare(slow, self.report))["linear simd"], "faster")

    def test_a_difference_within_the_threshold_is_none(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        for share in ["80%", "80", "0.8"]:
            comparison = self.compare(self.report, slow, arguments=["--threshold", share])
            self.assertEqual(set(self.verdicts(comparison).values()), {"same"})

    def test_what_one_run_cannot_see_is_undecided(self):
        slow = scaled(self.report, "linear", "simd", 1.08)
        comparison = self.compare(self.report, slow)
        row = next(row for row in comparison["files"][0]["rows"] if row["row"] == "linear simd")
        self.assertEqual(row["verdict"], "undecided")
        self.assertGreater(row["runs_needed"], 1)
        self.assertIn("linear simd 1.08 [", comparison["verdict"])
        self.assertIn("needs about %d runs a side" % row["runs_needed"], comparison["verdict"])
        self.compare(self.report, slow, arguments=["--strict"], code=3)

    def test_several_runs_a_side_see_it(self):
        def runs(factor):
            return [scaled(self.report, "linear", "simd", factor * (1 + i / 1000))
                    for i in range(5)]
        comparison = self.compare(*runs(1), "--", *runs(1.08), code=1)
        self.assertEqual(self.verdicts(comparison)["linear simd"], "slower")
        self.assertEqual(len(comparison["baseline"]["more"]), 4)
        self.assertEqual(len(comparison["files"]), 1)
        self.assertEqual(comparison["files"][0]["rows"][0]["samples"], 5)
        comparison = self.compare(*runs(1.08), "--", *runs(1))
        self.assertEqual(self.verdicts(comparison)["linear simd"], "faster")

    def test_a_busy_machine_decides_nothing_unless_told(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        for row in slow["rows"]:
            row["on_cpu"] = 0.4
        comparison = self.compare(self.report, slow)
        self.assertEqual(set(self.verdicts(comparison).values()), {"not-comparable"})
        self.assertIn("on its CPU 40 % of the time", comparison["verdict"])
        self.compare(self.report, slow, arguments=["--strict"], code=3)
        self.compare(self.report, slow, arguments=["--accept-busy"], code=1)

    def test_a_row_that_only_follows_the_clock_is_not_slower(self):
        def runs(factor, peak):
            slow = [copy.deepcopy(self.report) for i in range(5)]
            for i, report in enumerate(slow):
                for row in report["rows"]:
                    row["bound"] = "compute"
                slow[i] = scaled(report, "linear", "simd", factor * (1 + i / 1000), peak)
            return slow
        comparison = self.compare(*runs(1, 1), "--", *runs(1.25, 0.8))
        self.assertEqual(self.verdicts(comparison)["linear simd"], "clock")

    def test_every_file_is_compared_with_the_first(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        comparison = self.compare(self.report, self.report, slow, code=1)
        self.assertNotEqual(self.verdicts(comparison, 0)["linear simd"], "slower")
        self.assertEqual(self.verdicts(comparison, 1)["linear simd"], "slower")

    def test_without_raw_times_nothing_is_judged(self):
        old = copy.deepcopy(self.report)
        for row in old["rows"]:
            for key in [key for key in row["time_ns"] if key.startswith("slice")]:
                del row["time_ns"][key]
        comparison = self.compare(old, old)
        self.assertEqual(set(self.verdicts(comparison).values()), {"not-comparable"})
        for row in comparison["files"][0]["rows"]:
            self.assertAlmostEqual(row["ratio"], 1)
            self.assertIn("several runs a side", row["reason"])

    def test_rows_of_one_file_only_are_listed(self):
        fewer = copy.deepcopy(self.report)
        fewer["rows"] = [row for row in fewer["rows"] if row["op"] != "maxpool"]
        only = self.compare(self.report, fewer)["files"][0]["only_in_baseline"]
        self.assertEqual(len(only), 1)
        self.assertIn("maxpool", only[0])
        only = self.compare(fewer, self.report)["files"][0]["only_here"]
        self.assertEqual(len(only), 1)

    def test_what_else_differs_is_warned_of(self):
        other = copy.deepcopy(self.report)
        other["machine"]["kernel"] = "9.9.9-other"
        other["blas"]["environment"] = {"OPENBLAS_CORETYPE": "Prescott"}
        other["peak"]["f32_gflops"] *= 0.9
        warnings = {w["code"]: w["text"]
                    for w in self.compare(self.report, other)["files"][0]["warnings"]}
        self.assertEqual(set(warnings), {"kernel", "environment", "clock"})
        self.assertIn("9.9.9-other", warnings["kernel"])
        self.assertIn("Prescott", warnings["environment"])

    def test_repeated_commands_are_compared_by_their_times(self):
        def run(factor):
            walls = [factor * (1 + i * 3 % 10 / 1000) for i in range(10)]
            return {"schema": "hwprof.run/1", "command": ["make"], "wall_s": walls[0],
                    "user_s": 0.0, "repeats": {"wall_s": {"samples": walls}}}
        comparison = self.compare(run(1.0), run(1.3), code=1)
        self.assertEqual(self.verdicts(comparison)["wall time"], "slower")
        once = run(1.0)
        del once["repeats"]
        comparison = self.compare(once, once)
        self.assertEqual(self.verdicts(comparison)["wall time"], "not-comparable")

    def test_commands_of_other_names_are_compared_and_their_regions_are_rows(self):
        def run(command, seconds):
            return {"schema": "hwprof.run/1", "command": [command], "wall_s": seconds,
                    "user_s": seconds, "regions": {"rows": [
                        {"name": "step", "path": ["solve", "step"], "calls": 3,
                         "total_ns": seconds * 5e8}]}}
        comparison = self.compare(run("./sim_o2", 1.0), run("./sim_o3", 0.5))
        self.assertEqual(set(self.verdicts(comparison)),
                         {"wall time", "user time", "solve / step"})
        warnings = {w["code"] for w in comparison["files"][0]["warnings"]}
        self.assertEqual(warnings, {"command"})
        sides = [run("./sim_o2", 1 + i / 100) for i in range(4)]
        sides += ["--"] + [run("./sim_o3", 2 + i / 100) for i in range(4)]
        self.assertEqual(set(self.verdicts(self.compare(*sides, code=1)).values()), {"slower"})

    def test_points_of_a_sweep_are_compared_by_their_sizes(self):
        def sweep(factor):
            return {"schema": "hwprof.sweep/1", "op": "conv1d", "variant": "simd", "points": [
                {"at": {"n": n}, "time_ns": {
                    "median": n * factor, "slices": [n * factor + i for i in range(10)]}}
                for n in [1000, 2000]]}
        comparison = self.compare(sweep(1), sweep(2), code=1)
        self.assertEqual(self.verdicts(comparison),
                         {"conv1d n=1000": "slower", "conv1d n=2000": "slower"})


    def test_what_sweep_writes_can_be_compared(self):
        name = self.path("sweep.json")
        done = harness.hwprof("sweep", "--op", "relu", "--param", "count=1024:4096", "--time-budget",
                              "1", "-q", "--format", "json", "-o", name)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = harness.hwprof("compare", name, name, "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(json.loads(done.stdout)["files"][0]["rows"]), 3)


class ByTurns(CliTest):
    def turns(self, a, *b, arguments=("--runs", "3")):
        return hwprof("compare", "--by-turns", a, *arguments, "--format", "json", "--", *b)

    def test_programs_are_compared_by_their_times(self):
        log = self.path("log")
        done = self.turns("echo A >> %s" % log, "echo B >> %s; sleep 0.05" % log)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # the machine may be busy
        comparison = json.loads(done.stdout)
        self.assertTrue(comparison["by_turns"])
        wall = comparison["files"][0]["rows"][0]
        self.assertEqual((wall["name"], wall["samples"]), ("wall time", 3))
        rows = comparison["files"][0]["rows"]
        self.assertEqual(any(row["verdict"] == "slower" for row in rows), done.returncode == 1)
        with open(log) as file:
            order = file.read().split()
        self.assertEqual(order, ["A", "B", "B", "A"] * 2)  # the first pair does not count

    def test_reports_are_compared_row_by_row(self):
        times = {"A": 1.0, "B": 2.0}
        for name, seconds in times.items():
            self.path(name, json.dumps({"schema": "hwprof.run/1", "command": [name],
                                        "wall_s": seconds}))
        done = self.turns("cat %s/A" % self.folder, "cat", "%s/B" % self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = {row["name"]: row for row in json.loads(done.stdout)["files"][0]["rows"]}
        self.assertEqual(rows["wall time"]["verdict"], "slower")
        self.assertAlmostEqual(rows["wall time"]["ratio"], 2)

    def test_a_command_that_fails_ends_it_in_one_sentence(self):
        self.assert_refused("compare", "--by-turns", "true", "--", "echo went wrong >&2; exit 7",
                            code=3, names=["exit code 7", "run 1", "went wrong"])
        self.assert_refused("compare", "--by-turns", "/no/such/program", "--", "true", code=3,
                            names=["exit code 127", "/no/such/program"])

    def test_a_report_against_none_is_refused(self):
        name = self.path("A", json.dumps({"schema": "hwprof.run/1", "command": ["A"],
                                          "wall_s": 1.0}))
        self.assert_refused("compare", "--by-turns", "cat " + name, "--", "true",
                            names=["hwprof.run/1", "no report of hwprof"])

    def test_interrupted_it_leaves_no_process(self):
        marker = "86399.%d" % os.getpid()
        running = subprocess.Popen(
            [harness.BINARY, "compare", "--by-turns", "sleep %s & wait" % marker, "--", "true"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

        def sleeps():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/%s/cmdline" % pid, "rb") as file:
                        if file.read().split(b"\0")[:2] == [b"sleep", marker.encode()]:
                            return True
                except OSError:
                    pass
            return False

        while not sleeps() and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
        self.assertEqual((running.returncode, out), (3, ""), err)
        self.assertIn("interrupted before two pairs", err)
        self.assertFalse(sleeps())

    def test_wrong_usage(self):
        self.assert_refused("compare", "--by-turns", "true", names="second command")
        self.assert_refused("compare", "--by-turns", "true", "a.json", "--", "true",
                            names=["a.json", "reads no file"])
        self.assert_refused("compare", "--runs", "3", "a.json", "b.json", names="--by-turns")
        self.assert_refused("compare", "--by-turns", "true", "--runs", "1", "--", "true",
                            names="--runs")
        self.assert_refused("compare", "--slice", "5", "a.json", "b.json", names="--by-turns")
        self.assert_refused("compare", "--by-turns", "true", "--slice", "0", "--", "true",
                            names="--slice")

    def test_in_slices_both_run_at_once(self):
        # Each waits for what the other writes meanwhile: whole runs would never end.
        a, b = self.path("a"), self.path("b")
        meet = "if [ -e %s/warm ]; then touch %%s; until [ -e %%s ]; do :; done; fi" % self.folder
        first = meet % (a, b)
        second = meet % (b, a) + "; touch %s/warm" % self.folder
        done = self.turns(first, second, arguments=("--runs", "2", "--slice", "5"))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        comparison = json.loads(done.stdout)
        self.assertEqual(comparison["slice_ms"], 5)
        self.assertEqual([row["samples"] for row in comparison["files"][0]["rows"]][:1], [2])

    def test_a_stopped_program_goes_on_and_ends(self):
        stopped = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        done = self.turns(stopped, stopped, arguments=("--runs", "2", "--slice", "1"))
        self.assertIn(done.returncode, (0, 1), done.stderr)
        rows = {row["name"]: row for row in json.loads(done.stdout)["files"][0]["rows"]}
        self.assertEqual(rows["CPU time"]["samples"], 2)

    def test_a_command_that_fails_in_its_slice(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "warm")
            self.assert_refused("compare", "--by-turns", "sleep 0.2", "--slice", "5", "--",
                                "[ ! -e %s ] && touch %s" % (name, name), code=3,
                                names=["exit code 1", "run 1"])

    def test_reports_are_not_measured_in_slices(self):
        name = self.path("A", json.dumps({"schema": "hwprof.run/1", "command": ["A"],
                                          "wall_s": 1.0}))
        self.assert_refused("compare", "--by-turns", "cat " + name, "--slice", "5", "--",
                            "cat " + name, names=["--slice", "report of hwprof"])

    def test_a_binary_against_itself(self):
        done = hwprof(*harness.quick("--no-ladder", "--variant", "simd", "--against-binary",
                                     harness.BINARY, "--format=json"), timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        comparison = json.loads(done.stdout)
        self.assertTrue(comparison["by_turns"])
        self.assertEqual(comparison["baseline"]["command"][0], "hwprof")
        for row in comparison["files"][0]["rows"]:
            self.assertEqual(row["samples"], 8)
        self.assert_refused("--against-binary", "/no/such/hwprof", code=3,
                            names="/no/such/hwprof")


class Formats(Compared):
    def test_all_formats_say_the_same(self):
        slow = scaled(self.report, "linear", "simd", 1.5)
        slow["rows"] = [row for row in slow["rows"] if row["op"] != "maxpool"]
        names = [self.file("a.json", self.report), self.file("b.json", slow)]
        said = {}
        for form in ["text", "json", "csv", "markdown"]:
            done = hwprof("compare", *names, "--format", form)
            self.assertEqual(done.returncode, 1, done.stderr)
            said[form] = done.stdout
        rows = json.loads(said["json"])["files"][0]["rows"]
        lines = list(csv.DictReader(io.StringIO(said["csv"])))
        self.assertEqual(len(lines), len(rows) + 1)
        self.assertEqual(lines[-1]["verdict"], "only-in-baseline")
        for row, line in zip(rows, lines):
            self.assertEqual((row["name"], row["verdict"]), (line["name"], line["verdict"]))
            self.assertEqual(row["ratio"], float(line["ratio"]))
            self.assertEqual(row["p_holm"], float(line["p_holm"]))
        flowing = {form: " ".join(said[form].replace("\\", "").split())
                   for form in ["text", "markdown"]}
        for form, text in flowing.items():
            self.assertIn("1 of 3 rows slower by more than 5 %: linear simd 1.50 times", text, form)
            self.assertIn("only in the baseline: maxpool", text, form)

    def test_no_line_is_wider_than_the_page(self):
        names = [self.file(name, self.report) for name in ["a.json", "b.json"]]
        for line in hwprof("compare", *names).stdout.splitlines():
            if self.folder not in line:  # a path is never broken
                self.assertLessEqual(len(line), 100, line)

    def test_a_file_takes_the_report(self):
        name, out = self.file("a.json", self.report), self.path("out.md")
        done = hwprof("compare", name, name, "--format", "markdown", "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        with open(out) as file:
            self.assertIn("no difference of more than 5 % was shown", file.read())


class Refused(Compared):
    def setUp(self):
        super().setUp()
        self.good = self.file("good.json", self.report)

    def refuse(self, content, names):
        bad = self.path("bad.json", content)
        self.assert_refused("compare", self.good, bad, names=["bad.json", *names])
        self.assert_refused("compare", bad, self.good, names=["bad.json", *names])

    def test_files_that_are_no_report(self):
        self.refuse("", ["is empty"])
        self.refuse(" \n\n", ["is empty"])
        self.refuse('{\n  "a": 1,\n  b\n}', ["is not JSON: line 3, column 3"])
        self.refuse("verdict=optimal provider=openblas\n", ["is not JSON: line 1, column 1"])
        self.refuse(b"\x7fELF\x00\x01", ["bad.json"])
        self.refuse("[1, 2]", ["no report of hwprof"])
        self.refuse('{"context": {}, "benchmarks": []}', ["no report of hwprof"])
        self.refuse('{"schema": 3}', ["no report of hwprof"])
        self.refuse('{"schema": "hwprof.run/1", "wall_s": 1e999}', ["bad.json"])

    def test_a_file_that_was_cut(self):
        whole = json.dumps(self.report, indent=2)
        self.refuse(whole[:len(whole) // 2].rsplit(",", 1)[0], ["ends in the middle", "line "])

    def test_schemas_that_are_not_known(self):
        for schema in ["hwprof.peak/1", "hwprof.profile/2", "other/1"]:
            self.refuse(json.dumps({"schema": schema}), [schema, "hwprof.profile/1"])

    def test_reports_that_have_nothing_in_common(self):
        self.refuse(json.dumps({"schema": "hwprof.run/1", "command": ["a"], "wall_s": 1.0}),
                    ["hwprof.run/1", "hwprof.profile/1"])
        other = copy.deepcopy(self.report)
        for row in other["rows"]:
            row["threads"] = 77
        self.refuse(json.dumps(other), ["no row in common"])

    def test_reports_whose_rows_are_damaged(self):
        for change, names in [
                (lambda row: row.pop("op"), ["rows[1] has no name"]),
                (lambda row: row["time_ns"].update(median="fast"),
                 ['rows[1].time_ns.median: "fast" is no number']),
                (lambda row: row["time_ns"].update(median=-1), ["rows[1].time_ns"]),
                (lambda row: row["time_ns"]["slices"].append(None), ["rows[1].time_ns.slices"]),
                (lambda row: row["time_ns"].update(slices=7), ["rows[1].time_ns.slices"]),
                (lambda row: row.update(time_ns=[]), ["rows[1].time_ns"])]:
            damaged = copy.deepcopy(self.report)
            change(damaged["rows"][1])
            self.refuse(json.dumps(damaged), names)
        for rows, name in [(None, "no rows"), ([], "no rows"), (3, "rows: 3 is no list")]:
            self.refuse(json.dumps(self.report | {"rows": rows}), [name])

    def test_files_that_cannot_be_read(self):
        self.assert_refused("compare", self.good, self.path("none.json"), names="none.json")
        self.assert_refused("compare", self.good, self.folder, names=[self.folder, "directory"])

    def test_wrong_usage(self):
        self.assert_refused("compare", names="two reports")
        self.assert_refused("compare", self.good, names="two reports")
        for share in ["five", "101", "-1%", "%", "101%", "nan", "5%%", "1e9%"]:
            self.assert_refused("compare", self.good, self.good, "--threshold=" + share,
                                names=["--threshold", share])
        self.assert_refused("compare", self.good, self.good, "-o", self.folder, code=3,
                            names=self.folder)
        self.assert_refused("compare", self.good, self.good, "--format", "xml", names="xml")


if __name__ == "__main__":
    harness.main()
