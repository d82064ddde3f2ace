#!/usr/bin/env python3
"""axe-core, which looks for barriers to people with assistive technology: fetched, never committed.

Called as a program it unpacks axe-core from the npm registry into build/browser (HWPROF_BUILD_DIR
moves build) with the npm that is there; scripts/setup browser does so.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

PACKAGE = "axe-core@4"


class Missing(Exception):
    """axe-core is not there, or cannot be had here."""


def default_path():
    here = pathlib.Path(__file__).resolve().parents[2]
    return pathlib.Path(os.environ.get("HWPROF_BUILD_DIR") or here / "build") / "browser" / "axe.min.js"


def fetch(path):
    """Puts axe.min.js and its licence beside it to `path`, if it is not there yet."""
    if path.exists():
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Missing("no npm here")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        packed = list(pathlib.Path(folder).glob("*.tgz"))
        if done.returncode != 0 or not packed:
            raise Missing("npm could not fetch %s: %s" % (PACKAGE, done.stderr.strip()[-200:]))
        with tarfile.open(packed[0]) as archive:
            for name in ["LICENSE", path.name]:
                content = archive.extractfile("package/" + name).read()
                target = path.with_name("axe-core." + name if name == "LICENSE" else name)
                part = target.with_name(target.name + ".part")
                part.write_bytes(content)
                part.replace(target)


def source(path=None):
    """The text of the script."""
    path = path or default_path()
    if not path.exists():
        raise Missing("no axe-core in %s (scripts/setup browser fetches it, with npm)" % path.parent)
    return path.read_text(encoding="utf-8")


if __name__ == "__main__":
    try:
        fetch(default_path())
    except (Missing, OSError, subprocess.SubprocessError) as error:
        sys.exit("hwprof: %s" % error)
