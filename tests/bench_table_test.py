#!/usr/bin/env python3
"""The table of scripts/bench, from made-up runs: what is judged, what is absent, what is printed."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "bench" / "table.py"
SPEC = importlib.util.spec_from_file_location("table", SCRIPT)
table = importlib.util.module_from_spec(SPEC)
sys.dont_write_bytecode = True
SPEC.loader.exec_module(table)

CASE = "conv1d-maxpool/k:2/n:124/d_e:300/d_c:128/batch:64"
TARGET = {"what": "made up", "bar": 0.98, "cases": [CASE], "keys": ["fused:peak"]}


def run(counters, name=CASE, **context):
    """One run as kernels_bench writes it, read back."""
    entry = {"name": f"{name}/iterations:15/manual_time", "run_type": "iteration", **counters}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"context": {"cpu": "a CPU", **context}, "benchmarks": [entry]}, file)
        file.flush()
        return table.read_run(file.name)


class BenchTableTest(unittest.TestCase):
    def test_a_bar_is_judged_by_the_median_of_the_runs(self):
        runs = [run({"fused:peak": value}) for value in (0.99, 0.50, 0.985)]
        judged = table.judge(TARGET, runs)
        self.assertEqual(judged["median"], 0.985)
        self.assertTrue(judged["reached"])

    def test_a_bar_is_missed_by_the_smallest_amount_and_not_rounded_up(self):
        self.assertFalse(table.judge(TARGET, [run({"fused:peak": 0.9799})])["reached"])
        self.assertTrue(table.judge(TARGET, [run({"fused:peak": 0.98})])["reached"])

    def test_the_better_peer_decides(self):
        target = {**TARGET, "bar": 1.0, "keys": ["openblas-gemm:ours", "onednn:ours"]}
        judged = table.judge(target, [run({"openblas-gemm:ours": 3.0, "onednn:ours": 0.9})])
        self.assertEqual(judged["median"], 0.9)
        self.assertFalse(judged["reached"])

    def test_a_missing_peer_leaves_the_bar_unknown_and_says_why(self):
        target = {**TARGET, "keys": ["pytorch:ours"]}
        row = {"fused:peak": 0.99, "label": "absent: pytorch: No module named 'torch'"}
        judged = table.judge(target, [run(row)])
        self.assertIsNone(judged["reached"])
        self.assertIsNone(judged["median"])
        self.assertIn("No module named 'torch'", judged["reason"])

    def test_one_run_without_the_value_leaves_the_bar_unknown(self):
        runs = [run({"fused:peak": 0.99}), run({"fused:peak": 0.99}, name="another")]
        judged = table.judge(TARGET, runs)
        self.assertIsNone(judged["reached"])
        self.assertIn("was not run", judged["reason"])

    def test_a_failed_benchmark_gives_its_message_and_no_number(self):
        judged = table.judge(TARGET, [run({"error_occurred": True, "error_message": "no memory",
                                           "fused:peak": 0.99})])
        self.assertIsNone(judged["median"])
        self.assertEqual(judged["reason"], "no memory")

    def test_memory_is_the_largest_of_a_run(self):
        first = run({"extra_kib": 64.0})
        first["rows"]["another"] = {"extra_kib": 2048.0}
        self.assertFalse(table.judge_memory([first])["reached"])
        self.assertTrue(table.judge_memory([run({"extra_kib": 64.0})])["reached"])
        self.assertIsNone(table.judge_memory([run({})])["reached"])

    def test_every_target_names_a_case_and_a_counter(self):
        targets = table.targets()
        self.assertEqual(len({target["what"] for target in targets}), len(targets))
        for target in targets:
            for key in target["keys"]:
                self.assertRegex(key, r"^[a-z-]+:(peak|ours)$")

    def test_the_program_writes_markdown_and_json_that_agree(self):
        counters = {"blis:gflops": 26.0, "blis:peak": 0.1, "blis:ours": 9.9,  # sorted by name
                    "fma_peak_gflops": 260.0, "fused:gflops": 257.4, "fused:peak": 0.99,
                    "onednn:gflops": 221.0, "onednn:peak": 0.85, "onednn:ours": 1.165,
                    "label": "absent: pytorch: gave 3 values, not 128"}
        with tempfile.TemporaryDirectory() as work:
            path = pathlib.Path(work) / "run-1.json"
            entry = {"name": f"{CASE}/iterations:15/manual_time", **counters}
            path.write_text(json.dumps({"context": {"cpu": "a CPU"}, "benchmarks": [entry]}))
            done = subprocess.run([sys.executable, SCRIPT, work, path], capture_output=True,
                                  text=True, check=True)
            results = json.loads((pathlib.Path(work) / "results.json").read_text())
            self.assertEqual((pathlib.Path(work) / "results.md").read_text(), done.stdout)
        self.assertIn("| fused conv1d of FMA peak, k = 2, batch 64 | >= 0.98 | 0.990 | "
                      "0.990 .. 0.990 | yes |", done.stdout)
        self.assertIn(f"| {CASE} (fused) | 257 | 0.990 | 9.90 (0.10) | 1.17 (0.85) |", done.stdout)
        self.assertIn("gave 3 values", done.stdout)
        self.assertEqual(results["targets"][0]["reached"], True)
        self.assertEqual(results["cases"][CASE]["contestants"]["onednn"]["ours"], 1.165)

    def test_without_arguments_it_explains_itself(self):
        done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("usage:", done.stderr)


if __name__ == "__main__":
    unittest.main()
