"""`hwprof profile --exact`: FLOP of each row counted without a PMU; asserts on counts alone."""

import json
import platform
import unittest

import harness
from harness import CliTest, hwprof

QUICK = ("--no-ladder", "-q", "--time-budget", "0.5")
SMALL = ("--shape", "k=2,d_e=48,d_c=32,n=20,l=16,batch=3", *QUICK)


def counts_of(done):
    report = json.loads(done.stdout)
    return {(row["op"], row["variant"]): row["exact"] for row in report["rows"]}


@unittest.skipUnless(platform.machine() == "x86_64", "exact counting is x86-64 only")
class Exact(CliTest):
    def profile(self, *arguments, size=SMALL):
        done = hwprof("--exact", *size, "--format", "json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def setUp(self):
        super().setUp()
        counts = counts_of(self.profile("--variant", "reference"))
        reason = counts["conv1d", "reference"]["reason"] or ""
        if reason.startswith("exact counting is not possible here"):
            self.skipTest(reason)

    def test_every_row_has_its_flop_and_those_that_waste_no_lane_the_models(self):
        counts = counts_of(self.profile())
        for (op, variant), exact in counts.items():
            self.assertIsNone(exact["reason"], (op, variant, exact))
            self.assertGreater(exact["instructions"], 0, (op, variant))
            self.assertEqual(sum(exact["flops_by_width"].values()), exact["flops"])
            self.assertEqual(sum(function["flops"] for function in exact["by_function"]), exact["flops"])
            self.assertEqual(sum(function["instructions"] for function in exact["by_function"]),
                             exact["instructions"])
            if exact["flops"]:
                bytes_moved = exact["bytes_loaded"] + exact["bytes_stored"]
                self.assertAlmostEqual(exact["intensity"], exact["flops"] / bytes_moved, delta=1e-9, msg=(op, variant))
                self.assertGreater(exact["gflops"], 0, (op, variant))
            else:
                self.assertEqual((exact["intensity"], exact["gflops"], exact["gflops_reason"]),
                                 (None, None, "it executed no FLOP"), (op, variant))
            if exact["to_model"] not in (None, 1):
                self.assertTrue(exact["excess"], (op, variant))
        # 3 documents of 20 words, 19 positions each, 32 filters of 2 x 48 numbers.
        for key in (("conv1d", "reference"), ("conv1d", "simd"), ("conv1d-maxpool", "fused")):
            self.assertEqual(counts[key]["flops"], 3 * 19 * 32 * 2 * (2 * 48), key)
            self.assertEqual(counts[key]["to_model"], 1, key)
            self.assertEqual(counts[key]["excess"], [], key)
        self.assertEqual(counts["maxpool", "simd"]["flops"], 0)
        self.assertGreaterEqual(counts["maxpool", "reference"]["operations"]["compare"], 3 * 19 * 32 - 96)

    def test_two_runs_and_more_threads_count_the_same(self):
        def numbers(*arguments):
            only = ("--variant", "simd,fused,reference", *arguments)
            return {key: (exact["flops"], exact["flops_by_width"], exact["operations"])
                    for key, exact in counts_of(self.profile(*only)).items()}
        one = numbers("--threads", "1")
        self.assertEqual(one, numbers("--threads", "1"))
        # Threads share the work out: no more of it, and none of it twice.
        two = numbers("--threads", "2")
        self.assertEqual(one["conv1d-maxpool", "fused"][0], two["conv1d-maxpool", "fused"][0])
        self.assertEqual(one["conv1d", "reference"], two["conv1d", "reference"])

    def test_the_width_is_that_of_the_kernels_instruction_set(self):
        counts = counts_of(self.profile("--isa", "sse", "--variant", "fused"))
        self.assertEqual(list(counts["conv1d-maxpool", "fused"]["flops_by_width"]), ["128"])

    def test_single_steps_count_the_same(self):
        few = ("--variant", "simd,fused,reference")
        tiny = ("--shape", "k=2,d_e=24,d_c=16,n=5,l=4,batch=2", *QUICK)
        steps = counts_of(self.profile("--engine", "steps", *few, size=tiny))
        blocks = counts_of(self.profile("--engine", "blocks", *few, size=tiny))
        for key, exact in steps.items():
            self.assertIsNone(exact["reason"], key)
            self.assertEqual((exact.pop("stepped"), blocks[key].pop("stepped")), (True, False))
            for times in ("gflops", "gflops_ci95"):
                exact.pop(times), blocks[key].pop(times)
            self.assertEqual(exact, blocks[key])
        done = hwprof("--exact", "--engine", "steps", *tiny, *few)
        self.assertIn("Both were equal in every field", " ".join(done.stdout.split()))

    def test_more_steps_than_can_be_taken(self):
        large = ("--shape", "k=2,d_e=300,d_c=128,n=20,l=20,batch=4", *QUICK)
        exact = counts_of(self.profile("--engine", "steps", "--variant", "reference",
                                       size=large))["conv1d", "reference"]
        self.assertIn("is the most", exact["reason"])
        self.assertNotIn("flops", exact)
        self.assert_refused("--engine", "steps", names=["--engine", "--exact"])

    def test_the_text_has_both_tables(self):
        done = hwprof("--exact", *SMALL, "--full")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("Executed, counted exactly (a call)", "Executed by function (a call)",
                      "the same in every run", "1.000", "FLOP/byte, GFLOP/s: FLOP executed"):
            self.assertIn(words, done.stdout)

    def test_a_report_without_it_has_nothing_of_it(self):
        done = hwprof(*SMALL, "--format", "json", "--variant", "fused")
        self.assertTrue(all("exact" not in row for row in json.loads(done.stdout)["rows"]))

    def test_it_means_nothing_to_a_training(self):
        self.assert_refused("--exact", "--workload", "mlp", names=["--exact", "mlp"])


if __name__ == "__main__":
    harness.main()
