"""The manual pages say what --help says, and are well-formed for man-db and mandoc where they are.

HWPROF is set by meson. Standard library only.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "packaging"))
import man_pages  # noqa: E402

HWPROF = os.environ["HWPROF"]


def page_of(*command, **environment):
    return subprocess.run([HWPROF, "--man", *command], check=True, capture_output=True, text=True,
                          env=dict(os.environ, **environment)).stdout


def plain(page):
    """The words of a page, without roff."""
    text = re.sub(r"\\f[BIR]", "", page)
    text = re.sub(r"(?m)^\.(TP|nf|fi|sp|PP)\n", "", text).replace("\\&", "")
    for escape, sign in (("\\-", "-"), ("\\(ti", "~"), ("\\(ha", "^"), ("\\(ga", "`"),
                         ("\\(aq", "'"), ("\\(dq", '"'), ("\\e", "\\")):
        text = text.replace(escape, sign)
    return " ".join(text.split())


def help_of(command):
    return man_pages.printed(HWPROF, command, "--help")


def help_entries(command):
    """What --help has of each option, as one line: "--pin CPUS Run on ...", "-q,--quiet Log"."""
    entries = []
    for line in help_of(command).splitlines():
        if re.match(r"  -", line):
            entries.append(line)
        elif entries and line.startswith(" " * 20):
            entries[-1] += " " + line
        elif entries and not line.startswith("  "):
            entries.append("")  # a title: what follows is no option's
    return [" ".join(entry.split()).replace(",--", ", --") for entry in entries if entry]


class ManualPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.commands = man_pages.commands(HWPROF)

    def write(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        man_pages.main(HWPROF, folder.name)
        return sorted(pathlib.Path(folder.name).iterdir())

    def test_each_command_of_help_has_a_page(self):
        listed = re.findall(r"(?m)^  ([a-z-]+) +[A-Z]", man_pages.printed(HWPROF, "--help"))
        self.assertGreater(len(listed), 5)
        self.assertEqual(self.commands, listed)
        names = {path.name for path in self.write()}
        self.assertEqual(names, {"hwprof.1"} | {"hwprof-%s.1" % name for name in listed})
        whole = plain(page_of())
        for name in listed:
            self.assertIn("hwprof-%s (1)" % name, whole)

    def test_each_option_of_help_is_in_the_page_with_its_text(self):
        for command in self.commands:
            entries, page = help_entries(command), plain(page_of(command))
            self.assertGreater(len(entries), 3, command)
            for entry in entries:
                self.assertIn(entry, page, command)

    def test_what_stands_below_the_options_is_in_the_page(self):
        page = plain(page_of("blas"))
        self.assertIn("verdict=optimal provider=openblas", page)
        self.assertIn("Exit codes: 0 optimal, 1 not", page)

    def test_the_date_is_that_of_a_reproducible_build(self):
        self.assertIn(" 1 1970-01-02 ", page_of("run", SOURCE_DATE_EPOCH="86400").splitlines()[0])
        self.assertEqual(page_of("run", SOURCE_DATE_EPOCH="86400"),
                         page_of("run", SOURCE_DATE_EPOCH="86401"))

    def test_an_unknown_command_has_none(self):
        done = subprocess.run([HWPROF, "--man", "rum"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("unknown command 'rum'", done.stderr)
        self.assertIn("did you mean run?", done.stderr)

    def lint(self, *command):
        if shutil.which(command[0]) is None:
            self.skipTest(command[0] + " is not installed")
        for path in self.write():
            done = subprocess.run([*command, str(path)], capture_output=True, text=True,
                                  env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80"))
            self.assertEqual((done.returncode, done.stderr), (0, ""), path.name)
            yield path, done.stdout

    def test_man_db_has_no_warning(self):
        for path, text in self.lint("man", "--warnings", "-l"):
            self.assertIn("NAME", text, path.name)

    def test_mandoc_has_no_warning(self):
        for path, text in self.lint("mandoc", "-Tlint", "-Wwarning"):
            self.assertEqual(text, "", path.name)


if __name__ == "__main__":
    unittest.main()
