"""Runs the real hwprof binary, as a user does, in an environment that the tests control.

The binary's path is HWPROF (meson sets it). Standard library only.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["HWPROF"]
# A run as short as it gets: the ladder and a few slices a row.
DEFAULTS = {"--time-budget": "1", "--shape": "d_e=16,d_c=24,l=11,batch=4"}
BLAS_PREFIXES = ("OPENBLAS_", "BLIS_", "MKL_", "OMP_", "GOTO_", "NVPL_")


def environment(**changes):
    """This environment without anything that shapes a BLAS, plus `changes` (None removes)."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(BLAS_PREFIXES) and k != "COLUMNS"}
    for name, value in changes.items():
        if value is None:
            clean.pop(name, None)
        else:
            clean[name] = value
    return clean


def hwprof(*arguments, timeout=120, env=None, **options):
    """Runs hwprof with `arguments`; returns the completed process with text output."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.run(
        [BINARY, *arguments], capture_output=True, text=True, timeout=timeout,
        env=environment() if env is None else env, **options)


def quick(*arguments):
    """`arguments` and what makes a run short, where they do not set it themselves."""
    missing = [(k, v) for k, v in DEFAULTS.items() if k not in arguments]
    return [word for pair in missing for word in pair] + list(arguments)


def profile(*arguments, **options):
    """A quick profile as parsed JSON."""
    done = hwprof(*quick("--format", "json", *arguments), **options)
    if done.returncode != 0:
        raise AssertionError("exit %d: %s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def work_ns(row):
    """What rates are made of: CPU time, of several threads wall time."""
    return (row["cpu_time_ns"] or row["time_ns"])["median"]


class CliTest(unittest.TestCase):
    """A test with a folder of its own that must be as empty after a refused call as before."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name, content=None):
        """Path of `name` in the test's folder, with `content` (str or bytes) if given."""
        full = os.path.join(self.folder, name)
        if content is not None:
            with open(full, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return full

    def assert_refused(self, *arguments, names, code=2, **options):
        """Exit `code`, one error that names each of `names`, nothing on standard output, no file."""
        before = sorted(os.listdir(self.folder))
        done = hwprof(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("hwprof: error: ", done.stderr)
        for name in [names] if isinstance(names, str) else names:
            self.assertIn(name, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before, "left something behind")
        return done


def main():
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
