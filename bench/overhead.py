#!/usr/bin/env python3
"""What observing a program costs it: hwprof run as root and as an ordinary user, beside perf.

Each way takes turns with the program alone: alone, A, alone, B, alone, ... A ratio is taken of
neighbours, the median over rounds is printed. What is timed is the program's own loop, by its own
clock, so that neither its start nor the report that follows is in it. Standard library only.
"""

import argparse
import json
import os
import pathlib
import platform
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile

# Each prints the seconds that its loop took.
NUMPY = """
import time, numpy
a = numpy.ones((384, 384), dtype=numpy.float32)
a @ a
begin = time.monotonic()
for _ in range({loops}): a @ a
print(time.monotonic() - begin)
"""
TORCH = """
import time, torch
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(100, 784), torch.randint(0, 10, (100,))
def step():
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
step()
begin = time.monotonic()
for _ in range({loops}): step()
print(time.monotonic() - begin)
"""
SHAPES_BLAS = ("OPENBLAS_", "GOTO_", "BLIS_", "MKL_", "OMP_", "KMP_", "NVPL_", "ATLAS_")


def environment():
    clean = {k: v for k, v in os.environ.items() if not k.startswith(SHAPES_BLAS)}
    return {**clean, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "HOME": "/nonexistent"}


def run(command, rights=None):
    done = subprocess.run(command, env=environment(), capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=600, **(rights or {}))
    if done.returncode != 0:
        raise RuntimeError("%s: exit %d: %s" % (" ".join(command[:6]), done.returncode,
                                                done.stderr.strip()[-300:]))
    return done


def nobody():
    entry = pwd.getpwnam("nobody")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


class Ways:
    """Commands around a program that is pinned to one CPU."""

    def __init__(self, hwprof, cpu, realtime):
        self.before = ["chrt", "-f", "10"] if realtime else []
        self.pin = ["taskset", "-c", str(cpu)]
        self.hwprof = [hwprof, "run", "--no-ladder", "--pin", str(cpu), "-o", os.devnull]
        self.page = tempfile.NamedTemporaryFile(suffix=".html")
        self.root = os.geteuid() == 0
        self.setpriv = ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]

    def alone(self, program):
        return self.before + self.pin + program

    def observers(self):
        perf = shutil.which("perf")
        if self.root:
            yield "hwprof run, root", lambda p: self.before + self.hwprof + ["--"] + p
            for switches in (["--no-samples"], ["--report", self.page.name], ["--lines"], ["--layers"]):
                yield ("hwprof run, root, " + switches[0],
                       lambda p, s=switches: self.before + self.hwprof + s + ["--"] + p)
            yield ("hwprof run, root, --calls-by uprobes",
                   lambda p: self.before + self.hwprof + ["--calls-by", "uprobes", "--"] + p)
            yield ("hwprof run, ordinary user",
                   lambda p: self.before + self.setpriv + self.hwprof + ["--"] + p)
        else:
            yield "hwprof run, ordinary user", lambda p: self.before + self.hwprof + ["--"] + p
        if perf:
            yield "perf stat", lambda p: self.before + [perf, "stat", "-o", os.devnull,
                                                       "--"] + self.pin + p
            for stacks in ([], ["--call-graph", "dwarf"]):
                yield (" ".join(["perf record -F 997"] + stacks), lambda p, s=stacks: self.before + [
                    perf, "record", "-q", "-F", "997", "-e", "cpu-clock", *s, "-o", os.devnull,
                    "--"] + self.pin + p)


def compare(ways, program, value_of, rounds):
    """Name -> a value a round: the observed loop over the mean of its neighbours alone."""
    ratios = {}
    before = value_of(run(ways.alone(program)))
    alone = [before]
    for _ in range(rounds):
        for name, around in ways.observers():
            try:
                observed = value_of(run(around(program)))
            except RuntimeError as error:
                ratios.setdefault(name, str(error))
                continue
            after = value_of(run(ways.alone(program)))
            alone.append(after)
            if isinstance(ratios.get(name, []), list):
                ratios.setdefault(name, []).append((observed, (before + after) / 2))
            before = after
    return ratios, statistics.median(alone)


def ratio_cell(pairs):
    if isinstance(pairs, str):
        return "absent: " + pairs
    ratios = sorted(observed / alone for observed, alone in pairs)
    return "%.3f (%.3f .. %.3f)" % (statistics.median(ratios), ratios[0], ratios[-1])


def added_cell(pairs):
    if isinstance(pairs, str):
        return "absent: " + pairs
    added = sorted(observed - alone for observed, alone in pairs)
    return "%.0f (%.0f .. %.0f)" % (statistics.median(added), added[0], added[-1])


def python_with(module):
    for python in ("/usr/bin/python3", sys.executable):
        if subprocess.run([python, "-c", "import " + module], capture_output=True).returncode == 0:
            return python
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--hwprof", required=True)
    options.add_argument("--caller", help="tests/blas_caller: measure tiny calls too")
    options.add_argument("--rounds", type=int, default=7)
    options.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    options.add_argument("--realtime", action="store_true", help="run before everything else")
    options.add_argument("--calls", type=int, default=400000, help="tiny calls of one run")
    options.add_argument("-o", dest="folder", type=pathlib.Path, help="write overhead.json there")
    arguments = options.parse_args()
    ways = Ways(arguments.hwprof, arguments.cpu, arguments.realtime)

    names = [name for name, _ in ways.observers()]
    columns, tables = [], {}
    seconds = lambda done: float(done.stdout.split()[-1])  # noqa: E731
    for title, module, source, loops in (("numpy matmul", "numpy", NUMPY, 300),
                                         ("torch training step", "torch", TORCH, 1500)):
        python = python_with(module)
        if python is None:
            print("%s: absent, there is no Python with %s" % (title, module), file=sys.stderr)
            continue
        program = [python, "-c", source.format(loops=loops)]
        once = seconds(run(ways.alone(program)))
        program = [python, "-c", source.format(loops=max(1, int(loops / once)))]  # about 1 s
        tables[title], alone = compare(ways, program, seconds, arguments.rounds)
        columns.append((title + ", times alone", title, ratio_cell))
        print("%s: %.2f s alone" % (title, alone), file=sys.stderr)
    if arguments.caller:
        program = [arguments.caller, "tiny", str(arguments.calls)]
        nanoseconds = lambda done: float(done.stderr.split("\n")[0].split()[1])  # noqa: E731
        title = "a tiny sgemm call"
        tables[title], alone = compare(ways, program, nanoseconds, arguments.rounds)
        columns.append(("ns added to a tiny sgemm call", title, added_cell))
        print("%s: %.1f ns alone" % (title, alone), file=sys.stderr)

    print("| observed by | %s |" % " | ".join(column for column, _, _ in columns))
    print("| --- |" + " --- |" * len(columns))
    for name in names:
        cells = [cell(tables[title][name]) for _, title, cell in columns]
        print("| %s | %s |" % (name, " | ".join(cells)))
    if arguments.folder:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        result = {"kernel": platform.release(), "cpu": arguments.cpu, "rounds": arguments.rounds,
                  "realtime": arguments.realtime, "pairs": tables}
        (arguments.folder / "overhead.json").write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
