"""Recipes of scripts/fleet that need no scheduler: cron's lines and NHC's run as those run them; ReFrame's test
runs under what stands in for ReFrame, which Debian does not have."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

from lab import PATH, SCRIPTS, main

HWPROF = os.environ["HWPROF"]


class Recipe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.mkdir(self.path("bin"))
        self.environment = {"PATH": self.path("bin") + ":" + PATH, "LANG": "C.UTF-8",
                            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")}
        self.hwprof('exec %s "$@"' % HWPROF)

    def path(self, name):
        return os.path.join(self.folder, name)

    def hwprof(self, does):
        with open(self.path("bin/hwprof"), "w") as file:
            file.write("#!/bin/sh\n%s\n" % does)
        os.chmod(self.path("bin/hwprof"), 0o755)

    def run_sh(self, command):
        return subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, env=self.environment,
                              cwd=self.folder, timeout=120)


class Cron(Recipe):
    def test_its_lines_write_a_record_metrics_and_a_report(self):
        commands = []
        for line in (SCRIPTS / "cron").read_text().splitlines():
            if re.match(r"[A-Z]+=", line):
                name, value = line.split("=", 1)
                if name != "PATH":
                    self.environment[name] = value
            elif line and not line.startswith("#"):
                minute, hour, day, month, weekday, user, command = line.split(None, 6)
                self.assertRegex(" ".join((minute, hour, day, month, weekday)), r"^\d+ \d+ \* \* \d$")
                self.assertEqual(user, "root")
                # crontab(5): a '%' without a backslash ends the command.
                self.assertNotRegex(command, r"(?<!\\)%")
                commands.append(command.replace("\\%", "%"))
        self.assertEqual(len(commands), 2)
        self.environment.update(SHARED=self.path("shared"), METRICS=self.path("hwprof.prom"))
        os.makedirs(self.path("shared/records"))
        with open(self.path("shared/hosts"), "w") as file:
            file.write(os.uname().nodename + "\n")
        checked, merged = (self.run_sh(command) for command in commands)
        self.assertEqual(checked.stdout, "")
        self.assertIn(checked.returncode, (0, 1, 3), checked.stderr)
        self.assertEqual(merged.returncode, checked.returncode, merged.stderr)
        with open(self.path("shared/report.html")) as file:
            self.assertIn(os.uname().nodename, file.read())
        with open(self.path("hwprof.prom")) as file:
            self.assertIn("hwprof_check_outcome", file.read())


class Nhc(Recipe):
    def test_it_fails_for_a_failed_verdict_alone(self):
        line = (SCRIPTS / "nhc.conf").read_text().splitlines()[-1]
        found = re.fullmatch(r"\* \|\| check_cmd_status -t 30 -r 0 (.+)", line)
        self.assertTrue(found, line)
        for does, status in (("exit 0", 0), ("exit 1", 1), ("exit 2", 0), ("exit 3", 0), ("kill -9 $$", 0)):
            self.hwprof(does)
            self.assertEqual(self.run_sh(found.group(1)).returncode, status, does)
        os.remove(self.path("bin/hwprof"))
        self.environment["PATH"] = self.path("bin") + ":/usr/bin:/bin"
        self.assertEqual(self.run_sh(found.group(1)).returncode, 0)

    def test_the_real_check(self):
        line = (SCRIPTS / "nhc.conf").read_text().splitlines()[-1]
        status = self.run_sh(line.split("-r 0 ", 1)[1]).returncode
        self.assertIn(status, (0, 1))


def stand_in():
    """As much of ReFrame as the recipe uses: `sn` evaluates at once, where ReFrame does it later."""
    reframe, utility, sanity = (types.ModuleType(name) for name in (
        "reframe", "reframe.utility", "reframe.utility.sanity"))
    class RunOnlyRegressionTest:
        pass

    def marked(kind):
        def mark(function):
            function.kind = kind
            return function
        return mark

    def in_body(name, value):
        # ReFrame's metaclass puts these into the class's body.
        setattr(__import__("builtins"), name, value)

    def assert_found(pattern, file):
        with open(file) as text:
            return bool(re.search(pattern, text.read(), re.MULTILINE))

    def extractsingle(pattern, file, tag, conversion):
        with open(file) as text:
            return conversion(re.search(pattern, text.read(), re.MULTILINE).group(tag))

    reframe.simple_test = lambda test: test
    reframe.RunOnlyRegressionTest = RunOnlyRegressionTest
    in_body("sanity_function", marked("sanity"))
    in_body("performance_function", lambda unit: marked("performance " + unit))
    sanity.assert_found, sanity.extractsingle = assert_found, extractsingle
    reframe.utility, utility.sanity = utility, sanity
    return {"reframe": reframe, "reframe.utility": utility, "reframe.utility.sanity": sanity}


class ReFrame(Recipe):
    def setUp(self):
        super().setUp()
        modules = stand_in()
        sys.modules.update(modules)
        self.addCleanup(lambda: [sys.modules.pop(name) for name in modules])
        spec = importlib.util.spec_from_file_location("reframe_check", SCRIPTS / "reframe_check.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.test = module.BlasCheck()
        self.test.stdout = self.path("out")

    def run_with(self, command):
        done = self.run_sh(command)
        with open(self.test.stdout, "w") as file:
            file.write(done.stdout)
        return done

    def test_the_real_line_has_what_it_reads(self):
        done = self.run_with(" ".join([self.test.executable, *self.test.executable_opts]))
        self.assertEqual(self.test.optimal(), done.returncode == 0, done.stdout)
        if "gflops=-" not in done.stdout:
            self.assertGreater(self.test.gflops(), 0)
        self.assertEqual(self.test.optimal.__func__.kind, "sanity")
        self.assertEqual(self.test.gflops.__func__.kind, "performance GFLOP/s")

    def test_a_bad_line_is_no_success(self):
        self.run_with("echo verdict=unoptimised gflops=12.5 peak_fraction=0.1 factor=5 outcome=fail")
        self.assertFalse(self.test.optimal())
        self.assertEqual(self.test.gflops(), 12.5)


if __name__ == "__main__":
    main([])
