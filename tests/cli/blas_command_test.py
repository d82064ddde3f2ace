"""hwprof blas -- COMMAND: the verdict alone, and what its exit code says."""

import json
import re

import harness
from evidence_harness import CALLER, EvidenceTest, VERDICTS, needs_caller
from harness import hwprof

LINE = re.compile(r"verdict=(\S+) provider=(\S+) core=(\S+) gflops=(\S+) peak_fraction=(\S+)$")


class Verdict(EvidenceTest):
    """hwprof blas -- COMMAND"""

    def check_line(self, line, code):
        match = LINE.match(line)
        self.assertIsNotNone(match, line)
        self.assertIn(match.group(1), VERDICTS)
        self.assertEqual(code, {"optimal": 0, "inconclusive": 3}.get(match.group(1), 1))
        return match

    @needs_caller
    def test_the_line_and_the_exit_code_agree_and_stdout_is_the_commands(self):
        done = hwprof("blas", "--", CALLER, "busy", "0.5")
        self.assertRegex(done.stdout, r"^up\n\d+\n$")
        line = self.check_line(done.stderr.lstrip("\n").split("\n")[0], done.returncode)
        self.assertNotEqual(line.group(2), "unknown")

    @needs_caller
    def test_a_file_begins_with_the_line(self):
        path = self.path("verdict")
        done = hwprof("blas", "--quick", "-o", path, "--", CALLER, "busy", "0.3")
        self.assertEqual(done.stderr, "")
        with open(path) as file:
            self.check_line(file.readline().rstrip("\n"), done.returncode)

    @needs_caller
    def test_the_line_is_a_line_of_its_own(self):
        done = hwprof("blas", "--quick", "--", "sh", "-c", "printf unfinished >&2")
        first, _, rest = done.stderr.partition("\n")
        self.assertEqual(first, "unfinished")
        self.check_line(rest.split("\n")[0], done.returncode)

    def test_json_is_that_of_run(self):
        path = self.path("verdict.json")
        hwprof("blas", "--quick", "--json", "-o", path, "--", "true")
        with open(path) as file:
            self.assertEqual(json.load(file)["schema"], "hwprof.run/1")

    def test_the_commands_exit_code_is_told_not_passed(self):
        done = hwprof("blas", "--quick", "--", "sh", "-c", "exit 77")
        self.assertEqual(done.returncode, 4)
        self.assertIn("77", done.stderr)

    def test_libraries_and_a_command_exclude_each_other(self):
        self.assert_refused("blas", "/no/such/library", "--", "true", names="exclude each other")

    def test_without_a_command_the_file_has_the_survey(self):
        path = self.path("survey.json")
        done = hwprof("blas", "--quick", "--json", "-o", path)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        with open(path) as file:
            self.assertEqual(json.load(file)["schema"], "hwprof.blas/1")

    def test_commands_that_cannot_run(self):
        done = hwprof("blas", "--", "/no/such/command")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("/no/such/command", done.stderr)
        self.assertNotIn("verdict=", done.stderr)
        done = hwprof("blas", "--", self.path("text", "no program\n"))
        self.assertEqual(done.returncode, 3)


if __name__ == "__main__":
    harness.main()
