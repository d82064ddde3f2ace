#!/usr/bin/env python3
"""The real libraries of the matrix, from Debian, unpacked and never installed.

Installing a BLAS changes what the machine's programs get. So each package is downloaded with apt
(which checks its signature) and unpacked into a folder of its own: ROOT/PACKAGE/usr/lib/...
"""
import ctypes
import os
import pathlib
import platform
import subprocess
import sys

OPENBLAS, SERIAL = "libopenblas0-pthread", "libopenblas0-serial"
PACKAGES = (
    OPENBLAS, SERIAL, "libopenblas0-openmp",
    "libopenblas64-0-pthread", "libopenblas-pthread-dev", "libblis4-pthread", "libatlas3-base",
    "libblas3", "liblapack3", "libeigen3-dev",
)
# What OpenBLAS needs that a machine without any BLAS may lack: soname and package.
NEEDED = {"libgfortran.so.5": "libgfortran5"}
if platform.machine() == "x86_64":
    NEEDED["libquadmath.so.0"] = "libquadmath0"


class Missing(Exception):
    """The libraries are not there, or cannot be had here."""


def widest_core():
    """A core type of OpenBLAS for this CPU's vectors: an OpenBLAS that is older than the CPU may choose a narrow
    one by itself. "": that choice will do."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        flags = set(file.read().split())
    if platform.machine() != "x86_64" or not {"avx2", "fma"} <= flags:
        return ""
    return "SkylakeX" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags else "Haswell"


def default_root():
    here = pathlib.Path(__file__).resolve().parents[2]
    return pathlib.Path(os.environ.get("HWPROF_BUILD_DIR") or here / "build") / "matrix"


def loader_has(soname):
    try:
        ctypes.CDLL(soname)
    except OSError:
        return False
    return True


def system_has_openblas():
    return loader_has("libopenblas.so.0")


def folder_for_tests(root):
    """Of the OpenBLAS that the unit tests take where the machine has none; "" where it has one."""
    if system_has_openblas():
        return ""
    try:
        return str(library_folder(root, OPENBLAS, "libopenblas.so.0"))
    except Missing:
        return ""


def fetch(root, packages=PACKAGES):
    """Downloads and unpacks what `root` does not have yet."""
    downloads = root / "packages"
    downloads.mkdir(parents=True, exist_ok=True)
    for package in packages:
        if (root / package).is_dir():
            continue
        # Of this machine's architecture, where dpkg knows several.
        native = subprocess.run(["dpkg", "--print-architecture"], check=True,
                                capture_output=True, text=True).stdout.strip()
        done = subprocess.run(["apt-get", "download", "-q", package + ":" + native],
                              cwd=downloads, capture_output=True, text=True)
        files = sorted(downloads.glob(package + "_*.deb"))
        if done.returncode != 0 or not files:
            raise Missing("cannot download %s: %s" % (package, done.stderr.strip()))
        unpacked = root / (package + ".part")
        subprocess.run(["dpkg-deb", "-x", str(files[-1]), str(unpacked)], check=True)
        unpacked.rename(root / package)  # whole or not there


def library_folder(root, package, name):
    """Folder of `name` in an unpacked package."""
    found = sorted((root / package).glob("usr/lib/**/" + name))
    if not found:
        raise Missing("%s has no %s: run scripts/setup --matrix" % (package, name))
    return found[0].parent


def own_file(root):
    """hwprof's own OpenBLAS, with what it needs beside it. hwprof is told this path when it is
    configured (src/meson.build), whether the file is there or not."""
    return root / "own" / "libopenblas.so.0"


def link_into(root, folder, needed):
    """Links each soname of `needed`, from its package, where the loader looks for the library."""
    fetch(root, needed.values())
    folder.mkdir(exist_ok=True)
    for soname, package in needed.items():
        link = folder / soname
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(library_folder(root, package, soname) / soname, folder))


def needed_here():
    return {soname: package for soname, package in NEEDED.items() if not loader_has(soname)}


def make_own(root):
    """Where the machine has no OpenBLAS, hwprof still compares with one."""
    if not system_has_openblas():
        link_into(root, own_file(root).parent, {**needed_here(), "libopenblas.so.0": OPENBLAS})


def make_for_tests(root):
    """Where the machine has no OpenBLAS, the unit tests load one by LD_LIBRARY_PATH."""
    if not system_has_openblas():
        fetch(root, (OPENBLAS,))
        link_into(root, pathlib.Path(folder_for_tests(root)), needed_here())


def fleet_folder(root, package):
    """What programs of a node of the suite `fleet` get."""
    return library_folder(root, package, "libopenblas.so.0")


def make_for_fleet(root):
    """Also where the machine has an OpenBLAS: a node of the suite gets one, whatever others get."""
    fetch(root, (OPENBLAS, SERIAL))
    for package in (OPENBLAS, SERIAL):
        link_into(root, fleet_folder(root, package), needed_here())


def main(words):
    root = default_root()
    if words == ["--for-tests"]:
        make_for_tests(root)
    elif words == ["--for-fleet"]:
        make_for_fleet(root)
    elif words == ["--folder-for-tests"]:
        print(folder_for_tests(root))
    elif words == ["--own"]:
        make_own(root)
    elif words == ["--own-file"]:
        print(own_file(root))
    elif not words:
        fetch(root)
    else:
        sys.exit("usage: libraries.py [--for-tests | --for-fleet | --folder-for-tests | --own | --own-file]")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Missing, OSError, subprocess.CalledProcessError) as failure:
        sys.exit("hwprof: %s" % failure)
