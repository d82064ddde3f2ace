"""`hwprof run --lines` of Python programs that measure themselves what each of their lines takes."""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import unittest

from harness import environment, hwprof
from run_harness import PLAIN, RunTest

POINTS = 5  # that a share may be off, beside a load
CPUS = sorted(os.sched_getaffinity(0))

# Of the CPU time of a thread: 40 % in one loop, 60 % in sorting. Writes what it took.
SHARES = """
import json, sys, time
def loop(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total
def sort(n):
    for _ in range(n):
        sorted(DATA)
DATA = [i * 7919 % 10007 for i in range(3000)]
def cpu(function, n):
    began = time.thread_time()
    function(n)
    return time.thread_time() - began
unit = {f: min(cpu(f, n) for _ in range(3)) / n for f, n in ((loop, 3000), (sort, 3))}
truth = {"loop": 0.0, "sort": 0.0}
for _ in range(60):
    for function, seconds in ((loop, 0.012), (sort, 0.018)):
        truth[function.__name__] += cpu(function, max(1, int(seconds / unit[function])))
json.dump(truth, open(sys.argv[1], "w"))
"""
NUMPY = """
import json, sys, time
import numpy
a = numpy.random.default_rng(0).random((200, 200), dtype="float32")
data = numpy.random.default_rng(1).random(20000)
def matmul(n):
    for _ in range(n):
        a @ a
def pure(n):
    total = 0
    for i in range(n):
        total += i * i % 7
def sort(n):
    for _ in range(n):
        numpy.sort(data)
def cpu(function, n):
    began = time.thread_time()
    function(n)
    return time.thread_time() - began
work = {matmul: (5, 0.01), pure: (3000, 0.008), sort: (3, 0.012)}
unit = {f: min(cpu(f, n) for _ in range(3)) / n for f, (n, _) in work.items()}
truth = dict.fromkeys(("matmul", "pure", "sort"), 0.0)
products = 15
for _ in range(50):
    for function, (_, seconds) in work.items():
        n = max(1, int(seconds / unit[function]))
        products += n if function is matmul else 0
        truth[function.__name__] += cpu(function, n)
truth["products"] = products
json.dump(truth, open(sys.argv[1], "w"))
"""


# The text CNN of examples/kim_cnn_numpy.py, smaller, for 1.5 s.
KIM = """
import json, sys, time
sys.path.insert(0, %r)
import kim_cnn_numpy as kim
import numpy
truth = dict.fromkeys(("Convolution.forward", "Convolution.backward", "Kim.loss"), 0.0)
def timed(kind, name):
    function, key = getattr(kind, name), kind.__name__ + "." + name
    def call(*arguments):
        began = time.thread_time()
        result = function(*arguments)
        truth[key] += time.thread_time() - began
        return result
    setattr(kind, name, call)
timed(kim.Convolution, "forward")
timed(kim.Convolution, "backward")
timed(kim.Kim, "loss")
random = numpy.random.default_rng(1)
model = kim.Kim(random, 500, 5, d_e=64, d_c=32)
steps, until = 0, time.process_time() + 1.5
while time.process_time() < until:
    model.loss(random.integers(500, size=(16, 60)), random.integers(5, size=16))
    steps += 1
truth["Kim.loss"] -= truth["Convolution.forward"] + truth["Convolution.backward"]
truth["steps"] = steps
json.dump(truth, open(sys.argv[1], "w"))
""" % os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")


# The path may have shims that start nothing.
MANAGED = [os.path.join(os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv")), "versions/*/bin/python3"),
           os.path.expanduser("~/.local/share/uv/python/*/bin/python3")]
NAMES = [sys.executable, "/usr/bin/python3", "python3.11", "python3.12", "python3.13", "python3.10",
         *(path for folder in MANAGED for path in sorted(glob.glob(folder)))]
READABLE = ("3.11", "3.12", "3.13")


def version_of(path):
    done = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def pythons():
    """Interpreters of this machine by version: this one, the distribution's, those of the path."""
    found = {}
    for path in filter(None, map(shutil.which, NAMES)):
        found.setdefault(version_of(path), path)
    return found


PYTHONS = pythons()
KNOWN = {version: path for version, path in PYTHONS.items() if version in READABLE}


def samples_the_kernel():
    with open("/proc/sys/kernel/perf_event_paranoid") as file:
        return os.geteuid() == 0 or int(file.read()) < 2


def python_with(module):
    for path in filter(None, map(shutil.which, NAMES)):
        done = subprocess.run([path, "-c", "import " + module], capture_output=True, check=False)
        if done.returncode == 0 and version_of(path) in READABLE:
            return path
    return None


@contextlib.contextmanager
def load():
    """A busy loop on each CPU."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"],
                              preexec_fn=lambda cpu=cpu: os.sched_setaffinity(0, [cpu]))
             for cpu in CPUS]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


class LinesTest(RunTest):
    def script(self, text):
        path = self.path("script.py")
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        return path

    def lines(self, python, text, **variables):
        """The report of the script, and what it says itself of its one thread."""
        truth = self.path("truth.json")
        done, report = self.run_json(python, self.script(text), truth,
                                     options=("--lines", "--no-counters"),
                                     env=environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", **variables))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(truth) as file:
            return report, json.load(file)

    def check_shares(self, report, truth):
        parts = {name: sum(line["self_share"] for line in report["lines"] if line["function"] == name)
                 for name in truth}
        self.assertGreater(sum(parts.values()), 0.2, report["lines_known"])
        for name, seconds in truth.items():
            share = 100 * parts[name] / sum(parts.values())
            true = 100 * seconds / sum(truth.values())
            self.assertAlmostEqual(share, true, delta=POINTS, msg="%s: %s" % (name, report["lines_known"]))

    def known_python(self):
        if not KNOWN:
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        return next(iter(KNOWN.values()))


class Shares(LinesTest):
    def test_shares_of_lines_are_those_that_the_program_measures(self):
        self.known_python()
        for version, python in KNOWN.items():
            with self.subTest(version=version):
                report, truth = self.lines(python, SHARES)
                self.check_shares(report, truth)
                self.assertTrue(report["lines_known"]["versions"][0].startswith("Python " + version))

    def test_shares_and_calls_of_a_text_cnn(self):
        python = python_with("numpy")
        if python is None:
            self.skipTest("no numpy for Python 3.11, 3.12 or 3.13")
        # Where the kernel's time is in no sample, that of fresh memory is not, up to 6 % of the time,
        # all of it in the convolutions. So memory is kept.
        kept = {} if samples_the_kernel() else {
            "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40), "MALLOC_TOP_PAD_": str(1 << 28)}
        report, truth = self.lines(python, KIM, **kept)
        steps = truth.pop("steps")
        self.check_shares(report, truth)
        forward, = (line for line in report["lines"] if line["source"] == "y = self.columns @ self.weights")
        self.assertGreater(forward["self_share"], 0)
        called = report["blas"]["evidence"]["called"]
        products = sum(site["count"] for site in called["calls"] if "gemm" in site["symbol"])
        if called["how"] != "audit" or products == 0:
            self.skipTest("numpy's BLAS is its own: the loader binds none of its calls")
        # Three convolutions and the scores: forward, and backward for input and weights.
        self.assertEqual(products, 12 * steps)
        call = forward["calls"][0]
        self.assertIn("gemm", call["routine"])
        self.assertEqual({shape["k"] for shape in call["shapes"]}, {3 * 64, 4 * 64, 5 * 64})

    def test_shares_hold_beside_a_load(self):
        with load():
            report, truth = self.lines(self.known_python(), SHARES)
        self.check_shares(report, truth)

    def test_a_product_stands_under_its_line(self):
        python = python_with("numpy")
        if python is None:
            self.skipTest("no numpy for Python 3.11, 3.12 or 3.13")
        report, truth = self.lines(python, NUMPY)
        products = truth.pop("products")
        self.check_shares(report, truth)
        line = next(line for line in report["lines"] if line["source"] == "a @ a")
        if not line["calls"]:
            self.skipTest("numpy's BLAS is its own: the loader binds none of its calls")
        call = line["calls"][0]
        self.assertIn("gemm", call["routine"])
        self.assertAlmostEqual(call["calls"], products, delta=0.1 * products)
        self.assertEqual([(s["m"], s["n"], s["k"]) for s in call["shapes"]], [(200, 200, 200)])
        self.assertGreater(call["gflops"], 0)


class Report(LinesTest):
    def test_the_text_has_source_and_coverage(self):
        done = hwprof("run", *PLAIN, "--lines", "--", self.known_python(), self.script(SHARES),
                      self.path("truth.json"))
        self.assertIn("CPU time by line", done.stderr)
        self.assertIn("total += i * i % 7", done.stderr)
        if samples_the_kernel():
            self.assertIn("of the CPU time has a line", done.stderr)
            self.assertNotIn("is in no line", done.stderr)
        else:
            self.assertIn("of the CPU time in user mode has a line", done.stderr)
            self.assertRegex(" ".join(done.stderr.split()),
                             r"the kernel's time \([\d.]+ % of the CPU time\) is in no line")

    def test_source_that_is_gone_is_absent(self):
        _, report = self.run_json(
            self.known_python(), self.script("""
                import os, sys
                os.remove(sys.argv[0])
                sum(i * i for i in range(2000000))
            """), options=("--lines",))
        sources = [line["source"] for line in report["lines"] if line["file"].endswith("script.py")]
        self.assertTrue(sources)
        self.assertEqual(set(sources), {None})

    def test_another_version_is_said_in_one_sentence(self):
        if "3.10" not in PYTHONS:
            self.skipTest("no Python 3.10")
        done, report = self.run_json(PYTHONS["3.10"], "-c", "sum(i * i for i in range(2000000))",
                                     options=("--lines",))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(report["lines"], [])
        self.assertIn("3.11, 3.12 and 3.13", report["lines_known"]["notes"][0])

    def test_without_python_there_is_nothing(self):
        _, report = self.run_json("true", options=("--lines",))
        self.assertEqual(report["lines"], [])
        known = report["lines_known"]  # null where it took no sample
        if known:
            self.assertEqual((known["coverage"], known["versions"]), (0, []))


# A second of CPU time in `train`, called by `main`, which the script calls.
CALLS = """
import time
{setup}
def train(until):
    while time.process_time() < until:
        {work}
def main():
    train(time.process_time() + 1)
main()
"""
IN_TRAIN = r"^[^;]+;<module> \(script.py:9\);main \(script.py:8\);train \(script.py:[56]\)"
# `sorted` is C, which calls the lambda.
WORK_IN_C = "sorted(range(1000), key=lambda x: (x * x % 7 + x * 3 % 5 - x // 7 + x * 11 % 13) * x % 17)"


class Stacks(LinesTest):
    """Functions of Python stand in the stacks, between what calls them and what they call."""

    def stacks(self, python, setup, work, *options):
        folded = self.path("stacks.txt")
        done = hwprof("run", *PLAIN, "-o", self.path("report.txt"), "--folded", folded, *options, "--", python,
                      self.script(CALLS.format(setup=setup, work=work)),
                      env=environment(OPENBLAS_NUM_THREADS="2"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(folded) as file:
            lines = [line.rpartition(" ") for line in file.read().splitlines()]
        return {stack: int(samples) for stack, _, samples in lines}

    def share(self, stacks, pattern):
        return sum(n for stack, n in stacks.items() if re.search(pattern, stack)) / sum(stacks.values())

    def test_of_each_version_with_lines_and_without(self):
        self.known_python()
        for version, python in KNOWN.items():
            for options in ((), ("--lines",)):
                with self.subTest(version=version, options=options):
                    stacks = self.stacks(python, "", WORK_IN_C, *options)
                    self.assertGreater(self.share(stacks, IN_TRAIN), 0.5, stacks)
                    self.assertGreater(
                        self.share(stacks, IN_TRAIN + r".*;train.<locals>.<lambda> \(script.py:6\)"), 0.05, stacks)
                    self.assertEqual(
                        self.share(stacks, IN_TRAIN + r".*_PyEval_EvalFrameDefault"), 0, stacks)

    def test_a_product_stands_under_its_function(self):
        python = python_with("numpy")
        if python is None:
            self.skipTest("no numpy for Python 3.11, 3.12 or 3.13")
        stacks = self.stacks(python, "import numpy; a = numpy.ones((300, 300), 'float32')", "a @ a")
        self.assertGreater(self.share(stacks, IN_TRAIN + r".*multiarray.*"), 0.3, stacks)


class Behaviour(LinesTest):
    """What the program does is what it does alone."""

    def alone_and_watched(self, text):
        python, script = self.known_python(), self.script(text)
        alone = subprocess.run([python, script], capture_output=True, text=True, check=False,
                               env=environment())
        watched = hwprof("run", *PLAIN, "--lines", "-o", self.path("report.txt"), "--", python, script)
        code = alone.returncode if alone.returncode >= 0 else 128 - alone.returncode
        self.assertEqual((watched.returncode, watched.stdout), (code, alone.stdout))
        return code

    def test_exit_code_and_output(self):
        self.assertEqual(self.alone_and_watched("print(sum(range(10**6))); raise SystemExit(7)"), 7)

    def test_exit_without_cleaning_up(self):
        self.assertEqual(self.alone_and_watched("""
            import os
            print(sum(range(10**6)), flush=True)
            os._exit(9)
        """), 9)

    def test_a_signal(self):
        self.assertEqual(self.alone_and_watched("""
            import os, signal
            print(sum(range(10**6)), flush=True)
            os.kill(os.getpid(), signal.SIGTERM)
        """), 128 + signal.SIGTERM)

    def test_children(self):
        self.alone_and_watched("""
            import os
            for i in range(5):
                if os.fork() == 0:
                    sum(j * j for j in range(300000))
                    os._exit(i)
            print(sorted(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(5)))
        """)

    def test_many_threads_and_deep_recursion(self):
        self.alone_and_watched("""
            import sys, threading
            sys.setrecursionlimit(5000)
            def deep(n): return 0 if n == 0 else 1 + deep(n - 1)
            found = []
            threads = [threading.Thread(target=lambda: found.append(deep(900))) for _ in range(200)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            for _ in range(200): deep(4000)
            print(len(found), set(found))
        """)

    def test_code_that_comes_and_goes(self):
        self.alone_and_watched("""
            total = 0
            for i in range(3000):
                space = {}
                exec("def f(n):\\n" + "\\n" * (i % 50) + "  return sum(range(n))", space)
                total += space["f"](300)
            print(total)
        """)


if __name__ == "__main__":
    unittest.main()
