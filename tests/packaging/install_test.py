"""Installs the library into an empty folder, and builds and runs the example against it as a user does.

BUILD, SOURCE, CXX, MESON and HWPROF_LIBRARY are set by meson. Standard library only.
"""

import json
import os
import tempfile
import unittest

from command import run

EXAMPLE = os.path.join(os.environ["SOURCE"], "examples", "regions.cpp")


class InstalledLibrary(unittest.TestCase):
    """Everything happens in a folder that goes away."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        root = os.path.join(cls.folder.name, "root")
        # The library and what compiles against it, not the program: it may not be built yet.
        run(os.environ["MESON"], "install", "-C", os.environ["BUILD"], "--no-rebuild",
            "--tags", "library,devel", "--destdir", root)
        found = [os.path.join(path, "hwprof.pc") for path, _, files in os.walk(root)
                 if "hwprof.pc" in files]
        assert len(found) == 1, found
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("HWPROF_")}
        cls.environment["PKG_CONFIG_SYSROOT_DIR"] = root
        cls.environment["PKG_CONFIG_LIBDIR"] = os.path.dirname(found[0])
        cls.environment["LD_LIBRARY_PATH"] = os.path.dirname(os.path.dirname(found[0]))
        cls.binary = os.path.join(cls.folder.name, "regions")
        flags = run("pkg-config", "--cflags", "--libs", "hwprof", env=cls.environment).split()
        run(*os.environ["CXX"].split(), "-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
            EXAMPLE, "-o", cls.binary, *flags, cwd=cls.folder.name, env=cls.environment)

    def report(self, **environment):
        """What the example leaves in a file at its end."""
        path = os.path.join(self.folder.name, "report.json")
        run(self.binary, env=dict(self.environment, HWPROF_REGIONS=path, **environment))
        with open(path) as file:
            return json.load(file)

    def test_example_is_short(self):
        with open(EXAMPLE) as file:
            self.assertLess(len(file.readlines()), 30)

    def test_example_prints_its_table(self):
        text = run(self.binary, env=self.environment)
        self.assertRegex(text, r"(?m)^step +10 +1 ")
        self.assertRegex(text, r"(?m)^  fill +10 +1 ")
        self.assertRegex(text, r"(?m)^  dot +10 +1 .* [0-9.]+ +[0-9.]+$")
        self.assertIn("Subtracted for each entry", text)

    def test_report_at_exit_holds_the_same_regions(self):
        report = self.report()
        self.assertEqual(report["schema"], "hwprof.regions/1")
        self.assertEqual([r["path"] for r in report["regions"]],
                         [["step"], ["step", "fill"], ["step", "dot"]])
        self.assertEqual(report["regions"][2]["flops"], 10 * 2 * 2**20)
        for event, known in zip(("task-clock", "page-faults"), report["events"]):
            self.assertEqual(known["name"], event)
            if known["status"] != "ok":
                self.assertTrue(known["reason"])
            else:
                self.assertIsNotNone(report["regions"][0]["events"][event]["total"])

    def test_only_the_c_interface_is_exported(self):
        symbols = run("nm", "-D", "--defined-only", os.environ["HWPROF_LIBRARY"])
        names = {line.split()[-1] for line in symbols.splitlines()}
        self.assertEqual({n for n in names if not n.startswith("hwprof_")}, set())
        self.assertIn("hwprof_enter", names)

    def test_soname_has_a_version(self):
        self.assertIn("libhwprof.so.0", run("readelf", "-d", self.binary))


if __name__ == "__main__":
    unittest.main()
