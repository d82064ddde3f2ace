"""What `hwprof sweep` measures, says and refuses. No assertion on how fast anything is."""

import csv
import io
import json
import platform
import signal
import subprocess
import time
import unittest

import harness
from harness import CliTest, environment, hwprof

SMALL = ["--shape", "d_e=16,d_c=16,batch=2", "--time-budget", "1"]
N = ["--op", "conv1d", "--variant", "fused", "--param", "n=32:256"]


def sweep(*arguments):
    done = hwprof("sweep", "--format", "json", *arguments)
    if done.returncode != 0:
        raise AssertionError("exit %d: %s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


class Contract(CliTest):
    def test_every_point_is_there_right_and_beside_its_model(self):
        report = sweep(*N, *SMALL)
        self.assertEqual(report["schema"], "hwprof.sweep/1")
        self.assertEqual((report["op"], report["variant"], report["asked"]),
                         ("conv1d-maxpool", "fused", "conv1d"))
        self.assertEqual(report["shape"], {"k": 2, "d_e": 16, "d_c": 16, "batch": 2})
        self.assertEqual(report["swept"], [{"name": "n", "low": 32, "high": 256}])
        sizes = [point["at"]["n"] for point in report["points"]]
        self.assertEqual((sizes[0], sizes[-1], len(sizes)), (32, 256, 6))
        self.assertEqual(sizes, sorted(set(sizes)))
        for point in report["points"]:
            positions = 2 * (point["at"]["n"] - 1)
            self.assertEqual(point["model"]["cost_units"], 2 * 16 * 16 * positions + 16 * positions)
            self.assertLess(point["max_rel_error"], 1e-5)
            self.assertGreater(point["time_ns"]["median"], 0)
            self.assertGreater(point["working_set_bytes"], 0)
            self.assertAlmostEqual(point["time_to_model"],
                                   point["time_ns"]["median"] / point["model_ns"], 9)

    def test_the_law_of_time_has_an_interval_and_its_model(self):
        law = sweep(*N, *SMALL)["laws"][0]
        self.assertEqual((law["quantity"], law["size"], law["held"]), ("time", "n", None))
        self.assertLessEqual(law["ci95"][0], law["ci95"][1])
        # n - 1 positions grow a little faster than n.
        self.assertTrue(1 < law["model_exponent"] < 1.05, law)
        self.assertIn(law["agrees"], [True, False, None])

    def test_flop_are_counted_or_the_reason_is_said(self):
        report = sweep(*N, *SMALL)
        law = next(law for law in report["laws"] if law["quantity"] == "flop")
        if law["exponent"] is None:
            self.assertTrue(law["reason"])
        else:
            self.assertAlmostEqual(law["exponent"], law["model_exponent"], delta=0.1)
        pooling = sweep("--op", "pooling", "--param", "n=32:256", "--shape", "d_c=16,batch=2",
                        "--time-budget", "1")
        law = next(law for law in pooling["laws"] if law["quantity"] == "flop")
        self.assertIn("no FLOP", law["reason"])

    @unittest.skipUnless(platform.machine() == "x86_64", "exact counting is x86-64 only")
    def test_exact_flop_grow_as_the_model(self):
        report = sweep("--exact", *N, *SMALL)
        law = next(law for law in report["laws"] if law["quantity"] == "exact-flop")
        if "not possible here" in (law["reason"] or ""):
            self.skipTest(law["reason"])
        for point in report["points"]:
            self.assertEqual(point["exact"]["to_model"], 1, point["at"])
        self.assertAlmostEqual(law["exponent"], law["model_exponent"], places=9)
        self.assertTrue(law["agrees"])
        self.assertEqual([law["quantity"] for law in report["laws"]].count("flop"), 0)

    def test_two_sizes_make_a_grid_with_an_exponent_each_and_a_joint_fit(self):
        report = sweep("--op", "linear", "--param", "l=16:64", "--param", "d_c=16:128",
                       "--shape", "batch=2", "--points", "4", "--time-budget", "1")
        self.assertEqual(len(report["points"]), 16)
        laws = [(law["quantity"], law["size"], law["held"]) for law in report["laws"]]
        self.assertEqual(laws, [("time", "l", "d_c=128"), ("time", "d_c", "l=64"),
                                ("time", "l", "joint"), ("time", "d_c", "joint"),
                                ("flop", "l", "d_c=128"), ("flop", "d_c", "l=64")])
        joint = report["laws"][3]
        self.assertEqual(joint["points"], 16)
        self.assertAlmostEqual(joint["model_exponent"], 1)


class Formats(CliTest):
    def test_csv_has_a_line_a_point(self):
        done = hwprof("sweep", *N, *SMALL, "--format", "csv")
        lines = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([line["n"] for line in lines][::5], ["32", "256"])
        self.assertEqual({line["op"] for line in lines}, {"conv1d-maxpool"})
        self.assertEqual(len({line["time_in_n_exponent"] for line in lines}), 1)

    def test_text_and_markdown_have_the_verdict_the_points_and_a_plot(self):
        for form in ["text", "markdown"]:  # the brief text has no plot
            out = hwprof("sweep", *N, *SMALL, "--format", form, "--full").stdout
            self.assertIn("complexity analysis in n", out.splitlines()[0])
            self.assertIn("both axes logarithmic", out)
            self.assertIn("time in n", out)

    def test_text_fits_80_columns(self):
        import fcntl
        import os
        import pty
        import struct
        import termios
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        child = subprocess.Popen([harness.BINARY, "sweep", *N, *SMALL, "-q"], stdout=slave,
                                 stderr=subprocess.DEVNULL, env=environment(NO_COLOR="1"))
        os.close(slave)
        out = b""
        while True:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            out += part
        self.assertEqual(child.wait(timeout=60), 0)
        for line in out.decode().splitlines():
            if " " in line.strip():
                self.assertLessEqual(len(line), 80, line)


class Exit(CliTest):
    def test_require_agreement_exits_1_unless_it_agrees(self):
        done = hwprof("sweep", *N, *SMALL, "--format", "json", "--require", "agreement")
        self.assertEqual(done.returncode, 0 if json.loads(done.stdout)["agrees"] else 1)
        # Two points make no law: never an agreement.
        done = hwprof("sweep", *N, *SMALL, "--points", "2", "--require", "agreement")
        self.assertEqual(done.returncode, 1)
        self.assertIn("--require agreement: not judged", done.stderr)

    def test_an_interrupt_leaves_a_partial_report(self):
        path = self.path("out.json")
        child = subprocess.Popen(
            [harness.BINARY, "sweep", *N, "--points", "60", "--time-budget", "60", "--format", "json",
             "-o", path],
            stderr=subprocess.PIPE, env=environment(),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        time.sleep(4)
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertTrue(report["partial"])
        self.assertEqual(len(report["points"]), 60)


class BadInput(CliTest):
    def refused(self, *arguments, names):
        self.assert_refused("sweep", *arguments, names=names)

    def test_no_operation_or_no_size(self):
        self.refused("--param", "n=1:2", names="--op")
        self.refused("--op", "conv1d", names="--param")

    def test_unknown_names_get_the_nearest(self):
        self.refused("--op", "conv1", "--param", "n=8:16", names=["conv1", "conv1d"])
        self.refused("--op", "conv1d", "--param", "dc=8:16", names=["dc", "d_c"])
        self.refused("--op", "linear", "--param", "n=8:16", names=["linear", "n", "l"])
        self.refused("--op", "conv1d", "--variant", "simdd", "--param", "n=8:16",
                     names=["simdd", "simd"])
        self.refused(*N, "--shape", "de=8", names=["de", "d_e"])
        self.refused(*N, "--require", "agrement", names=["agrement", "agreement"])

    def test_ranges_that_are_none(self):
        for text, name in [("n", "NAME=LOW:HIGH"), ("n=32", "NAME=LOW:HIGH"), ("n=:8", "n"),
                           ("n=8:", "n"), ("n=a:b", "a"), ("n=1.5:8", "1.5"), ("n=0:8", "0"),
                           ("n=-1:8", "-1"), ("n=64:32", "reversed"), ("n=8:8", "single"),
                           ("n=8:99999999999999999999", "n"), ("=8:16", "NAME=LOW:HIGH")]:
            with self.subTest(text):
                self.refused("--op", "conv1d", "--param", text, names=name)

    def test_a_size_twice_or_in_two_places_or_too_many(self):
        self.refused(*N, "--param", "n=8:16", names="n twice")
        self.refused(*N, "--shape", "n=8", names=["n", "--shape"])
        self.refused(*N, "--param", "k=1:2", "--param", "d_c=8:16", names="at most 2")

    def test_a_filter_longer_than_the_document_at_some_point(self):
        self.refused("--op", "conv1d", "--param", "k=2:64", "--shape", "n=32", names=["k=", "n=32"])

    def test_several_numbers_of_threads(self):
        self.refused(*N, "--threads", "1,2", names="--threads")

    def test_sizes_that_no_memory_holds(self):
        self.refused("--op", "linear", "--param", "l=8:2000000000", names=["GiB", "l=2000000000"])


if __name__ == "__main__":
    harness.main()
