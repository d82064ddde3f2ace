"""What `hwprof` measures and reports: the JSON contract, the verdicts, the exit codes.

No assertion on a time; on counts, results, verdicts and relations that hold on any machine.
"""

import csv
import io
import json
import os
import re
import signal
import subprocess
import time
import unittest

import harness
from harness import CliTest, environment, hwprof, profile, quick, work_ns

VARIANTS = {
    "conv1d": ["reference", "simd", "blas-im2col", "blas-shifted"],
    "maxpool": ["reference", "simd"],
    "conv1d-maxpool": ["fused"],
    "linear": ["reference", "simd", "blas-gemm", "blas-gemv"],
}
STATUSES = {"ok", "scaled", "not-counted", "unsupported", "denied"}
GPL = "/usr/share/common-licenses/GPL-3"


class Contract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.report = profile("--pin", str(min(os.sched_getaffinity(0))),
                             "--events", "cycles,instructions,llc-miss,flops,task-clock")

    def test_the_schema_is_named(self):
        self.assertEqual(self.report["schema"], "hwprof.profile/1")
        self.assertTrue(self.report["hwprof"]["version"])

    def test_there_is_a_row_for_every_operation_and_variant(self):
        found = {(row["op"], row["variant"]) for row in self.report["rows"]
                 if not row["variant"].startswith("best-")}
        self.assertEqual(found, {(op, v) for op, names in VARIANTS.items() for v in names})

    def test_every_row_was_measured_and_is_right(self):
        for row in self.report["rows"]:
            with self.subTest(row["op"] + " " + row["variant"]):
                self.assertGreater(row["calls"], 0)
                self.assertGreater(row["time_ns"]["median"], 0)
                self.assertLessEqual(row["time_ns"]["min"], row["time_ns"]["median"])
                self.assertLess(row["max_rel_error"], 1e-5)
                self.assertIn(row["bound"], ["compute", "memory"])

    def test_every_counter_has_a_status_and_if_it_has_no_value_a_reason(self):
        for row in self.report["rows"]:
            self.assertEqual(list(row["counters"]),
                             ["cycles", "instructions", "llc-miss", "flops", "task-clock"])
            for name, count in row["counters"].items():
                self.assertIn(count["status"], STATUSES, name)
                if count["value"] is None:
                    self.assertTrue(count["reason"], name)
                else:
                    self.assertIn(count["status"], ["ok", "scaled"])
                    self.assertGreater(count["coverage"], 0)

    def test_the_task_clock_is_about_the_wall_clock(self):
        for row in self.report["rows"]:
            clock = row["counters"]["task-clock"]
            if clock["status"] == "denied":
                self.skipTest(clock["reason"])
            # Software events exist on every kernel. Counted and timed calls are not the same ones,
            # so the bound is wide: it holds units and calls, not a speed.
            self.assertLess(clock["value"], 3 * work_ns(row))
            self.assertGreater(clock["value"], work_ns(row) / 3)

    def test_the_model_is_the_course_analysis(self):
        rows = {(row["op"], row["variant"]): row for row in self.report["rows"]}
        conv = rows["conv1d", "simd"]
        shape = conv["shape"]
        units = shape["k"] * shape["d_e"] * shape["d_c"] * shape["positions"]
        self.assertEqual(conv["model"]["cost_units"], units)
        self.assertEqual(conv["model"]["flops"], 2 * units)
        pool = rows["maxpool", "simd"]
        self.assertEqual(pool["model"]["cost_units"], shape["d_c"] * shape["positions"])
        self.assertEqual(pool["model"]["flops"], 0)
        self.assertIsNone(pool["gflops"])

    def test_rates_follow_from_model_and_time(self):
        for row in self.report["rows"]:
            if row["gflops"] is not None:
                self.assertAlmostEqual(row["gflops"],
                                       row["model"]["flops"] / work_ns(row), 6)

    def test_shares_of_a_forward_pass_add_up(self):
        sums = {}
        for row in self.report["rows"]:
            sums[row["pass"]] = sums.get(row["pass"], 0) + row["forward_share"]
        self.assertAlmostEqual(sums["reference"], 1, 6)
        self.assertAlmostEqual(sums["simd"], 1, 6)
        complexity = self.report["complexity"]["rows"]
        self.assertEqual([row["op"] for row in complexity], ["conv1d", "maxpool", "linear"])
        for share in ["model_share", "roofline_share", "time_share"]:
            self.assertAlmostEqual(sum(row[share] for row in complexity), 1, 6)

    def test_the_pin_is_where_it_was_asked_for(self):
        cpu = min(os.sched_getaffinity(0))
        self.assertEqual(self.report["pin"]["requested"], [cpu])
        self.assertEqual(self.report["pin"]["actual"], [cpu])
        self.assertEqual(self.report["pin"]["migrations"], 0)

    def test_the_peak_names_its_instruction_set(self):
        peak = self.report["peak"]
        self.assertEqual(peak["by_isa"][peak["isa"]], peak["f32_gflops"])
        self.assertIn("memory", peak["bandwidth_gbs"])

    def test_no_pmu_is_said_and_never_a_zero(self):
        pmu = self.report["machine"]["pmu"]
        if pmu["present"]:
            self.skipTest("this machine has a PMU")
        self.assertIn("PMU", pmu["reason"])
        for row in self.report["rows"]:
            for name in ["cycles", "instructions", "llc-miss", "flops"]:
                self.assertIsNone(row["counters"][name]["value"])
                self.assertEqual(row["counters"][name]["status"], "unsupported")


class Verdicts(unittest.TestCase):
    """The text CNN on OpenBLAS as Debian ships it."""

    def blas(self, **variables):
        report = profile("--time-budget", "6", env=environment(**variables))
        if report["blas"]["provider"] != "openblas":
            self.skipTest("the default BLAS here is " + str(report["blas"]["provider"]))
        return report["blas"]

    def test_sse_kernels_on_a_wider_cpu_are_unoptimised_and_the_variable_is_named(self):
        with open("/proc/cpuinfo") as info:
            if " avx2 " not in info.read():
                self.skipTest("the CPU has no AVX2")
        blas = self.blas(OPENBLAS_CORETYPE="Prescott")
        self.assertEqual(blas["verdict"], "unoptimised")
        self.assertGreater(blas["factor"], 2)
        self.assertEqual(blas["environment"], {"OPENBLAS_CORETYPE": "Prescott"})
        self.assertIn("OPENBLAS_CORETYPE", blas["why"] + (blas["fix"] or ""))

    def test_variants_of_a_slow_blas_are_measured_with_the_best_one_too(self):
        with open("/proc/cpuinfo") as info:
            if " avx2 " not in info.read():
                self.skipTest("the CPU has no AVX2")
        report = profile("--time-budget", "6", "--variant", "simd,blas-gemm",
                         env=environment(OPENBLAS_CORETYPE="Prescott"))
        if report["blas"]["core"] != "Prescott":
            self.skipTest("the default BLAS here is " + str(report["blas"]["provider"]))
        rows = {row["variant"]: row for row in report["rows"] if row["op"] == "linear"}
        self.assertEqual(list(rows), ["simd", "blas-gemm", "best-gemm"])
        self.assertIsNone(rows["simd"]["library"])
        self.assertRegex(rows["blas-gemm"]["library"], "OpenBLAS .* Prescott")
        best = max((rung for rung in report["blas"]["ladder"] if rung["peak_fraction"]),
                   key=lambda rung: rung["peak_fraction"])
        self.assertTrue(rows["best-gemm"]["library"].endswith(best["core"]), rows["best-gemm"])
        self.assertIsNotNone(rows["best-gemm"]["gflops"], rows["best-gemm"]["reason"])
        self.assertLess(rows["best-gemm"]["max_rel_error"], 1e-5)

    def test_left_alone_it_is_optimal_or_a_faster_core_is_named(self):
        blas = self.blas()
        if blas["verdict"] not in ("optimal", "borderline"):
            # An OpenBLAS that does not know the CPU takes SSE kernels: 0.3.21 on Emerald Rapids.
            found = next(r for r in blas["ladder"] if r["as_found"])
            self.assertEqual(blas["verdict"], "unoptimised" if found["vector_class"] == "sse"
                             or (blas["factor_low"] or blas["factor"]) > 2.5 else "suboptimal")
            best = max((r for r in blas["ladder"] if r["gflops"]), key=lambda r: r["peak_fraction"])
            self.assertIn(best["core"], blas["why"] + blas["fix"])

    def test_the_first_line_of_the_text_says_what_is_wrong(self):
        done = hwprof(*quick("--time-budget", "6"), env=environment(OPENBLAS_CORETYPE="Prescott"))
        first = done.stdout.splitlines()[0]
        self.assertIn("unoptimised", done.stdout.lower())
        self.assertIn("OPENBLAS_CORETYPE", " ".join(done.stdout.splitlines()[:4]), first)

    def test_no_ladder_measures_none(self):
        report = profile("--no-ladder")
        self.assertEqual(report["blas"]["ladder"], [])
        self.assertIsNone(report["blas"]["factor"])


class Inputs(CliTest):
    def test_a_licence_as_documents(self):
        if not os.path.exists(GPL):
            self.skipTest("no " + GPL)
        report = profile("--docs", GPL, "--shape", "k=3,d_e=16,d_c=24,l=11,batch=600")
        workload = report["workload"]
        with open(GPL, encoding="utf-8") as text:
            lines = [line for line in text if line.strip()]
        self.assertEqual(workload["documents_total"], len(lines))
        self.assertGreater(workload["short_documents"], 0)
        self.assertIn("short-documents", [w["code"] for w in report["warnings"]])

    def test_padding_to_the_longest_costs_what_the_report_says(self):
        docs = self.path("docs.txt", "one two three four\none two\n" * 2)
        shape = "k=2,d_e=8,d_c=8,l=3,batch=4"
        own = profile("--docs", docs, "--shape", shape)
        batch = profile("--docs", docs, "--shape", shape, "--padding", "batch")
        positions = [next(r["shape"]["positions"] for r in report["rows"] if r["op"] == "conv1d")
                     for report in (own, batch)]
        self.assertEqual(positions, [2 * 3 + 2 * 1, 4 * 3])
        self.assertAlmostEqual(own["workload"]["batch_padding_factor"], 12 / 8)
        self.assertAlmostEqual(batch["workload"]["padding_factor"], 12 / 8)

    def test_several_filter_sizes_have_a_row_each_and_one_linear_layer_over_all(self):
        report = profile("--shape", "filter_sizes=2+4+8,d_e=8,d_c=8,l=3,batch=2,n=20")
        conv = [r["shape"]["k"] for r in report["rows"]
                if (r["op"], r["variant"]) == ("conv1d", "simd")]
        self.assertEqual(conv, [2, 4, 8])
        linear = next(r for r in report["rows"] if r["op"] == "linear")
        self.assertEqual(linear["shape"]["inputs"], 24)
        self.assertEqual(len(report["complexity"]["rows"]), 3)

    def test_the_seeded_lengths_have_the_published_mean(self):
        report = hwprof("--time-budget", "1", "--format", "json", "--variant", "simd",
                        "--no-ladder")
        workload = json.loads(report.stdout)["workload"]
        self.assertAlmostEqual(workload["mean_length"], 123.9, delta=1.3)
        self.assertEqual(workload["documents_used"], 64)

    def test_vectors_from_a_glove_file(self):
        docs = self.path("docs.txt", "the cat sat\nthe dog\n")
        glove = self.path("glove.txt", "the 1 0 0 0\ncat 0 1 0 0\n")
        report = profile("--docs", docs, "--embed", glove, "--shape", "d_c=8,l=3")
        self.assertEqual(report["rows"][0]["shape"]["d_e"], 4)
        self.assertIn("glove.txt", report["workload"]["embedding"])


class Threads(unittest.TestCase):
    def test_more_threads_than_pinned_cpus_is_oversubscribed(self):
        report = profile("--pin", str(min(os.sched_getaffinity(0))), "--threads", "2")
        warning = next(w for w in report["warnings"] if w["code"] == "oversubscribed")
        self.assertIn("oversubscribed", warning["text"])

    def test_one_pinned_cpu_means_one_thread(self):
        report = profile("--pin", str(min(os.sched_getaffinity(0))))
        self.assertEqual({row["threads"] for row in report["rows"]}, {1})
        self.assertEqual(report["warnings"], [w for w in report["warnings"]
                                              if w["code"] != "oversubscribed"])

    def test_two_pinned_cpus_mean_two_threads_everywhere(self):
        cpus = sorted(os.sched_getaffinity(0))[:2]
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        report = profile("--pin", "%d,%d" % tuple(cpus))
        self.assertEqual({row["threads"] for row in report["rows"]}, {2})
        self.assertEqual(report["peak"]["threads"], 2)
        for row in report["rows"]:
            self.assertLess(row["max_rel_error"], 1e-5)


class Formats(CliTest):
    def test_csv_has_a_line_a_row(self):
        done = hwprof(*quick("--format", "csv"))
        lines = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual(len(lines), 11)
        self.assertEqual({line["op"] for line in lines}, set(VARIANTS))

    def test_markdown_and_text_name_every_row(self):
        for form in ["markdown", "text"]:
            done = hwprof(*quick("--format", form))
            self.assertEqual(done.returncode, 0, done.stderr)
            for names in VARIANTS.values():
                for variant in names:
                    self.assertIn(variant, done.stdout)
            self.assertNotIn("\x1b", done.stdout, "colour where no terminal is")

    def test_text_is_brief_unless_all_is_wanted(self):
        brief, full = (hwprof(*quick(*more)).stdout for more in [[], ["--full"]])
        self.assertLess(len(brief.splitlines()), len(full.splitlines()) / 2)
        self.assertIn("--full", brief.splitlines()[-2] + brief.splitlines()[-1])
        for part in ["Bandwidth", "max rel."]:
            self.assertNotIn(part, brief)
            self.assertIn(part, full)

    def test_text_is_as_wide_as_columns_say(self):
        env = environment(COLUMNS="60")
        for line in hwprof(*quick("--full"), env=env).stdout.splitlines():
            self.assertTrue(len(line) <= 60 or "/" in line, line)

    def test_text_fits_100_columns(self):
        done = hwprof(*quick("--events", "flops,llc-miss,task-clock"))
        for line in done.stdout.splitlines():
            # A path that must stay whole to be copied stands alone and may stick out.
            if len(line) > 100:
                self.assertLessEqual(len(line.split()), 2, line)

    def test_a_file_is_written_whole_and_nothing_else(self):
        path = self.path("report.json", "old")
        done = hwprof(*quick("--format", "json", "-o", path))
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        with open(path) as file:
            self.assertEqual(json.load(file)["schema"], "hwprof.profile/1")
        self.assertEqual(os.listdir(self.folder), ["report.json"])

    def test_a_pipe_is_written_and_stays_a_pipe(self):
        path = self.path("pipe")
        os.mkfifo(path)
        reader = subprocess.Popen(["cat", path], stdout=subprocess.PIPE, text=True)
        self.addCleanup(reader.wait)
        self.addCleanup(reader.kill)  # it waits for ever where nothing opens the pipe
        self.addCleanup(reader.stdout.close)
        done = hwprof(*quick("--format", "json", "-o", path))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(reader.communicate(timeout=30)[0])["schema"],
                         "hwprof.profile/1")
        self.assertEqual(os.listdir(self.folder), ["pipe"])

    def test_help_and_version(self):
        for argument in ["--help", "--version"]:
            done = hwprof(argument)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        for option in ["--pin", "--events", "--docs", "--embed", "--padding", "--shape",
                       "--variant", "--threads", "--blas", "--no-ladder", "--time-budget",
                       "--format", "--output", "--require"]:
            self.assertIn(option, hwprof("profile", "--help").stdout)


class ExitCodes(CliTest):
    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "needs two CPUs")
    def test_cpus_that_change_while_it_measures_are_said(self):
        """As where a CPU goes offline: the kernel then lets the process run on the others."""
        first, *_, last = sorted(os.sched_getaffinity(0))
        running = subprocess.Popen(
            [harness.BINARY, *quick("--pin", str(first), "--no-ladder", "--variant", "simd", "-q",
                                    "--json")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(running.kill)
        # It pins itself again before it measures.
        out = None
        while out is None:
            try:
                os.sched_setaffinity(running.pid, {last})
                out = running.communicate(timeout=0.05)[0]
            except subprocess.TimeoutExpired:
                pass
        self.assertIn(running.returncode, (0, 3), "3: no slice was left")
        report = json.loads(out)
        warnings = {warning["code"]: warning["text"] for warning in report["warnings"]}
        self.assertIn("CPU %d was taken from it" % first, warnings["cpus-changed"])
        self.assertIn("may now run on %d" % last, warnings["cpus-changed"])
        self.assertNotIn("migrated", warnings, "it was pinned")
        self.assertGreater(sum(row["left_out"]["elsewhere"] for row in report["rows"]), 0)
        for row in report["rows"]:
            if row["time_ns"] is None:
                self.assertIn("where it was to run", row["reason"])
                self.assertIsNone(row["gflops"])
            else:
                self.assertFalse(any(s["migrated"] for s in row["time_ns"]["slices"]))
        self.assertEqual(running.returncode == 3,
                         all(row["time_ns"] is None for row in report["rows"]))

    def test_a_budget_too_short_for_an_interval_says_which_is_enough(self):
        done = hwprof(*quick("--time-budget", "0.001", "--no-ladder", "--variant", "reference",
                             "--shape", "d_e=300,d_c=256,batch=256", "--format", "json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        warnings = {warning["code"]: warning["text"] for warning in report["warnings"]}
        few = [row for row in report["rows"] if row["time_ns"]["samples"] < 6]
        self.assertEqual(bool(few), "short-budget" in warnings)
        for row in few:
            self.assertEqual(row["time_ns"]["ci95"], [None, None])
        if few:
            self.assertRegex(warnings["short-budget"], r"too short for 6 slices each, [0-9]+ is enough")

    def test_require_optimal_blas_is_1_when_it_is_not(self):
        done = hwprof(*quick("--time-budget", "6", "--require", "optimal-blas"),
                      env=environment(OPENBLAS_CORETYPE="Prescott"))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("optimal-blas", done.stderr)
        self.assertIn("conv1d", done.stdout, "the report is printed all the same")

    def test_require_counters_is_1_when_one_has_no_value(self):
        report = profile("--events", "cycles")
        done = hwprof(*quick("--events", "cycles", "--require", "counters"))
        missing = report["rows"][0]["counters"]["cycles"]["value"] is None
        self.assertEqual(done.returncode, 1 if missing else 0, done.stderr)

    def test_an_interrupt_prints_what_was_measured_and_ends_with_130(self):
        child = subprocess.Popen(
            [harness.BINARY, "--time-budget", "60", "--format", "json", "--no-ladder"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        time.sleep(4)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=30)
        self.assertEqual(child.returncode, 130, err)
        report = json.loads(out)
        self.assertTrue(report["partial"])
        for row in report["rows"]:
            if row["time_ns"] is None:
                self.assertTrue(row["reason"])

    def shown(self, *arguments):
        """What `hwprof ARGUMENTS` writes on a terminal while it measures, and its report."""
        ours, theirs = os.openpty()
        process = subprocess.Popen([harness.BINARY, *arguments], stdout=subprocess.PIPE,
                                   stderr=theirs, text=True, env=environment())
        os.close(theirs)
        shown = b""
        while True:
            try:
                more = os.read(ours, 4096)
            except OSError:  # the other side has gone
                break
            if not more:
                break
            shown += more
        report, _ = process.communicate()
        os.close(ours)
        self.assertEqual(process.returncode, 0)
        return shown.decode(), report

    def test_the_bar_never_runs_back(self):
        for arguments in (quick("--variant", "simd,fused", "--threads", "1,2"),
                          ["--workload", "mlp", "--time-budget", "2", "--variant", "simd"],
                          ["--workload", "resnet20", "--time-budget", "2"]):
            with self.subTest(arguments):
                shares = [int(share) for share in
                          re.findall(r"\] +([0-9]+) %", self.shown(*arguments)[0])]
                self.assertGreater(len(set(shares)), 1)
                self.assertEqual(shares, sorted(shares))

    def test_a_terminal_gets_a_first_result_before_the_rest(self):
        shown, report = self.shown(*quick("--variant", "simd,fused"))
        lines = [line for line in shown.split("\r") if "So far" in line]
        self.assertEqual(len(lines), 1, shown)
        self.assertRegex(lines[0], r"So far: BLAS [a-z-]+.*; conv1d-maxpool fused [0-9.]+ GFLOP/s")
        self.assertLess(shown.index("So far"), shown.index("measuring"))
        self.assertNotIn("So far", report)
        self.assertEqual(hwprof(*quick("--variant", "fused")).stderr, "")

    def test_verbose_logs_the_steps_on_standard_error(self):
        done = hwprof(*quick("-v", "--format", "json"))
        self.assertEqual(json.loads(done.stdout)["schema"], "hwprof.profile/1")
        self.assertIn("FMA peak", done.stderr)

    def test_a_cap_on_the_instruction_set_is_obeyed(self):
        if os.uname().machine != "x86_64":
            self.skipTest("the cap has one step on this architecture")
        report = profile("--isa", "sse", "--no-ladder", "--variant", "simd,fused")
        self.assertEqual(report["simd_target"], "SSSE3")
        self.assertIn("sse", report["peak"]["by_isa"])
        self.assertGreaterEqual(report["peak"]["f32_gflops"], report["peak"]["by_isa"]["sse"],
                                "the peak is the machine's, whatever the cap")
        for row in report["rows"]:
            self.assertLess(row["max_rel_error"], 1e-5)

    def test_quiet_prints_nothing_but_the_report(self):
        done = hwprof(*quick("-q"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    harness.main()
