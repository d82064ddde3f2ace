"""Recipes and packages name the version and the dependencies that the project has.

SOURCE and VERSION are set by meson. Standard library only.
"""

import ast
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["SOURCE"])
VERSION = os.environ["VERSION"]
PACKAGING = SOURCE / "packaging"
# Spack's names of what Debian packages of scripts/packages are; "": of the system, or a tool that
# its build systems have.
SPACK = {"g++": "cxx", "pkg-config": "pkgconfig", "ninja-build": "", "linux-libc-dev": "",
         "libpfm4-dev": "libpfm4", "libspdlog-dev": "spdlog", "libfmt-dev": "fmt",
         "libcli11-dev": "cli11", "nlohmann-json3-dev": "nlohmann-json", "libhwy-dev": "highway",
         "libhwloc-dev": "hwloc", "libexpected-dev": "tl-expected", "libicu-dev": "icu4c",
         "zlib1g-dev": "zlib-api", "libelf-dev": "elfutils", "libdw-dev": "elfutils",
         "libseccomp-dev": "libseccomp", "libzydis-dev": "zydis",
         # Pages without charts are built where they are missing.
         "esbuild": "", "node-d3": ""}
EASYBUILD = {"cmake": "CMake", "meson": "Meson", "ninja-build": "Ninja", "pkg-config": "pkgconf",
             "libhwloc-dev": "hwloc", "libicu-dev": "ICU", "zlib1g-dev": "zlib",
             "libelf-dev": "elfutils", "libdw-dev": "elfutils",
             "g++": "", "linux-libc-dev": "", "esbuild": "", "node-d3": ""}


def needed():
    """Debian's names of what hwprof is built with."""
    rows = [line.split() for line in (SOURCE / "scripts/packages").read_text().splitlines()]
    return {row[1] for row in rows if row and row[0] == "build"}


class Recipes(unittest.TestCase):
    def test_debian_builds_with_what_setup_installs(self):
        text = (PACKAGING / "debian/control").read_text()
        listed = re.search(r"Build-Depends:\n((?: .*\n)+)", text).group(1)
        names = {re.match(r"[a-z0-9+.-]+", line.strip()).group() for line in listed.splitlines()}
        # A compiler is part of every Debian build; python3 of every machine that runs meson.
        self.assertEqual(names - {"debhelper-compat", "dh-python", "python3"}, needed() - {"g++"})

    def test_spack_names_what_is_needed(self):
        text = (PACKAGING / "spack/package.py").read_text()
        ast.parse(text)
        listed = set(re.findall(r'depends_on\("([a-z0-9-]+)', text)) - {"python"}
        self.assertEqual(listed, {SPACK.get(name, name) for name in needed()} - {""})

    def test_easybuild_names_what_is_needed(self):
        path = PACKAGING / ("easybuild/hwprof-%s-GCC-12.3.0.eb" % VERSION)
        recipe = {}
        exec(compile(path.read_text(), str(path), "exec"), recipe)  # a recipe is Python
        listed = {name for name, *_ in recipe["builddependencies"] + recipe["dependencies"]}
        listed |= {name for name, _ in recipe["osdependencies"]}
        self.assertEqual(listed - {"Python"},
                         {EASYBUILD.get(name, name) for name in needed()} - {""})
        self.assertEqual(recipe["version"], VERSION)

    def test_all_have_the_version_of_the_project(self):
        for path, pattern in (("packaging/debian/changelog", r"hwprof \(([^)]+)\)"),
                              ("packaging/spack/package.py", r'version\("([^"]+)"\)'),
                              ("python/pyproject.toml", r'(?m)^version = "([^"]+)"')):
            self.assertEqual(re.search(pattern, (SOURCE / path).read_text()).group(1), VERSION, path)


class SourcesOfPython(unittest.TestCase):
    def test_sdist_has_the_package_and_the_same_bytes_each_time(self):
        pythons = [python for python in ("python3", "/usr/bin/python3") if subprocess.run(
            [python, "-c", "import flit_core"], capture_output=True).returncode == 0]
        if not pythons:
            self.skipTest("flit_core is not installed (scripts/setup package)")
        made = []
        for _ in range(2):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            subprocess.run(
                [pythons[0], "-B", "-c", "import sys; from flit_core import buildapi; "
                 "buildapi.build_sdist(sys.argv[1])", folder.name], check=True,
                cwd=SOURCE / "python", capture_output=True,
                env=dict(os.environ, SOURCE_DATE_EPOCH="86400"))
            made.append(pathlib.Path(folder.name) / ("hwprof-%s.tar.gz" % VERSION))
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
        with tarfile.open(made[0]) as archive:
            names = {pathlib.PurePosixPath(name).relative_to("hwprof-" + VERSION)
                     for name in archive.getnames()}
        wanted = {pathlib.PurePosixPath("hwprof", path.name)
                  for path in (SOURCE / "python/hwprof").glob("*.py")}
        self.assertGreater(len(wanted), 5)
        self.assertEqual(names - wanted, {pathlib.PurePosixPath("PKG-INFO"),
                                          pathlib.PurePosixPath("pyproject.toml")})
        self.assertEqual(wanted - names, set())


if __name__ == "__main__":
    unittest.main()
