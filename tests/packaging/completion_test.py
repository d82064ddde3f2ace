"""What hwprof offers for the word that is being typed, and what bash, zsh and fish make of it.

HWPROF is set by meson. Standard library only.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import shells  # noqa: E402

HWPROF = os.environ["HWPROF"]


def answer(*words):
    """What hwprof prints: candidates with their help, and what it asks of the shell."""
    done = subprocess.run([HWPROF, "--complete", *words], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return (dict(line.split("\t") for line in lines if not line.startswith(":")),
            [line for line in lines if line.startswith(":")])


def offered(*words):
    return set(answer(*words)[0])


class WhatHwprofOffers(unittest.TestCase):
    def test_commands(self):
        text = subprocess.run([HWPROF, "--help"], check=True, capture_output=True, text=True).stdout
        listed = text.split("Commands:\n")[1].split("\n\n")[0].splitlines()
        found, asked = answer("")
        self.assertEqual(["%-10s %s" % pair for pair in found.items()],
                         [line.strip() for line in listed])
        self.assertEqual(asked, [])
        self.assertEqual(offered("work"), {"workloads"})
        self.assertEqual(offered("nothing"), set())

    def test_options_of_the_default_command_and_those_that_stand_alone(self):
        self.assertLessEqual({"--pin", "--variant", "--version", "--man", "-h"}, offered("-"))
        self.assertNotIn("--version", offered("profile", "-"))
        self.assertEqual(offered("--pin", "0", "--tim"), {"--time-budget"})

    def test_an_option_is_offered_until_it_is_given(self):
        self.assertEqual(offered("peak", "--thr"), {"--threads"})
        self.assertEqual(offered("peak", "--threads", "1", "--thr"), set())
        self.assertEqual(offered("peak", "--threads=1", "--thr"), set())
        self.assertEqual(offered("--events", "flops", "--eve"), {"--events"})

    def test_values(self):
        self.assertEqual(offered("peak", "--format", ""), {"text", "json", "markdown", "html"})
        self.assertEqual(offered("peak", "--format=m"), {"--format=markdown"})
        self.assertEqual(offered("--engine", ""), {"blocks", "steps"})
        self.assertLessEqual({"self", "memory-peak"}, offered("--sort", ""))
        self.assertEqual(offered("--require", "co"), {"counters"})
        self.assertEqual(offered("sweep", "--require", ""), {"agreement"})
        self.assertEqual(offered("--pin", ""), set())
        self.assertEqual(offered("peak", "--json=x"), set())

    def test_workloads_variants_and_operations(self):
        workloads, asked = answer("--workload", "")
        self.assertEqual(set(workloads), {"textcnn", "resnet20", "mlp"})
        self.assertEqual(asked, [":file"])
        self.assertEqual(offered("workloads", ""), {"resnet20"})
        variants = answer("--variant", "")[0]
        self.assertLessEqual({"simd", "fused", "blas-im2col", "eager", "reference"}, set(variants))
        self.assertEqual(variants["eager"], "resnet20")
        self.assertEqual(variants["blas-im2col"], "textcnn")
        self.assertIn("mlp", variants["simd"])
        self.assertLessEqual({"conv1d", "softmax"}, offered("sweep", "--op", ""))
        self.assertIn("conv1d", answer("sweep", "--variant", "blas-i")[0]["blas-im2col"])

    def test_what_is_offered_is_taken(self):
        for word in ("simd,blas-im2col", "fused"):
            done = subprocess.run([HWPROF, "--variant", word, "--shape", "k=1", "--events", "x y"],
                                  capture_output=True, text=True)
            self.assertIn("x y", done.stderr)  # only that is refused

    def test_events_in_a_list(self):
        events, asked = answer("--events", "fl")
        self.assertIn("flops", events)
        self.assertTrue(events["flops"])
        self.assertEqual(asked, [":nospace"])
        self.assertEqual(offered("run", "--events", "flops,llc-m"), {"flops,llc-miss"})
        self.assertNotIn("flops,flops", offered("--events", "flops,fl"))
        self.assertEqual(offered("run", "--events=cycles,llc-m"), {"--events=cycles,llc-miss"})
        self.assertIn("flops", offered("events", "fl"))

    def test_files_and_commands_are_for_the_shell(self):
        self.assertEqual(answer("report", ""), ({}, [":file"]))
        self.assertEqual(answer("-o", "x"), ({}, [":file"]))
        self.assertEqual(answer("blas", "--output=x"), ({}, [":file"]))
        self.assertEqual(answer("run", "--pin", "0", "--", "ls", "-"), ({}, [":command 4"]))
        self.assertEqual(answer("compare", "a.json", "--", ""), ({}, [":file"]))
        self.assertEqual(offered("run", ""), {"--"})

    def test_no_words_no_such_command(self):
        self.assertEqual(answer(), answer(""))
        self.assertEqual(answer("rum", "-"), ({}, []))


class InShells(unittest.TestCase):
    """The same in real shells, in a folder with two files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        for name in ("first.json", "second.json"):
            open(os.path.join(self.folder, name), "w").close()
        os.mkdir(os.path.join(self.folder, "bin"))
        os.symlink(HWPROF, os.path.join(self.folder, "bin", "hwprof"))
        self.environment = dict(os.environ, HOME=self.folder, LC_ALL="C.UTF-8",
                                PATH=os.path.join(self.folder, "bin") + ":" + os.environ["PATH"])

    def on_a_terminal(self, shell):
        if shutil.which(shell) is None:
            self.skipTest(shell + " is not installed")
        terminal = shells.Terminal(shell, self.folder, self.environment)
        self.addCleanup(terminal.close)
        for line, after in {
                "hwprof doct": "hwprof doctor ",
                "hwprof --time": "hwprof --time-budget ",
                "hwprof peak --format=mark": "hwprof peak --format=markdown ",
                "hwprof --events cycles,llc-m": "hwprof --events cycles,llc-miss",
                "hwprof --variant blas-im": "hwprof --variant blas-im2col",
                "hwprof --workload resn": "hwprof --workload resnet20 ",
                "hwprof report fir": "hwprof report first.json ",
                "hwprof report first.json --output=sec":
                    "hwprof report first.json --output=second.json ",
                "hwprof run --pin 0 -- hwpro": "hwprof run --pin 0 -- hwprof ",
                "hwprof run -- cat sec": "hwprof run -- cat second.json ",
        }.items():
            with self.subTest(shell=shell, line=line):
                self.assertEqual(terminal.after_tab(line), after)

    def test_bash_on_a_terminal(self):
        self.on_a_terminal("bash")

    def test_zsh_on_a_terminal(self):
        self.on_a_terminal("zsh")

    def test_bash_by_comp_words(self):
        def reply(*words):
            return shells.of_bash(words, self.folder, self.environment)
        self.assertIn("workloads", reply("hwprof", ""))
        self.assertEqual(reply("hwprof", "--events", "flops,llc-m"), ["flops,llc-miss"])
        self.assertEqual(reply("hwprof", "peak", "--format", "=", "j"), ["json"])
        self.assertEqual(reply("hwprof", "peak", "--format", "="), ["text", "json", "markdown", "html"])
        self.assertEqual(reply("hwprof", "report", "s"), ["second.json"])
        self.assertIn("hwprof", reply("hwprof", "run", "--", "hwp"))

    def test_fish(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed")

        def found(line):
            return shells.of_fish(line, self.folder, self.environment)
        self.assertLessEqual({"run", "doctor"}, set(found("hwprof ")))
        self.assertIn("machine", found("hwprof doct")["doctor"])
        self.assertEqual(set(found("hwprof --time")), {"--time-budget"})
        self.assertEqual(set(found("hwprof peak --format=mark")), {"--format=markdown"})
        self.assertEqual(set(found("hwprof --events cycles,llc-m")), {"cycles,llc-miss"})
        self.assertEqual(set(found("hwprof report fir")), {"first.json"})
        self.assertEqual(set(found("hwprof report first.json --output=sec")), {"--output=second.json"})
        self.assertIn("second.json", found("hwprof run -- cat sec"))


if __name__ == "__main__":
    unittest.main()
