"""Networks of layers: ResNet20 and files of one's own. Counts, names, results and refusals; no
assertion on how long anything takes."""

import csv
import io
import json
import os
import unittest

from harness import CliTest, environment, hwprof
import harness

TABLE = os.path.join(os.path.dirname(__file__), "..", "data", "resnet20_chainer.csv")
QUICK = ["--no-ladder", "-q", "--time-budget", "1"]
SMALL = {"name": "small", "input": [1, 6, 6, 3],
         "layers": [{"name": "conv", "op": "conv2d", "c_out": 4, "kernel": 3, "stride": 1},
                    {"name": "bn", "op": "batchnorm"}, {"name": "relu", "op": "relu"},
                    {"name": "flat", "op": "reshape"}, {"name": "l", "op": "linear", "l": 3}]}


def table():
    with open(TABLE, encoding="ascii") as file:
        return list(csv.DictReader(file))


class Resnet20(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        done = hwprof("--workload", "resnet20", *QUICK, "--repeat", "30", "--variant",
                      "eager,fused", "--against", TABLE, "--events", "task-clock,page-faults",
                      "--format", "json")
        assert done.returncode == 0, done.stderr
        cls.report = json.loads(done.stdout)

    def test_the_layers_have_the_names_and_order_of_the_table(self):
        layers = self.report["layers"]
        self.assertEqual([layer["name"] for layer in layers], [row["layer"] for row in table()])
        self.assertEqual([layer["index"] for layer in layers], list(range(66)))
        self.assertEqual(self.report["layers_form"], "eager")

    def test_types_are_counted_as_the_hook_counts_them(self):
        count = {kind["name"]: kind["occurrence"] for kind in self.report["layer_types"]}
        self.assertEqual(count, {"Convolution2DFunction": 21, "BatchNormalization": 21, "ReLU": 19,
                                 "Add": 2, "AveragePooling2D": 1, "Reshape": 1,
                                 "LinearFunction": 1})

    def test_every_form_is_right_as_a_whole_and_every_layer_by_itself(self):
        self.assertEqual([row["variant"] for row in self.report["rows"]], ["eager", "fused"])
        for row in self.report["rows"]:
            self.assertLess(row["max_rel_error"], 1e-5)
        for layer in self.report["layers"]:
            if layer["max_rel_error"] is None:
                self.assertTrue(layer["max_rel_error_reason"])
            else:
                self.assertLess(layer["max_rel_error"], 1e-5)

    def test_shares_and_types_are_those_of_the_layers(self):
        for form in self.report["forms"]:
            self.assertEqual(form["inferences"], 30)
            self.assertAlmostEqual(sum(layer["share"] for layer in form["layers"]), 1, 6)
            total = sum(layer["time_ns"]["median"] for layer in form["layers"])
            self.assertAlmostEqual(form["sum_to_inference"], form["sum_of_layers_ns"] /
                                   form["inference_ns"]["median"], 6)
            types = sum(kind["elapsed_ns"] for kind in form["layer_types"])
            self.assertAlmostEqual(types / total, 1, 6)
        self.assertEqual(len(self.report["forms"][1]["layers"]), 24)

    def test_every_layer_has_rates_of_its_model_and_counters_with_a_status(self):
        for layer in self.report["layers"]:
            if layer["model"]["flops"] > 0:
                self.assertAlmostEqual(layer["gflops"], layer["model"]["flops"] /
                                       layer["time_ns"]["median"], 6)
                self.assertGreater(layer["peak_fraction"], 0)
            else:
                self.assertTrue(layer["gflops_reason"])
            for count in layer["counters"].values():
                self.assertTrue(count["value"] is not None or count["reason"])

    def test_against_has_the_tables_times_and_the_ratio(self):
        against = self.report["against"]
        self.assertAlmostEqual(against["total"]["theirs_ns"] * 1e-9,
                               sum(float(row["seconds"]) for row in table()), 9)
        for theirs, ours, row in zip(table(), self.report["layers"], against["layers"]):
            self.assertAlmostEqual(row["theirs_ns"] * 1e-9, float(theirs["seconds"]), 12)
            self.assertEqual(row["ours_ns"], ours["time_ns"]["median"])
            self.assertAlmostEqual(row["ratio"], row["theirs_ns"] / row["ours_ns"], 9)
        self.assertEqual(len(against["types"]), 7)


class OwnNetworks(CliTest):
    def network(self, **changes):
        return self.path("net.json", json.dumps({**SMALL, **changes}, indent=1))

    def test_what_is_written_out_runs(self):
        out = self.path("out.json")
        done = hwprof("workloads", "resnet20", "--format", "json", "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        done = hwprof("--workload", out, *QUICK, "--variant", "fused", "--repeat", "3",
                      "--format", "json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["layers"]), 24)

    def test_csv_has_a_line_a_layer(self):
        done = hwprof("--workload", self.network(), *QUICK, "--repeat", "5", "--format", "csv")
        lines = list(csv.DictReader(io.StringIO(done.stdout)))
        eager = [line for line in lines if line["form"] == "eager"]
        self.assertEqual([line["label"] for line in eager], ["conv", "bn", "relu", "flat", "l"])
        self.assertEqual(len([line for line in lines if line["form"] == "fused"]), 3)

    def test_text_and_markdown_show_every_layer(self):
        for form in ["text", "markdown"]:
            done = hwprof("--workload", self.network(), *QUICK, "--repeat", "5", "--format", form, "--full")
            self.assertEqual(done.returncode, 0, done.stderr)
            for word in ["BatchNormalization", "FunctionName", "sum of"]:
                self.assertIn(word, done.stdout)
            self.assertNotIn("Documents", done.stdout)

    def test_bad_networks_are_refused_by_line_and_key(self):
        layers = SMALL["layers"]
        cases = {
            "unknown operation 'conv3d'": {"layers": [{"name": "a", "op": "conv3d"}]},
            "reads [batch, inputs], and 'conv' gives [1, 6, 6, 4]":
                {"layers": [layers[0], layers[4]]},
            "cycle": {"layers": [{"name": "a", "op": "relu", "inputs": ["b"]},
                                 {"name": "b", "op": "relu", "inputs": ["a"]}]},
            "more than 10000 items": {"layers": [{"op": "relu"}] * 10001},
            "of memory, and there are":
                {"layers": [{"name": "a", "op": "conv2d", "c_out": 2000000000, "kernel": 255,
                             "stride": 1}]},
            "\"layers\" is empty": {"layers": []},
            "no \"c_out\"|has no c_out": {"layers": [{"name": "a", "op": "conv2d"}]},
        }
        for what, changes in cases.items():
            with self.subTest(what):
                done = hwprof("--workload", self.network(**changes))
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertTrue(any(part in done.stderr for part in what.split("|")), done.stderr)
                self.assertEqual(done.stdout, "")

    def test_files_that_are_no_networks_are_refused(self):
        for content, what in [("", "no JSON"), ("{", "line 1, column"), ("index,layer\n", "no JSON"),
                              ('{"schema": "hwprof.profile/1"}', "schema")]:
            done = hwprof("--workload", self.path("x.json", content))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(what, done.stderr)
        self.assertEqual(hwprof("--workload", "./missing.json").returncode, 2)

    def test_other_tables_are_refused(self):
        with open(TABLE, encoding="ascii") as file:
            lines = file.read().splitlines()
        swapped = lines[:4] + [lines[4].replace("Convolution2DFunction", "ReLU")] + lines[5:]
        for rows, what in [([], "is empty"), (lines[:30], "ends after 29 layers"),
                           (["a,b"], "is no header"), (swapped, "line 5 of"),
                           (lines[:3] + ["2,ReLU,fast"], "'fast' is no time"),
                           (lines + ["66,ReLU,1"], "only 66 layers"),
                           (lines[:3] + ["7,ReLU,1"], "the index is 7, and 2 is next")]:
            with self.subTest(what):
                path = self.path("table.csv", "".join(row + "\n" for row in rows))
                done = hwprof("--workload", "resnet20", "--against", path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(what, done.stderr)

    def test_options_of_other_workloads_are_refused(self):
        for words in [["--workload", "resnet20", "--docs", "x"], ["--against", TABLE],
                      ["--workload", "resnet20", "--variant", "eagre"],
                      ["--workload", "resnet21"], ["workloads", "resnet21"],
                      ["workloads", "textcnn", "--format", "json"],
                      ["workloads", "--format", "json"], ["--workload", "resnet20", "--repeat", "0"],
                      ["--workload", "resnet20", "--variant", "fused", "--against", TABLE]]:
            with self.subTest(" ".join(words)):
                done = hwprof(*words)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)

    def test_the_list_names_every_workload(self):
        done = hwprof("workloads")
        for name in ["textcnn", "resnet20", "FILE.json"]:
            self.assertIn(name, done.stdout)


if __name__ == "__main__":
    harness.main()
