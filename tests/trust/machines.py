#!/usr/bin/env python3
"""The test suite as other machines would see it: with libpfm4's tables of other CPUs, and with
another BLAS as what programs get by default.

    tests/trust/machines.py BUILD [ARGUMENT-OF-MESON-TEST...]

A default BLAS is put in place as its package does, in copies of /etc/alternatives and of the
loader's cache that are mounted over them in a mount namespace of its own (asks for root), so that
the machine keeps its own. The last line of each run is that of meson's count."""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "matrix"))
import libraries  # noqa: E402

# As libpfm4 calls them: an Intel client and an Intel server, Zen 2 and Zen 4.
CPUS = ("skl", "icx", "amd64_fam17h_zen2", "amd64_fam19h_zen4")
# Package and where it keeps what programs get as libblas.so.3.
BLAS = {"reference": ("libblas3", "blas"), "OpenBLAS": (libraries.OPENBLAS, "openblas-pthread"),
        "ATLAS": ("libatlas3-base", "atlas")}


ALTERNATIVES = pathlib.Path("/etc/alternatives")


def machine_with(blas, folder):
    """Copies of /etc/alternatives and of the loader's cache in `folder`, by which programs get that
    file; None where the machine's libblas.so.3 is no alternative."""
    links = list(ALTERNATIVES.glob("libblas.so.3*"))
    if not links:
        return None
    shutil.copytree(ALTERNATIVES, os.path.join(folder, "alternatives"), symlinks=True)
    for link in links:
        copy = pathlib.Path(folder, "alternatives", link.name)
        copy.unlink()
        copy.symlink_to(blas)
    # What the library needs lies beside it or one folder above.
    subprocess.run(["ldconfig", "-X", "-C", os.path.join(folder, "ld.so.cache"),
                    str(blas.parent), str(blas.parent.parent)], check=True)
    return folder


def counts(build, arguments, variables, mounted=None):
    """Of one run: (passed, failed, skipped) and the names of what failed."""
    command = ["meson", "test", "-C", build, "--no-rebuild", *arguments]
    if mounted:
        command = ["unshare", "--mount", "sh", "-c",
                   'for each in alternatives ld.so.cache; do mount --bind "$0/$each" "/etc/$each" '
                   '|| exit; done; exec "$@"', mounted, *command]
    done = subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    said = {word: 0 for word in ("Ok", "Expected Fail", "Fail", "Unexpected Pass", "Skipped",
                                 "Timeout")}
    for word, number in re.findall(r"^([A-Z][A-Za-z ]+):\s+(\d+)", done.stdout, re.MULTILINE):
        said[word] = int(number)
    failed = re.findall(r"^\s*\d+/\d+ (.*?)\s+(?:FAIL|TIMEOUT|ERROR)\b", done.stdout, re.MULTILINE)
    if sum(said.values()) == 0:
        sys.exit(done.stdout or "meson test said nothing (exit code %d)" % done.returncode)
    return (said["Ok"], said["Fail"] + said["Timeout"] + said["Expected Fail"], said["Skipped"],
            sorted(set(failed)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", help="a build directory of scripts/test, up to date")
    parser.add_argument("--only", default="", help="of these words: " + ", ".join((*CPUS, *BLAS)))
    options, arguments = parser.parse_known_args()
    cases = [("as it is", {}, None)]
    cases += [(cpu, {"LIBPFM_FORCE_PMU": cpu}, None) for cpu in CPUS]
    folders = tempfile.TemporaryDirectory()
    for name, (package, folder) in BLAS.items():
        root = libraries.default_root() / package
        found = sorted(root.glob("usr/lib/*/%s/libblas.so.3" % folder))
        mounted = None
        if found and os.geteuid() == 0:
            mounted = machine_with(found[0].resolve(), os.path.join(folders.name, name))
        if mounted:
            cases.append((name + " by default", {}, mounted))
        else:
            print("%s by default: not run: needs root, libblas.so.3 as an alternative, and "
                  "scripts/setup matrix" % name, flush=True)
    failures = 0
    for name, more, mounted in cases:
        if options.only and not any(name.startswith(word) for word in options.only.split(",")):
            continue
        passed, failed, skipped, which = counts(options.build, arguments,
                                                dict(os.environ, **more), mounted)
        failures += failed
        print("%s: %d passed, %d failed, %d skipped%s" % (
            name, passed, failed, skipped, ": " + ", ".join(which) if which else ""), flush=True)
    folders.cleanup()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
