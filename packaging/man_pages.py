"""Writes the manual pages of a built hwprof: hwprof.1 and one a command, as it lists them itself.

usage: man_pages.py HWPROF FOLDER     FOLDER below the prefix of `meson install`, or on its own
Run by `meson install`. Standard library only.
"""

import os
import pathlib
import subprocess
import sys


def printed(program, *arguments):
    return subprocess.run([program, *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


def commands(program):
    """What a shell offers for the first word."""
    return [line.split("\t")[0] for line in printed(program, "--complete", "").splitlines()]


def main(program, folder):
    folder = pathlib.Path(os.environ.get("MESON_INSTALL_DESTDIR_PREFIX", ""), folder)
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"hwprof.1": printed(program, "--man")}
    for command in commands(program):
        pages["hwprof-%s.1" % command] = printed(program, "--man", command)
    for name, text in pages.items():
        path = folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
