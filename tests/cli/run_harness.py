"""What the tests of hwprof run and attach share."""

import json
import sys
import textwrap

from harness import CliTest, hwprof

# What these files test needs neither calls nor samples, and no ladder.
PLAIN = ["--no-ladder"]


class RunTest(CliTest):
    def run_json(self, *command, options=(), **popen):
        """Runs `command` under hwprof; returns (completed process, parsed report)."""
        report = self.path("report.json")
        done = hwprof("run", *PLAIN, "--format", "json", "-o", report, *options, "--", *command,
                      **popen)
        with open(report) as file:
            return done, json.load(file)

    def python(self, code, *arguments, **more):
        return self.run_json(sys.executable, "-c", textwrap.dedent(code), *arguments, **more)

    def codes(self, report):
        return [warning["code"] for warning in report["warnings"]]
