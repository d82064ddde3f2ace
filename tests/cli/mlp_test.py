"""`hwprof --workload mlp`: it learns, and says where the time goes; bad files are refused.

No assertion on how fast anything is.
"""

import csv
import gzip
import io
import random
import signal
import struct
import subprocess
import time

import harness
from harness import CliTest, environment, hwprof

SHORT = ["--workload", "mlp", "--no-ladder", "--time-budget", "1"]


def idx_images(images):
    """IDX of square images, each a bytes object."""
    side = int(len(images[0]) ** 0.5)
    return struct.pack(">IIII", 0x803, len(images), side, side) + b"".join(images)


def idx_labels(labels):
    return struct.pack(">II", 0x801, len(labels)) + bytes(labels)


def blocks(count, seed, side=10):
    """Images of ten classes: one bright line in noise."""
    draw = random.Random(seed)
    images, labels = [], []
    for _ in range(count):
        label = draw.randrange(10)
        pixels = bytearray(draw.randrange(60) for _ in range(side * side))
        for x in range(side):
            pixels[label * side + x] = 200
        images.append(bytes(pixels))
        labels.append(label)
    return idx_images(images), idx_labels(labels)


def parsed(*arguments, **options):
    done = hwprof(*arguments, "--format", "json", **options)
    if done.returncode != 0:
        raise AssertionError("exit %d: %s" % (done.returncode, done.stderr))
    return harness.json.loads(done.stdout)


class Learning(CliTest):
    def test_the_generated_digits_are_learnt_in_the_default_epochs(self):
        # As long as it takes on a busy machine: the budget only ends what is too slow.
        report = parsed("--workload", "mlp", "--no-ladder", "--time-budget", "30",
                        "--variant", "simd", timeout=300)
        training = report["training"]
        self.assertIn("generated", training["images"])
        self.assertEqual(training["widths"], [784, 128, 64, 10])
        run = training["runs"][0]
        self.assertEqual(len(run["epochs"]), 10)
        self.assertIsNone(run["reason"])
        self.assertGreater(run["epochs"][-1]["accuracy"], 0.9)
        self.assertLess(run["epochs"][-1]["accuracy"], 1.0)
        self.assertLess(run["epochs"][-1]["loss"], 0.5 * run["epochs"][0]["loss"])


class Report(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.report = parsed(*SHORT, "--epochs", "2")

    def test_each_variant_has_its_phases_with_page_faults_or_a_reason(self):
        for run in self.report["training"]["runs"]:
            names = [phase["name"] for phase in run["phases"]]
            self.assertEqual(names, ["data", "forward", "backward", "update", "accuracy"])
            epochs, steps = len(run["epochs"]), 100
            for phase in run["phases"]:
                calls = epochs if phase["name"] == "accuracy" else epochs * steps
                self.assertEqual(phase["calls"], calls)
                for event in ["page-faults", "context-switches"]:
                    count = phase["counters"][event]
                    self.assertTrue(count["total"] is not None or count["reason"])
            shares = sum(phase["share"] for phase in run["phases"])
            self.assertGreater(shares, 0.5)
            self.assertLessEqual(shares, 1.0)

    def test_the_flop_of_the_phases_are_those_of_the_model(self):
        run = self.report["training"]["runs"][0]
        by_name = {phase["name"]: phase for phase in run["phases"]}
        products = sum(i * o for i, o in [(784, 128), (128, 64), (64, 10)])
        forward = 100 * (2 * products + 4 * 10)  # and the softmax
        calls = by_name["forward"]["calls"]
        self.assertEqual(by_name["forward"]["flops"], forward * calls)
        grad_input = sum(i * o for i, o in [(128, 64), (64, 10)])
        backward = 100 * (2 * products + 128 + 64 + 10 + 2 * grad_input + 1)
        self.assertEqual(by_name["backward"]["flops"], backward * calls)

    def test_every_product_of_a_step_is_a_row_and_right(self):
        rows = [row for row in self.report["rows"] if row["variant"] == "simd"]
        found = sorted((row["op"], row["shape"]["inputs"]) for row in rows)
        self.assertEqual(found, [("linear", 64), ("linear", 128), ("linear", 784),
                                 ("linear-grad-input", 64), ("linear-grad-input", 128),
                                 ("linear-grad-weights", 64), ("linear-grad-weights", 128),
                                 ("linear-grad-weights", 784)])
        for row in self.report["rows"]:
            self.assertLess(row["max_rel_error"], 1e-5)

    def test_csv_and_text_have_epochs_and_phases(self):
        done = hwprof(*SHORT, "--epochs", "1", "--variant", "simd", "--format", "csv")
        lines = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([line["epoch"] for line in lines if line["op"] == "epoch"], ["1"])
        self.assertEqual([line["phase"] for line in lines if line["op"] == "phase"],
                         ["load", "data", "forward", "backward", "update", "accuracy"])
        text = hwprof(*SHORT, "--epochs", "1", "--variant", "simd").stdout
        self.assertIn("Where the time goes", text)
        self.assertNotIn("Documents", text)

    def test_a_budget_that_ends_early_says_how_many_epochs_were_made(self):
        report = parsed(*SHORT[:-1], "0.1", "--epochs", "1000", "--variant", "simd")
        run = report["training"]["runs"][0]
        self.assertGreaterEqual(len(run["epochs"]), 1)
        self.assertLess(len(run["epochs"]), 1000)
        self.assertIn("of 1000 epochs", run["reason"])


class Interrupted(CliTest):
    def test_ctrl_c_leaves_the_epochs_that_were_made(self):
        out = self.path("report")
        with subprocess.Popen(
                [harness.BINARY, "--workload", "mlp", "--no-ladder", "--variant", "simd", "-v",
                 "--time-budget", "600", "--epochs", "1000000", "--format", "json", "-o", out],
                stderr=subprocess.PIPE, text=True, env=environment()) as process:
            for line in process.stderr:
                if "ladder of" in line:  # the last step before training
                    break
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130)
        with open(out, encoding="ascii") as file:
            report = harness.json.load(file)
        self.assertTrue(report["partial"])
        self.assertIn("interrupted in epoch", report["training"]["runs"][0]["reason"])


class Files(CliTest):
    def test_plain_and_gzip_files_train_alike(self):
        images, labels = blocks(600, 1)
        held_images, held_labels = blocks(100, 2)
        runs = []
        for pack in [bytes, gzip.compress]:
            report = parsed(
                *SHORT, "--epochs", "5", "--variant", "simd", "--batch", "16", "--threads", "1",
                "--images", self.path("images", pack(images)),
                "--labels", self.path("labels", pack(labels)),
                "--test-images", self.path("t-images", pack(held_images)),
                "--test-labels", self.path("t-labels", pack(held_labels)))
            training = report["training"]
            self.assertEqual(training["images"], self.path("images"))
            self.assertEqual(training["held_out"], self.path("t-images"))
            self.assertEqual((training["train_images"], training["held_out_images"]), (600, 100))
            self.assertEqual(training["widths"][0], 100)
            runs.append([(e["loss"], e["accuracy"]) for e in training["runs"][0]["epochs"]])
        shortest = min(map(len, runs))
        self.assertGreater(shortest, 0)
        self.assertEqual(runs[0][:shortest], runs[1][:shortest])
        self.assertGreater(runs[0][-1][1], 0.9)

    def test_the_last_sixth_is_held_out(self):
        images, labels = blocks(60, 1)
        report = parsed(*SHORT, "--epochs", "1", "--variant", "simd",
                        "--images", self.path("images", images),
                        "--labels", self.path("labels", labels))
        training = report["training"]
        self.assertEqual((training["train_images"], training["held_out_images"]), (50, 10))
        self.assertEqual(training["batch"], 50)

    def refused(self, images, labels, names, *more):
        self.assert_refused(*SHORT, "--images", self.path("images", images),
                            "--labels", self.path("labels", labels), *more,
                            "-o", self.path("report"), names=names)

    def test_bad_files_are_named_with_what_was_found(self):
        images, labels = blocks(12, 1)
        self.refused(labels, images, ["images", "0x00000801", "swapped"])
        self.refused(images[:-7], labels, ["images", "is cut off"])
        self.refused(images + b"x", labels, ["images", "goes on"])
        self.refused(images, idx_labels([1] * 11), ["12 images", "11 labels"])
        self.refused(images, idx_labels([1] * 11 + [10]), ["label 12", "labels", "10"])
        self.refused(gzip.compress(images)[:-20], labels, ["images", "gzip data is cut off"])
        self.refused(b"", labels, ["images", "is empty"])
        self.refused(struct.pack(">IIII", 0x803, 0, 28, 28), labels, ["images", "holds no images"])
        self.refused(struct.pack(">IIII", 0x803, *[0xffffffff] * 3), labels, ["memory"])
        few, few_labels = blocks(5, 1)
        self.refused(few, few_labels, ["images", "too few"])

    def test_held_out_images_must_be_of_the_same_size(self):
        images, labels = blocks(12, 1)
        self.refused(images, labels, ["10 x 10", "12 x 12"],
                     "--test-images", self.path("t-images", idx_images([b"\0" * 144] * 3)),
                     "--test-labels", self.path("t-labels", idx_labels([0, 1, 2])))


class Options(CliTest):
    def test_files_come_in_pairs(self):
        self.assert_refused(*SHORT, "--images", "x", names="--labels")
        self.assert_refused(*SHORT, "--labels", "x", names="--images")
        self.assert_refused(*SHORT, "--test-images", "x", "--test-labels", "y", names="--images")

    def test_options_of_other_workloads_are_refused(self):
        self.assert_refused(*SHORT, "--docs", "x", names=["--docs", "mlp"])
        self.assert_refused("--epochs", "2", names=["--epochs", "textcnn"])

    def test_an_unknown_variant_is_refused_with_the_known_ones(self):
        self.assert_refused(*SHORT, "--variant", "fused", names=["fused", "reference, simd, blas"])

    def test_epochs_and_batch_are_numbers_from_one(self):
        for option in ["--epochs", "--batch"]:
            for value in ["0", "-1", "x", "1.5"]:
                self.assert_refused(*SHORT, option, value, names=option)


if __name__ == "__main__":
    harness.main()
