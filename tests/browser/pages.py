"""The pages that the browser looks at: of every command, made from real output, once.

As a program it makes them for people: pages.py FOLDER [NAME...]; HWPROF names the binary.
"""

import atexit
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap

import harness

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
CALLER = os.environ.get("BLAS_CALLER")
REGIONS = os.environ.get("REGION_PROGRAM")
SMALL = ["--shape", "d_e=16,d_c=24,l=11,batch=4", "--time-budget", "1"]
ONE_CPU = ["--pin", str(min(os.sched_getaffinity(0)))]
# A hot loop that any machine has, where there is no BLAS to link a program with.
LOOP = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: sum(range(1000))\n"
# Computed at runtime, so that no test takes it for the page's own text.
HOSTILE = "</script><img src=x onerror=window.hostile=1>"


class Page:
    """A page and the JSON that one and the same run wrote beside it."""

    def __init__(self, name, html, report=None, markdown=None, code=0):
        self.name, self.html, self.code, self.report_path, self.markdown = name, html, code, report, markdown

    @property
    def url(self):
        return pathlib.Path(self.html).as_uri()

    @functools.cached_property
    def report(self):
        """The report as --format json wrote it."""
        with open(self.report_path, encoding="ascii") as file:
            return json.load(file)


class Maker:
    """Makes each page when it is asked for, and keeps it."""

    def __init__(self, folder=None):
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="pages-")
            atexit.register(temporary.cleanup)
            folder = temporary.name
        self.folder = folder
        self.made = {}

    def path(self, name):
        return os.path.join(self.folder, name)

    def __call__(self, name):
        if name not in self.made:
            self.made[name] = REAL[name](self, name)
        return self.made[name]

    def of_command(self, name, *words, codes=(0,), env=None, cwd=None):
        """Runs hwprof once for both: the JSON and the page. `--` ends what is hwprof's."""
        report, html = self.path(name + ".json"), self.path(name + ".html")
        at = words.index("--") if "--" in words else len(words)
        words = [*words[:at], "--format", "json", "-o", report, "--report", html, *words[at:]]
        done = harness.hwprof(*words, env=env, cwd=cwd, timeout=180)
        if done.returncode not in codes:
            raise AssertionError("hwprof %s: exit %d: %s" % (" ".join(words), done.returncode, done.stderr))
        return Page(name, html, report, code=done.returncode)

    def of_reports(self, name, *paths):
        """The page that `hwprof report` makes of saved JSON."""
        html = self.path(name + ".html")
        done = harness.hwprof("report", *map(str, paths), "-o", html)
        if done.returncode != 0:
            raise AssertionError("hwprof report %s: exit %d: %s" % (paths, done.returncode, done.stderr))
        return Page(name, html, paths[0] if len(paths) == 1 else None)

    def of_json(self, name, report):
        """The page of a report that a test has made up."""
        path = self.path(name + ".json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(report, file, indent=1)
        return self.of_reports(name, path)


def bench_of(report):
    """The JSON of kernels_bench, of the work of a profile's rows: half and a third as fast as each first row of it."""
    cases, seen = [], set()
    for row in report["rows"]:
        work = (row["op"], str(row["shape"]))
        if not row["gflops"] or row["threads"] != 1 or work in seen:
            continue
        seen.add(work)
        time = row["cpu_time_ns"]["median"]
        case = {"name": "%s/made/iterations:1/manual_time" % row["op"], "run_type": "iteration", "threads": 1,
                "flops": row["model"]["flops"], "bytes": row["model"]["bytes"], "ours:ns": time}
        case.update({"size:" + name: float(size) for name, size in row["shape"].items()})
        for number, peer in enumerate(["onednn", "openblas-shifted"], 2):
            case.update({peer + ":ns": number * time, peer + ":ns_low": 0.9 * number * time,
                         peer + ":ns_high": 1.2 * number * time, peer + ":ours": float(number)})
        cases.append(case)
    return {"context": {"hwprof_bench": "1", "cpu": report["machine"]["cpu"]}, "benchmarks": cases}


def _peers(maker, name):
    """A profile with peers: the page, and the JSON that has them too."""
    profile = maker("textcnn")
    bench, report = maker.path("bench.json"), maker.path(name + ".json")
    with open(bench, "w", encoding="ascii") as file:
        json.dump(bench_of(profile.report), file)
    done = harness.hwprof("report", profile.report_path, bench, "--format", "json", "-o", report)
    assert done.returncode == 0, done.stderr
    page = maker.of_reports(name, profile.report_path, bench)
    page.report_path = report
    return page


def golden(name):
    with open(GOLDEN / (name + ".json"), encoding="ascii") as file:
        return json.load(file)


def _program(seconds):
    if CALLER:
        return [CALLER, "busy", str(seconds)]
    return [sys.executable, "-c", textwrap.dedent(LOOP)]


def _attach(maker, name):
    child = subprocess.Popen(_program(60), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             env=harness.environment())
    try:
        return maker.of_command(name, "attach", "--no-ladder", "--seconds", "0.7", str(child.pid))
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def _compare(maker, name):
    baseline = maker("textcnn").report_path
    other = maker.path("other.json")
    done = harness.hwprof("profile", *SMALL, *ONE_CPU, "--no-ladder", "--format", "json", "-o", other)
    assert done.returncode == 0, done.stderr
    return maker.of_command(name, "compare", baseline, other, codes=(0, 1))  # 1: some row was slower


def _check(maker, name):
    """The page of the record that hwprof check leaves."""
    folder = maker.path("records")
    os.mkdir(folder)
    done = harness.hwprof("check", "--quick", "--out", folder, "--run-id", "r1", "--host", "node00")
    assert done.returncode in (0, 1, 3), done.stderr
    return maker.of_reports(name, os.path.join(folder, "node00@r1.json"))


def fleet(maker, name, count=13):
    """A merge of `count` hosts, with each word from 7 on: records of this machine, changed."""
    template = maker("check").report
    folder = maker.path(name + "-records")
    os.mkdir(folder)
    bad = dict(template["blas"], verdict="unoptimised", why="because", fix="unset OPENBLAS_CORETYPE")
    none = dict(gflops=None, peak_fraction=None, gflops_reason="it was not measured in time")
    changes = {2: dict(outcome="fail", reason="because", gflops=20.0, peak_fraction=0.2, blas=bad),
               3: dict(outcome="unknown", reason="the verdict is inconclusive", busy_fraction=None,
                       blas=dict(bad, fix="a stranger's\nsecond line"), **none),
               4: dict(run_id="r0"), 8: dict(gflops=70.0, busy_fraction=0.5), 9: dict(cpu="another CPU"),
               10: dict(ended_utc="2999-01-01T00:00:00Z")}
    hosts = []
    for number in range(1, count + 1):
        host, kind = "node%0*d" % (len(str(count)), number), number if count < 40 else number % 40
        hosts.append(host + "|down*|Not responding" * (kind == 7))
        if kind in (6, 7):
            continue
        record = dict(template, host=host, outcome="pass", reason=None, gflops=100.0 + number % 5, peak_fraction=0.8)
        record.update(changes.get(kind, {}))
        text = json.dumps(record)
        with open(os.path.join(folder, host + "@r1.json"), "w", encoding="ascii") as file:
            file.write(text[:300] if kind == 5 else text)
    with open(maker.path(name + "-hosts"), "w", encoding="ascii") as file:
        file.write("\n".join(hosts) + "\n")
    return maker.of_command(name, "fleet", "merge", "--expected", maker.path(name + "-hosts"), "--run-id", "r1", folder,
                            codes=(0, 1, 3))


REAL = {
    "textcnn": lambda make, name: make.of_command(
        name, "profile", *SMALL, *ONE_CPU, "--trace", make.path("textcnn.trace.json")),
    "exact": lambda make, name: make.of_command(
        name, "profile", *SMALL, *ONE_CPU, "--no-ladder", "--variant", "reference,simd", "--exact"),
    "peers": _peers,
    "threads": lambda make, name: make.of_command(
        name, "profile", *SMALL, "--no-ladder", "--variant", "simd", "--threads", "1,2"),
    "resnet20": lambda make, name: make.of_command(
        name, "profile", "--workload", "resnet20", *ONE_CPU, "--no-ladder", "--time-budget", "1",
        "--variant", "eager,fused"),
    "mlp": lambda make, name: make.of_command(
        name, "profile", "--workload", "mlp", *ONE_CPU, "--no-ladder", "--time-budget", "1", "--epochs", "2"),
    "run": lambda make, name: make.of_command(name, "run", *ONE_CPU, "--", *_program(0.8)),
    "repeats": lambda make, name: make.of_command(
        name, "run", "--no-ladder", "--repeat", "7", "--", *_program(0.1)),
    "regions": lambda make, name: make.of_command(
        name, "run", "--no-ladder", "--trace", make.path("regions.trace.json"), "--", REGIONS),
    "attach": _attach,
    "sweep": lambda make, name: make.of_command(
        name, "sweep", "--op", "conv1d", "--param", "n=32:256", "--shape", "d_e=16,d_c=16,batch=2",
        "--time-budget", "1"),
    "sweep2": lambda make, name: make.of_command(
        name, "sweep", "--op", "conv1d", "--param", "n=32:256", "--param", "k=2:8", "--shape",
        "d_e=16,d_c=16,batch=2", "--time-budget", "1"),
    "compare": _compare,
    "blas": lambda make, name: make.of_command(name, "blas", "--quick", codes=(0, 1, 3)),
    "peak": lambda make, name: make.of_command(name, "peak", *ONE_CPU),
    "doctor": lambda make, name: make.of_command(name, "doctor", codes=(0, 1)),
    "check": _check,
    "fleet": fleet,
    "several": lambda make, name: make.of_reports(
        name, *[make(one).report_path for one in ("textcnn", "run", "sweep", "doctor")]),
}


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    make = Maker(sys.argv[1])
    for name in sys.argv[2:] or REAL:
        print(make(name).html)


if __name__ == "__main__":
    main()
