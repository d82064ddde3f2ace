#!/usr/bin/env python3
"""The real libraries of the matrix, from Debian, unpacked and never installed.

Installing a BLAS changes what the machine's programs get. So each package is downloaded with apt
(which checks its signature) and unpacked into a folder of its own: ROOT/PACKAGE/usr/lib/...
"""
import ctypes
import os
import pathlib
import subprocess
import sys

OPENBLAS = "libopenblas0-pthread"
PACKAGES = (
    OPENBLAS, "libopenblas0-serial", "libopenblas0-openmp",
    "libopenblas64-0-pthread", "libopenblas-pthread-dev", "libblis4-pthread", "libatlas3-base",
    "libblas3", "liblapack3", "libeigen3-dev",
)


class Missing(Exception):
    """The libraries are not there, or cannot be had here."""


def default_root():
    here = pathlib.Path(__file__).resolve().parents[2]
    return pathlib.Path(os.environ.get("HWPROF_BUILD_DIR") or here / "build") / "matrix"


def system_has_openblas():
    try:
        ctypes.CDLL("libopenblas.so.0")
    except OSError:
        return False
    return True


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
        done = subprocess.run(["apt-get", "download", "-q", package], cwd=downloads,
                              capture_output=True, text=True)
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


def main(words):
    root = default_root()
    if words == ["--for-tests"]:
        if not system_has_openblas():
            fetch(root, (OPENBLAS,))
    elif words == ["--folder-for-tests"]:
        print(folder_for_tests(root))
    elif not words:
        fetch(root)
    else:
        sys.exit("usage: libraries.py [--for-tests | --folder-for-tests]")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Missing, OSError, subprocess.CalledProcessError) as failure:
        sys.exit("hwprof: %s" % failure)
