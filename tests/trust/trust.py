#!/usr/bin/env python3
"""Whether hwprof's numbers and intervals can be believed, measured on the machine at hand: the
figures of docs/trust.md. No test of the suite, since it takes minutes and asks for a CPU of its own.

    tests/trust/trust.py HWPROF beside-load     the fused kernel alone, and beside two busy loops
    tests/trust/trust.py HWPROF coverage        of N runs: intervals that hold the median of the runs
    tests/trust/trust.py HWPROF same-binary     of N runs: ordered pairs in which compare alarms
    tests/trust/trust.py HWPROF factor          what hwprof run foretells of three programs, and what comes
    tests/trust/trust.py HWPROF slower          by turns, S seconds: how often a program that is made
                                                5 % slower is found, and one that is not; in slices
                                                with --slice MS

Options of hwprof profile may follow behind --.
"""

import argparse
import collections
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile


def environment():
    """Without variables that shape a BLAS or cap its vectors."""
    prefixes = ("OPENBLAS", "MKL_", "BLIS_", "OMP_", "GOTO_")
    return {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}


def profile(options, *more):
    done = subprocess.run(
        [options.hwprof, "--pin", str(options.cpu), "--no-ladder", "--quiet", "--format", "json",
         "--time-budget", str(options.seconds), *options.arguments, *more],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit("hwprof: exit %d: %s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def busy_loops(cpu, count):
    return [subprocess.Popen(["taskset", "-c", str(cpu), sys.executable, "-c", "while True: pass"])
            for _ in range(count)]


class Load:
    """Busy loops on the measured CPU while the block runs."""

    def __init__(self, options, count):
        self.options, self.count, self.loops = options, count, []

    def __enter__(self):
        self.loops = busy_loops(self.options.cpu, self.count)

    def __exit__(self, *_):
        for loop in self.loops:
            loop.kill()
            loop.wait()


def name_of(row):
    return "%s %s" % (row["op"], row["variant"])


def report(rows):
    width = max(len(str(row[0])) for row in rows)
    for name, *cells in rows:
        print(str(name).ljust(width), *cells, sep="  ")


def beside_load(options):
    fractions = {}
    for loops in (0, 2):
        with Load(options, loops):
            for _ in range(options.runs):
                for row in profile(options)["rows"]:
                    if row["peak_fraction"] is not None and row["optimised"]:
                        fractions.setdefault(name_of(row), {}).setdefault(loops, []).append(
                            (row["peak_fraction"], row["on_cpu"]))
    rows = [("row", "alone", "beside two loops", "quotient", "on its CPU")]
    for name, of in fractions.items():
        alone, beside = (statistics.median(value for value, _ in of[loops]) for loops in (0, 2))
        on_cpu = statistics.median(share for _, share in of[2])
        rows.append((name, "%.3f" % alone, "%.3f" % beside, "%.3f" % (beside / alone),
                     "%.2f" % on_cpu))
    report(rows)


def coverage(options):
    """Of every row with an interval; of its CPU time and of its fraction of peak."""
    def intervals(row):
        yield "CPU time", row["cpu_time_ns"]["median"], row["cpu_time_ns"]["ci95"]
        yield "fraction of peak", row["peak_fraction"], row["peak_fraction_ci95"]

    rows = [("load", "quantity", "held", "of")]
    for loops in (0, 2):
        seen = {}
        with Load(options, loops):
            for _ in range(options.runs):
                for row in profile(options)["rows"]:
                    if row["cpu_time_ns"] is None:
                        continue
                    for quantity, value, interval in intervals(row):
                        if value is not None and None not in interval:
                            seen.setdefault((quantity, name_of(row)), []).append((value, interval))
        held = {}
        for (quantity, _), runs in seen.items():
            middle = statistics.median(value for value, _ in runs)
            held.setdefault(quantity, []).extend(low <= middle <= high for _, (low, high) in runs)
        for quantity, each in held.items():
            rows.append(("none" if loops == 0 else "two loops", quantity,
                         "%.0f %%" % (100 * sum(each) / len(each)), len(each)))
    report(rows)


def same_binary(options):
    rows = [("load", "pairs", "alarms", "rows")]
    for loops in (0, 2):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            with Load(options, loops):
                for run in range(options.runs):
                    files.append(os.path.join(folder, "%d.json" % run))
                    with open(files[-1], "w", encoding="utf-8") as file:
                        json.dump(profile(options), file)
            pairs = list(itertools.permutations(files, 2))
            verdicts = collections.Counter()
            alarms = 0
            for pair in pairs:
                done = subprocess.run(
                    [options.hwprof, "compare", *pair, "--accept-busy", "--format", "json"],
                    stdout=subprocess.PIPE, check=False)
                alarms += done.returncode == 1
                verdicts.update(row["verdict"] for row in json.loads(done.stdout)["files"][0]["rows"])
        rows.append(("none" if loops == 0 else "two loops", len(pairs),
                     "%d (%.1f %%)" % (alarms, 100 * alarms / len(pairs)),
                     ", ".join("%s %d" % each for each in verdicts.most_common())))
    report(rows)


# Some seconds each with the reference BLAS.
PROGRAMS = [("sgemv only", ["sgemv", "400", "40000"]),
            ("dgemm only", ["dgemm", "400", "150", "0"]),
            ("dgemm of odd shape", ["dgemm", "37", "60000", "0"]),
            ("5 % in its BLAS", ["dgemm", "128", "400", "5000"])]


def cpu_seconds(cpu, command, folder):
    """Of a run whose loader looks into that folder first."""
    variables = dict(environment(), OPENBLAS_NUM_THREADS="1")
    if folder:
        variables["LD_LIBRARY_PATH"] = folder
    else:
        variables.pop("LD_LIBRARY_PATH", None)
    child = subprocess.Popen(["taskset", "-c", str(cpu), *command], env=variables)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit("%s: exit %d" % (command, child.returncode))
    return usage.ru_utime + usage.ru_stime


def factor(options):
    """Foretold by the observed run of a program that gets the default BLAS, and measured by runs of
    it with the BLAS of a folder, by turns with runs without."""
    here = os.path.dirname(os.path.abspath(__file__))
    found = subprocess.run([sys.executable, os.path.join(here, "..", "matrix", "libraries.py"),
                            "--folder-for-tests"], stdout=subprocess.PIPE, text=True, check=True)
    better = options.folder or found.stdout.strip()
    if not better:
        sys.exit("no other BLAS: scripts/setup test, or --folder")
    rows = [("program", "BLAS share", "of calls", "foretold", "interval", "measured",
             "foretold/measured", "covered")]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "blas_work")
        subprocess.run(["cc", "-O1", "-o", program, os.path.join(here, "blas_work.c"),
                        "-l:libblas.so.3"], check=True)
        for name, words in PROGRAMS:
            foretold = []
            with_it, without = [], []
            for _ in range(options.runs):
                report_file = os.path.join(folder, "run.json")
                variables = environment()
                variables.pop("LD_LIBRARY_PATH", None)
                subprocess.run([options.hwprof, "run", "--pin", str(options.cpu), "--format",
                                "json", "-o", report_file, "--", program, *words], env=variables,
                               check=True)
                with open(report_file, encoding="utf-8") as file:
                    blas = json.load(file)["blas"]
                if blas["program_factor"] is None:
                    sys.exit("%s: no factor: %s" % (name, json.dumps(blas, indent=1)))
                foretold.append(blas)
                without.append(cpu_seconds(options.cpu, [program, *words], ""))
                with_it.append(cpu_seconds(options.cpu, [program, *words], better))

            def middle(key, of=foretold):
                return statistics.median(blas[key] for blas in of)
            measured = statistics.median(without) / statistics.median(with_it)
            spread = "%.3g to %.3g" % (min(blas["program_factor"] for blas in foretold),
                                       max(blas["program_factor"] for blas in foretold))
            rows.append((name, "%.1f %%" % (100 * middle("blas_share")), "%.3g" % middle("factor"),
                         "%.3g" % middle("program_factor"), spread, "%.3g" % measured,
                         "%.2f" % (middle("program_factor") / measured),
                         "%.0f %%" % (100 * middle("calls_covered"))))
    report(rows)


def slower(options):
    """Of `--runs` comparisons by turns: where B has 5 % more work, where A has, and where none."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "planted.c")
    slices = ["--slice", str(options.slice)] if options.slice else []
    rows = [("B against A", "comparisons", "wall time", "CPU time")]
    with tempfile.TemporaryDirectory() as folder:
        built = {}
        for percent in (0, 5):
            built[percent] = os.path.join(folder, "planted%d" % percent)
            subprocess.run(["cc", "-O3", "-DEXTRA_PERCENT=%d" % percent, "-o", built[percent],
                            source], check=True)
        for a, b in ((0, 5), (0, 0)):
            verdicts = {"wall time": [], "CPU time": []}
            for _ in range(options.runs):
                done = subprocess.run(
                    ["taskset", "-c", str(options.cpu), options.hwprof, "compare", "--quiet",
                     "--format", "json", "--time-budget", str(options.seconds), *slices,
                     "--by-turns", built[a], "--", built[b]], stdout=subprocess.PIPE, text=True, check=False)
                for row in json.loads(done.stdout)["files"][0]["rows"]:
                    verdicts[row["name"]].append(row["verdict"])
            rows.append(("%d %% more work" % (b - a), options.runs,
                         *(", ".join("%s %d" % (verdict, each.count(verdict))
                                     for verdict in sorted(set(each)))
                           for each in verdicts.values())))
            report(rows[:1] + rows[-1:])


def main():
    commands = {"beside-load": beside_load, "coverage": coverage, "same-binary": same_binary,
                "factor": factor, "slower": slower}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hwprof", help="a release build")
    parser.add_argument("what", choices=sorted(commands))
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)),
                        help="to measure on; default: the last")
    parser.add_argument("--folder", default="", help="of the better BLAS; default: that of the tests")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=8, help="time budget of a run")
    parser.add_argument("--slice", type=int, default=0, help="of compare, in milliseconds")
    # Behind --: more options of hwprof profile.
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.arguments = words[end + 1:]
    commands[options.what](options)


if __name__ == "__main__":
    main()
