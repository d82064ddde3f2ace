"""Paths, libraries and symbols made to break reports, drawings and terminals."""

import json
import os
import shutil
import xml.etree.ElementTree

import harness
from evidence_harness import (AS_ROOT, BUSY_C, CALLER, EvidenceTest, needs_caller, needs_samples,
                              sites)
from harness import hwprof

HOSTILE_FOLDER = "evil\n\x1b[31m\"'&<img src=x><"
HOSTILE_FILE = "script>alert(1)"  # behind the folder: ...</script>alert(1)
HOSTILE_NAME = "e\x1b[2J\n\"'</script><img src=x>&"


class Hostile(EvidenceTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path(HOSTILE_FOLDER))
        self.hostile = self.path(os.path.join(HOSTILE_FOLDER, HOSTILE_FILE))

    def assert_plain(self, text):
        self.assertNotIn("\x1b", text)
        self.assertNotIn("evil\n", text)

    @needs_caller
    def test_a_program_with_a_hostile_path_is_observed(self):
        shutil.copy(CALLER, self.hostile)
        for more in [{}] + ([self.as_nobody()] if AS_ROOT else []):
            with self.subTest(more):
                done, report = self.observe(self.hostile, "fortran", **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(report["command"][0], self.hostile)
                self.assertEqual(sites(report, "sgemm_")[0]["caller"],
                                 os.path.realpath(self.hostile))
                self.assertEqual(sites(report, "sgemm_")[0]["count"], 107)
                done = hwprof("run", "--no-ladder", "--", self.hostile, "busy", "0.3", **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_plain(done.stderr)
                self.assertIn("\\x1b[31m", done.stderr)

    @needs_caller
    def test_a_library_with_a_hostile_path_is_observed(self):
        _, report = self.observe(CALLER, "fortran")
        copy = self.path(os.path.join(HOSTILE_FOLDER,
                                      report["blas"]["evidence"]["declared"]["needed"][0]))
        shutil.copy(sites(report, "sgemm_")[0]["library"], copy)
        folders = [os.path.dirname(copy)] + os.environ.get("LD_LIBRARY_PATH", "").split(":")
        env = harness.environment(LD_LIBRARY_PATH=":".join(filter(None, folders)))
        for more in [{}] + ([self.as_nobody()] if AS_ROOT else []):
            with self.subTest(more):
                done, report = self.observe(CALLER, "fortran", env=env, **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_plain(done.stderr)
                self.assertEqual([(site["library"], site["count"])
                                  for site in sites(report, "sgemm_")], [(copy, 107)])

    @needs_samples
    def test_hostile_symbols_are_escaped_everywhere(self):
        plain = self.compile("plain", BUSY_C, "-fno-omit-frame-pointer")
        name = b"hot_loop_with_a_long_name_to_replace"
        with open(plain, "rb") as file:
            program = file.read().replace(name, HOSTILE_NAME.encode().ljust(len(name), b"_"))
        with open(self.hostile, "wb") as file:
            file.write(program)
        os.chmod(self.hostile, 0o755)
        files = {name: self.path("x." + name) for name in ["svg", "folded", "speedscope"]}
        done = hwprof("run", "--full", "--no-ladder", "--flame", files["svg"], "--folded", files["folded"],
                      "--speedscope", files["speedscope"], "--", self.hostile)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_plain(done.stderr)
        self.assertIn("e\\x1b[2J", done.stderr)
        page = self.path("x.html")
        _, report = self.observe(self.hostile, options=["--no-ladder", "--flame", page])
        self.assertTrue([symbol for symbol in report["blas"]["evidence"]["executed"]["by_symbol"]
                         if symbol.startswith(HOSTILE_NAME)])
        xml.etree.ElementTree.parse(files["svg"])
        for path in [files["svg"], page]:
            with open(path) as file:
                text = file.read()
            self.assert_plain(text)
            self.assertNotIn("<img", text)
            self.assertEqual(text.count("</script>"), text.count("<script"))
            self.assertIn("&lt;img", text)
        with open(files["folded"]) as file:
            for line in file.read().split("\n")[:-1]:
                self.assertRegex(line, r" \d+$")
                self.assert_plain(line)
        with open(files["speedscope"]) as file:
            json.load(file)

    def test_a_hostile_name_that_is_not_there(self):
        done = hwprof("run", "--", self.hostile)
        self.assertEqual(done.returncode, 127)
        self.assert_plain(done.stderr)


if __name__ == "__main__":
    harness.main()
