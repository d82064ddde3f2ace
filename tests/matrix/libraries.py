#!/usr/bin/env python3
"""The real libraries of the matrix, from Debian, unpacked and never installed.

Installing a BLAS changes what the machine's programs get. So each package is downloaded with apt
(which checks its signature) and unpacked into a folder of its own: ROOT/PACKAGE/usr/lib/...
"""
import os
import pathlib
import subprocess
import sys

PACKAGES = (
    "libopenblas0-pthread", "libopenblas0-serial", "libopenblas0-openmp",
    "libopenblas64-0-pthread", "libopenblas-pthread-dev", "libblis4-pthread", "libatlas3-base",
    "libblas3", "liblapack3", "libeigen3-dev",
)


class Missing(Exception):
    """The libraries are not there, or cannot be had here."""


def default_root():
    here = pathlib.Path(__file__).resolve().parents[2]
    return pathlib.Path(os.environ.get("HWPROF_BUILD_DIR") or here / "build") / "matrix"


def fetch(root):
    """Downloads and unpacks what `root` does not have yet."""
    downloads = root / "packages"
    downloads.mkdir(parents=True, exist_ok=True)
    for package in PACKAGES:
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


if __name__ == "__main__":
    try:
        fetch(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default_root())
    except (Missing, OSError, subprocess.CalledProcessError) as failure:
        sys.exit("hwprof: %s" % failure)
