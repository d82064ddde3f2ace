"""CMake and pkg-config find an installed libhwprof, wherever it lies; the memory hook is linked.

BUILD, SOURCE, CXX and MESON are set by meson. Standard library only.
"""

import os
import pathlib
import shutil
import tempfile
import unittest

from command import run

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(user CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(hwprof %s REQUIRED CONFIG)
add_executable(regions "%s/examples/regions.cpp")
target_link_libraries(regions PRIVATE hwprof::hwprof %s)
"""


class InstalledLibrary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run(os.environ["MESON"], "install", "-C", os.environ["BUILD"], "--no-rebuild",
            "--tags", "library,devel", "--destdir", str(cls.folder / "first"))
        # Nothing knows where it was first: an installation may be moved.
        cls.root = cls.folder / "moved"
        (cls.folder / "first").rename(cls.root)
        (config,) = cls.root.rglob("hwprofConfig.cmake")
        cls.lib = config.parents[2]
        cls.config = config.parent
        cls.environment = {k: v for k, v in os.environ.items() if not k.startswith("HWPROF_")}

    def cmake(self, version="", targets=""):
        if shutil.which("cmake") is None:
            self.skipTest("cmake is not installed")
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "CMakeLists.txt").write_text(
            PROJECT % (version, os.environ["SOURCE"], targets), encoding="utf-8")
        run("cmake", "-S", str(folder), "-B", str(folder / "build"),
            "-Dhwprof_DIR=%s" % self.config,
            "-DCMAKE_CXX_COMPILER=%s" % os.environ["CXX"].split()[-1], env=self.environment)
        run("cmake", "--build", str(folder / "build"), env=self.environment)
        return folder / "build" / "regions"

    def check(self, program, memory):
        text = run(str(program), env=dict(self.environment, LD_LIBRARY_PATH=str(self.lib)))
        self.assertRegex(text, r"(?m)^step +10 +1 ")
        needed = run("readelf", "-d", str(program))
        self.assertIn("libhwprof.so.0", needed)
        self.assertEqual("libhwprof-memory.so.0" in needed, memory)

    def test_cmake(self):
        self.check(self.cmake(), memory=False)

    def test_cmake_with_the_memory_hook(self):
        self.check(self.cmake("0.1", "hwprof::memory"), memory=True)

    def test_cmake_refuses_another_version(self):
        for version in ("0.2", "1.0", "0.1.99"):
            with self.assertRaisesRegex(AssertionError, "(?s)requested version"):
                self.cmake(version)

    def test_cmake_says_what_is_missing(self):
        header = next(self.root.rglob("hwprof.h"))
        header.rename(header.with_suffix(".away"))
        self.addCleanup(header.with_suffix(".away").rename, header)
        with self.assertRaisesRegex(AssertionError, r"is missing:\s+install hwprof whole"):
            self.cmake()

    def test_pkg_config(self):
        environment = dict(self.environment, PKG_CONFIG_SYSROOT_DIR=str(self.root),
                           PKG_CONFIG_LIBDIR=str(self.lib / "pkgconfig"))
        for packages in (["hwprof"], ["hwprof", "hwprof-memory"]):
            flags = run("pkg-config", "--cflags", "--libs", *packages, env=environment).split()
            program = self.folder / "by-pkg-config"
            run(*os.environ["CXX"].split(), "-std=c++20",
                os.path.join(os.environ["SOURCE"], "examples", "regions.cpp"), "-o", str(program),
                *flags, env=environment)
            self.check(program, memory=len(packages) == 2)


if __name__ == "__main__":
    unittest.main()
