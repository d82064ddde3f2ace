"""hwprof run and attach: flame graphs, folded stacks, speedscope and hot source lines."""

import json
import os
import platform
import subprocess
import unittest
import xml.etree.ElementTree

import harness
from evidence_harness import BUSY_C, EvidenceTest, needs_root, needs_samples
from harness import hwprof, profile


@needs_samples
class Stacks(EvidenceTest):
    def setUp(self):
        super().setUp()
        # Unoptimised: else GCC gives the loop no frame, and its caller is missing from the stack.
        self.program = self.compile("busy", BUSY_C, "-g", "-O0")

    def test_folded_lines_add_up_to_the_samples(self):
        folded = self.path("x.folded")
        _, report = self.observe(self.program, options=["--no-ladder", "--folded", folded])
        with open(folded) as file:
            lines = file.read().splitlines()
        counts = [int(line.rpartition(" ")[2]) for line in lines]
        self.assertEqual(sum(counts), report["blas"]["evidence"]["executed"]["samples"])
        hot = [line for line in lines if ";main;hot_loop_with_a_long_name_to_replace" in line]
        self.assertTrue(hot, lines[:5])

    def test_flame_svg_is_xml(self):
        svg = self.path("x.svg")
        self.observe(self.program, options=["--no-ladder", "--flame", svg])
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("hot_loop_with_a_long_name_to_replace", "".join(root.itertext()))

    def test_flame_html_is_one_page(self):
        page = self.path("x.html")
        self.observe(self.program, options=["--no-ladder", "--flame", page])
        with open(page) as file:
            text = file.read()
        self.assertTrue(text.lower().startswith("<!doctype html>"))
        self.assertIn("hot_loop_with_a_long_name_to_replace", text)

    def test_a_profile_draws_its_own_kernels(self):
        svg = self.path("x.svg")
        profile("--no-ladder", "--variant", "reference", "--shape", "batch=2", "--time-budget", "1",
                "--flame", svg)
        text = "".join(xml.etree.ElementTree.parse(svg).getroot().itertext())
        self.assertIn("conv1d_reference", text)

    def test_speedscope_is_a_sampled_profile(self):
        path = self.path("x.json")
        _, report = self.observe(self.program, options=["--no-ladder", "--speedscope", path])
        with open(path) as file:
            profile = json.load(file)
        names = [frame["name"] for frame in profile["shared"]["frames"]]
        self.assertIn("hot_loop_with_a_long_name_to_replace", names)
        one = profile["profiles"][0]
        self.assertEqual(one["type"], "sampled")
        self.assertEqual(len(one["samples"]), len(one["weights"]))
        self.assertLess(max(max(stack) for stack in one["samples"] if stack), len(names))

    def test_lines_name_file_and_line(self):
        _, report = self.observe(self.program, options=["--no-ladder", "--lines"])
        lines = report["blas"]["evidence"]["executed"]["lines"]
        hottest = lines[0]
        self.assertTrue(hottest["file"].endswith("busy.c"), hottest)
        self.assertEqual(hottest["line"], 5)
        self.assertGreater(hottest["fraction"], 0.5)

    def test_no_lines_unless_asked(self):
        _, report = self.observe(self.program)
        self.assertEqual(report["blas"]["evidence"]["executed"]["lines"], [])

    def test_attach_draws_too(self):
        svg = self.path("x.svg")
        child = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        done = hwprof("attach", "--no-ladder", "--seconds", "1", "--flame", svg, str(child.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        xml.etree.ElementTree.parse(svg)

    def test_without_a_sample_there_is_no_file_but_a_warning(self):
        for option, name in (("--flame", "x.svg"), ("--pprof", "x.pb.gz")):
            with self.subTest(option):
                path = self.path(name)
                done = hwprof("run", "--no-ladder", "--frequency", "1", option, path, "--", "true")
                self.assertEqual(done.returncode, 0)
                self.assertIn("no stack was sampled", done.stderr)
                self.assertFalse(os.path.exists(path))


# Its callers keep values in registers and have no frame pointers.
NO_FRAMES_C = """
#include <time.h>
volatile double x[64];
__attribute__((noinline)) void innermost(int n) {
  for (int i = 0; i < n; ++i) x[i % 64] += 0.5 * i;
}
__attribute__((noinline)) int between(int depth, int n) {
  if (depth == 0) innermost(n);
  else n += between(depth - 1, n + depth);
  return n + depth;
}
int main(void) {
  int sum = 0;
  while (clock() < CLOCKS_PER_SEC / 2) sum += between(5, 100000);
  return sum == 1;
}
"""


@needs_samples
@unittest.skipUnless(platform.machine() == "x86_64", "unwinds on x86-64 alone")
class WithoutFramePointers(EvidenceTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("no_frames", NO_FRAMES_C, "-O2", "-fomit-frame-pointer",
                                    "-fno-optimize-sibling-calls")

    def assert_reaches_main(self, report, folded):
        executed = report["blas"]["evidence"]["executed"]
        self.assertGreaterEqual(executed["whole_stacks"], 0.95)
        with open(folded) as file:
            lines = [line.rpartition(" ") for line in file.read().splitlines()]
        reach = sum(int(count) for stack, _, count in lines if ";main;" in stack + ";")
        self.assertGreaterEqual(reach, 0.95 * executed["samples"], lines[:5])
        whole = ";main" + 6 * ";between" + ";innermost"
        hot = sum(int(count) for stack, _, count in lines if whole in stack)
        self.assertGreaterEqual(hot, 0.9 * executed["samples"], lines[:5])

    def test_stacks_reach_main(self):
        folded = self.path("x.folded")
        _, report = self.observe(self.program, options=["--no-ladder", "--folded", folded])
        self.assert_reaches_main(report, folded)

    @needs_root
    def test_a_worker_without_rights_unwinds_too(self):
        folded = self.path("x.folded")
        _, report = self.observe(self.program, options=["--no-ladder", "--user", "nobody",
                                                        "--folded", folded])
        self.assert_reaches_main(report, folded)

    def test_the_report_says_how_many(self):
        done = hwprof("run", "--no-ladder", "--folded", self.path("x"), "--", self.program)
        self.assertRegex(" ".join(done.stderr.split()),
                         r"\d % of the stacks reach main or the start of their thread")

    def test_without_stacks_there_is_no_share(self):
        _, report = self.observe(self.program)
        self.assertIsNone(report["blas"]["evidence"]["executed"]["whole_stacks"])


class Refused(EvidenceTest):
    def assert_nothing_ran(self, *options, names):
        marker = self.path("ran")
        self.assert_refused("run", *options, "--", "touch", marker, names=names)
        self.assertFalse(os.path.exists(marker))

    def test_a_flame_graph_is_svg_or_html(self):
        self.assert_nothing_ran("--flame", self.path("x.png"), names=["--flame", ".svg", "x.png"])

    def test_stacks_need_samples(self):
        for option in [["--flame", self.path("x.svg")], ["--folded", self.path("x")],
                       ["--speedscope", self.path("x")], ["--pprof", self.path("x")], ["--lines"]]:
            with self.subTest(option):
                self.assert_nothing_ran("--no-samples", *option, names=[option[0], "--no-samples"])

    def test_frequencies_that_cannot_be(self):
        for text in ["0", "-1", "10001", "x", "1.5"]:
            with self.subTest(text):
                self.assert_nothing_ran("--frequency=" + text, names=["--frequency", text])

    def test_files_that_cannot_be_written(self):
        for option in ["--flame", "--folded", "--speedscope", "--pprof", "-o"]:
            with self.subTest(option):
                self.assert_nothing_ran(option, "/no/such/folder/x.svg",
                                        names="/no/such/folder")


if __name__ == "__main__":
    harness.main()
