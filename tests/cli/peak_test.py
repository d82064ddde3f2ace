"""`hwprof peak`: the shape of the report; no assertion on a speed but that it is one."""

import json
import os

import harness
from harness import CliTest, hwprof


class Peak(CliTest):
    def test_every_width_and_level_has_a_number(self):
        cpu = min(os.sched_getaffinity(0))
        done = hwprof("peak", "--pin", str(cpu), "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], "hwprof.peak/1")
        self.assertEqual(report["pin"], {"requested": [cpu], "actual": [cpu]})
        self.assertEqual(report["threads"], 1)
        peak = report["peak"]
        self.assertEqual(peak["by_isa"][peak["isa"]], peak["f32_gflops"])
        self.assertTrue(all(gflops > 0 for gflops in peak["by_isa"].values()))
        self.assertEqual(peak["bandwidth"][-1]["level"], "memory")
        self.assertTrue(all(level["read_gbs"] > 0 for level in peak["bandwidth"]))

    def test_two_threads_are_said(self):
        done = hwprof("peak", "--threads", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 threads", done.stdout)

    def test_more_threads_than_cpus_is_a_warning(self):
        done = hwprof("peak", "--pin", str(min(os.sched_getaffinity(0))), "--threads", "2")
        self.assertEqual(done.returncode, 0)
        self.assertIn("oversubscribed", done.stderr)

    def test_wrong_usage(self):
        self.assert_refused("peak", "--threads", "0", names=["--threads", "0"])
        self.assert_refused("peak", "--pin", "4095", names="4095")


if __name__ == "__main__":
    harness.main()
