#!/usr/bin/env python3
"""Real libraries under `hwprof run`: every verdict must be right, as root and as nobody.

Prints the table as markdown. HWPROF names the binary; arguments pick cases by a part of the name.
Exit 77 (skipped) where the libraries are not there: scripts/setup --matrix.
"""
import json
import os
import platform
import pwd
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from build import Programs  # noqa: E402
from cases import Cpu, all_cases  # noqa: E402
from libraries import Missing, default_root  # noqa: E402

SKIPPED = 77
SHAPES_BLAS = ("OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "KMP_", "NVPL_", "ATLAS_", "LD_")
FULL_WIDTH_FRACTION = 0.55  # of the FMA peak: docs/report.md
FEW_SAMPLES = 100


def environment(case):
    env = {k: v for k, v in os.environ.items() if not k.startswith(SHAPES_BLAS)}
    if case.folders:
        env["LD_LIBRARY_PATH"] = ":".join(str(folder) for folder in case.folders)
    env.update(case.env)
    env["HOME"] = "/nonexistent"  # nobody has none, and Python looks for one
    return env


def observe(case, user, folder):
    """The report of one run as parsed JSON."""
    output = os.path.join(folder, "report.json")
    rights = {}
    if user != "root":
        entry = pwd.getpwnam(user)
        rights = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    done = subprocess.run(
        [os.environ["HWPROF"], "run", "--no-ladder", "--no-counters", "--format", "json", "-o",
         output, "--", *case.command],
        env=environment(case), capture_output=True, text=True, timeout=120, cwd=folder,
        stdin=subprocess.DEVNULL, **rights)
    if done.returncode != 0:
        raise AssertionError("exit %d: %s" % (done.returncode, done.stderr.strip()[-400:]))
    with open(output, encoding="utf-8") as file:
        report = json.load(file)
    os.unlink(output)
    return report


def hottest_loops(blas):
    loops = blas["evidence"]["executed"]["loops"]
    return loops[0] if loops else {"width": None, "fma": None}


def wrongs(case, blas):
    """What the report says otherwise than the table, a sentence each."""
    executed = blas["evidence"]["executed"]
    loops = hottest_loops(blas)
    found = []

    def expect(what, right, got):
        if not right:
            found.append("%s is %s" % (what, got))

    # Nothing is measured here: where calls were not timed either, the width alone proves no speed.
    unknown = case.verdict == "optimal" and (blas["why"] or "").startswith("widest kernels, speed")
    # Where they were, speed decides: on a CPU that does 512 bits in two steps, kernels of 256 bits
    # are as good.
    fast = case.verdict == "suboptimal" and blas["verdict"] == "optimal" and \
        (blas["evidence"]["performing"]["peak_fraction"] or 0) >= FULL_WIDTH_FRACTION
    # Where the kernel does not tell an ordinary user which programs ran.
    unseen = case.verdict == "not-called" and blas["verdict"] == "inconclusive" and \
        blas["evidence"]["called"]["executions"] is None
    expect("verdict", blas["verdict"] == case.verdict or unknown or fast or unseen,
           "%s, not %s" % (blas["verdict"], case.verdict))
    expect("provider", blas["provider"] == case.provider,
           "%s, not %s" % (blas["provider"], case.provider))
    if case.cores is not None:
        expect("core", blas["core"] in case.cores, "%s, not one of %s" % (blas["core"], case.cores))
    if case.width is not None and (executed["samples"] or 0) >= FEW_SAMPLES:
        expect("width", loops["width"] == case.width,
               "%s, not %s" % (loops["width"], case.width))
        if case.fma is not None:
            expect("FMA", loops["fma"] == case.fma, loops["fma"])
    if case.finding and not unseen:
        expect("no finding with '%s'" % case.finding,
               any(case.finding in finding for finding in blas["findings"]), blas["findings"])
    return found


def row(case, user, blas, wrong):
    loops = hottest_loops(blas)
    called = blas["evidence"]["called"]
    calls = sum(site["count"] for site in called["calls"])
    width = loops["width"] or "-"
    if loops["fma"]:
        width += " FMA"
    cells = [case.name, user, blas["verdict"], blas["provider"] or "-", blas["core"] or "-", width,
             "%s (%s)" % (calls, called["how"]), "; ".join(wrong) or "right"]
    return "| %s |" % " | ".join(cells)


def run_all(cases, users, folder):
    print("| program | user | verdict | provider | core | hot loop | calls | |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    failed = total = 0
    for case in cases:
        for user in users:
            total += 1
            try:
                blas = observe(case, user, folder)["blas"]
                wrong = wrongs(case, blas)
                print(row(case, user, blas, wrong), flush=True)
            except (AssertionError, subprocess.TimeoutExpired, OSError) as error:
                wrong = [str(error)]
                print("| %s | %s | - | - | - | - | - | %s |" % (case.name, user, error), flush=True)
            failed += bool(wrong)
    print("\n%d verdicts, %d wrong" % (total, failed))
    return 1 if failed or not total else 0


def main(words):
    if platform.machine() != "x86_64":
        print("the expectations of the matrix are those of x86-64")
        return SKIPPED
    try:
        programs = Programs(default_root())
        cases = [case for case in all_cases(Cpu.here(), programs)
                 if all(word in case.name for word in words)]
    except Missing as missing:
        print(missing)
        return SKIPPED
    users = ["root", "nobody"] if os.geteuid() == 0 else [pwd.getpwuid(os.geteuid()).pw_name]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        return run_all(cases, users, folder)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
