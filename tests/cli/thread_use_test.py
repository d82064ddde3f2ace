"""What `hwprof run` says of threads: programs and settings of which it is known what is so."""

import json
import os
import shutil
import subprocess
import sys
import time
import unittest

from harness import BINARY, environment, hwprof
from run_harness import RunTest

CPUS = sorted(os.sched_getaffinity(0))
LOADS = {"libgomp": os.environ.get("THREAD_LOADS", ""), "libomp": os.environ.get("THREAD_LOADS_LLVM", "")}
WAITS = [path for path in os.environ.get("WAIT_LOOPS", "").split(":") if path]
NOBODY = 65534
TICK = 1 / os.sysconf("SC_CLK_TCK")

POOL = """
import multiprocessing, sys, time
import numpy
def multiply(seed):
    a = numpy.random.default_rng(seed).random((400, 400), dtype="float32")
    end = time.monotonic() + 1
    while time.monotonic() < end: a @ a
if __name__ == "__main__":
    with multiprocessing.Pool(int(sys.argv[1])) as pool: pool.map(multiply, range(int(sys.argv[1])))
"""
GIL = """
import threading, time
end = time.monotonic() + 1
def count():
    n = 0
    while time.monotonic() < end: n += 1
threads = [threading.Thread(target=count) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
TORCH = """
import time, torch
torch.set_num_threads(2)
a, end = torch.rand(256, 256), time.monotonic() + 1.5
while time.monotonic() < end: torch.relu(a @ a)
"""


def python_with(module):
    """An interpreter that has it, this one or the distribution's; None: there is none."""
    for path in (sys.executable, "/usr/bin/python3"):
        done = os.path.exists(path) and subprocess.run([path, "-c", "import " + module],
                                                       capture_output=True, check=False)
        if done and done.returncode == 0:
            return path
    return None


def blas_pool_of(path):
    """Whether the BLAS that a program gets here has threads of its own."""
    probe = subprocess.run([path, "products", "0.05"], capture_output=True, check=False, env=environment())
    return probe.returncode == 0


def waiting(use):
    return use["spin_share"] + use["idle_worker_share"]


def busy_seconds():
    """That all CPUs of this test were used, by anyone."""
    names = ["cpu%d" % cpu for cpu in CPUS]
    with open("/proc/stat") as file:
        lines = [line.split() for line in file if line.split(" ")[0] in names]
    return TICK * sum(int(word) for line in lines for i, word in enumerate(line[1:8]) if i not in (3, 4))


NUMPY, TORCH_PYTHON = python_with("numpy"), python_with("torch")


class ThreadUse(RunTest):
    def threads(self, *command, options=(), cpus=None, start=(), calls=False, **changes):
        """The report's threads, and which share of the CPUs other programs took meanwhile."""
        words = list(start) + (["taskset", "-c", ",".join(map(str, cpus))] if cpus else []) + list(command)
        began, used = time.monotonic(), busy_seconds()
        watched = [] if calls else ["--no-calls"]
        done, report = self.run_json(*words, options=["--no-counters", *watched, *options],
                                     env=environment(**changes))
        self.assertEqual(done.returncode, 0, done.stderr)
        took = time.monotonic() - began
        others = (busy_seconds() - used - report["user_s"] - report["system_s"]) / (took * len(CPUS))
        return report["threads"], others, done.stdout

    def check_shares(self, use):
        shares = [use[name] for name in ("arithmetic_share", "other_share", "spin_share", "idle_worker_share")]
        self.assertAlmostEqual(sum(shares), 1, places=6)
        self.assertTrue(all(0 <= share <= 1 for share in shares), use)
        for state in ("run_ns", "ready_ns", "blocked_ns"):
            if use[state] is not None:
                self.assertAlmostEqual(sum(pool[state] or 0 for pool in use["pools"]), use[state], delta=1)


@unittest.skipUnless(os.uname().machine == "x86_64", "loops that wait are only known in x86-64 code")
class Waits(ThreadUse):
    WAIT = ("poll", "volatile", "pause", "yield", "spinlock", "test-and-set", "then-swap", "two",
            "counted", "swap")
    WORK = ("chase", "find", "collatz", "hash", "count", "delay", "sum", "copy", "fill", "search",
            "length", "sort")

    def test_every_kind_of_wait_is_found_and_no_work_is_taken_for_one(self):
        for path in WAITS:
            for kind in self.WAIT:
                with self.subTest(path=path, kind=kind):
                    use, _, _ = self.threads(path, "wait-" + kind, "150")
                    self.check_shares(use)
                    self.assertGreater(waiting(use), 0.9, use)
            for kind in self.WORK:
                with self.subTest(path=path, kind=kind):
                    use, _, _ = self.threads(path, "work-" + kind, "150")
                    # One sample may lie where the first thread goes to sleep until the other ends.
                    self.assertLess(use["spin_share"] + use["idle_worker_share"], 0.05, use)

    def test_real_programs_that_work_do_not_wait(self):
        data = self.path("data")
        with open(data, "wb") as file:
            file.write(bytes(i * i % 251 for i in range(1 << 20)) * 4)
        for command in (["xz", "-k", "-c", "-1"], ["sha256sum"], ["gzip", "-c"], ["sort"]):
            if shutil.which(command[0]) is None:
                continue
            with self.subTest(command=command):
                use, _, _ = self.threads("sh", "-c", " ".join(command) + " " + data + " > /dev/null")
                self.assertLess(waiting(use), 0.01, use)
                self.assertEqual(use["sentences"], [])

    def test_an_unbalanced_loop_spins_as_long_as_its_threads_say(self):
        for name, path in LOADS.items():
            if not path:
                continue
            with self.subTest(name):
                use, _, told = self.threads(path, "unbalanced", "1", "2")
                self.check_shares(use)
                self.assertAlmostEqual(use["spin_share"], float(told), delta=0.06)
                self.assertEqual(use["pools"][0]["name"], name)

    @unittest.skipUnless(LOADS["libgomp"], "built without OpenMP")
    def test_threads_of_a_running_process_are_seen(self):
        with subprocess.Popen([LOADS["libgomp"], "unbalanced", "3", "2"], stdout=subprocess.DEVNULL,
                              env=environment()) as load:
            time.sleep(0.5)
            report = self.path("attached.json")
            done = hwprof("attach", "--no-ladder", "--seconds", "1", "--format", "json", "-o", report,
                          str(load.pid))
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(report) as file:
                use = json.load(file)["threads"]
        self.check_shares(use)
        self.assertGreater(use["spin_share"], 0.1)
        self.assertGreater(use["coverage"], 0.9)
        self.assertEqual(use["pools"][0]["name"], "libgomp")

    @unittest.skipUnless(LOADS["libgomp"], "built without OpenMP")
    def test_arithmetic_does_not_spin(self):
        use, _, _ = self.threads(LOADS["libgomp"], "arithmetic", "0.5")
        self.assertGreater(use["arithmetic_share"], 0.9)
        self.assertEqual(use["spin_share"], 0)

    @unittest.skipUnless(LOADS["libgomp"], "built without OpenMP")
    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_a_user_sees_what_root_sees(self):
        root, _, told = self.threads(LOADS["libgomp"], "yield", "0.7")
        self.assertFalse(root["estimated"])
        self.assertAlmostEqual(waiting(root), float(told), delta=0.06)
        other, _, told = self.threads(LOADS["libgomp"], "yield", "0.7", options=["--user", "nobody"])
        self.assertAlmostEqual(waiting(other), float(told), delta=0.06)

    @unittest.skipUnless(LOADS["libgomp"], "built without OpenMP")
    @unittest.skipUnless(os.geteuid() == 0, "needs root to become another user")
    def test_an_ordinary_user_gets_an_estimate_of_yields(self):
        done = subprocess.run(
            [BINARY, "run", "--no-ladder", "--no-calls", "--format", "json", "--", LOADS["libgomp"],
             "yield", "0.7"], capture_output=True, text=True, check=False, env=environment(),
            user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
        if "Permission denied" in done.stderr and done.returncode != 0:
            self.skipTest("nobody cannot start the programs of this build")
        use = json.loads(done.stderr)["threads"]
        if use["spin_share"] is None:
            self.skipTest(use["spin_reason"])
        self.assertTrue(use["estimated"] or use["coverage"] > 0.9, use)
        told = float(done.stdout)
        self.assertAlmostEqual(waiting(use), told, delta=0.12)


@unittest.skipUnless(len(CPUS) > 1, "needs two CPUs")
class Matrix(ThreadUse):
    """Each program and setting with the sentence that is true of it."""

    TWO = CPUS[:2]
    ONE = CPUS[:1]
    QUIET = 0.03  # of the CPUs, for others: beyond it much is not to be said

    def said(self, expected, *command, allowed=(), fix=None, cpus=None, tries=3, **more):
        """`expected`: a part of a sentence that is to be said, or nothing; any other sentence but
        one with a part in `allowed` is wrong, on a busy machine too."""
        for _ in range(tries):
            use, others, _ = self.threads(*command, cpus=cpus or self.TWO, **more)
            for sentence in use["sentences"]:
                self.assertTrue(any(part in sentence["text"] for part in (expected, *allowed) if part),
                                sentence)
                self.assertNotIn("KMP_BLOCKTIME", sentence["fix"] or "")
                self.assertNotIn("times faster", sentence["text"])
                self.assertTrue(sentence["evidence"])
            found = [s for s in use["sentences"] if expected and expected in s["text"]]
            if found or not expected:
                break
        if expected and not found and others > self.QUIET:
            self.skipTest("other programs took %.0f %% of the CPUs" % (100 * others))
        if expected:
            self.assertTrue(found, use)
        if fix:
            self.assertIn(fix, found[0]["fix"])

    def load(self, name):
        if not LOADS[name]:
            self.skipTest("no OpenMP of " + name)
        return LOADS[name]

    def with_blas(self):
        path = self.load("libgomp")
        if not blas_pool_of(path):
            self.skipTest("no BLAS is installed")
        return path

    # --- Barriers.
    def test_libgomp_unbalanced(self):
        self.said("spinning at libgomp's barriers: the work is unbalanced", self.load("libgomp"), "unbalanced", "1",
                  "2", allowed=["libgomp's barriers"])

    def test_libgomp_unbalanced_active(self):
        self.said("spinning at libgomp's barriers", self.load("libgomp"), "unbalanced", "1", "2",
                  OMP_WAIT_POLICY="active")

    def test_libomp_unbalanced(self):
        self.said("spinning at libomp's barriers", self.load("libomp"), "unbalanced", "1", "2")

    def test_libgomp_unbalanced_passive_is_blocked(self):
        self.said("", self.load("libgomp"), "unbalanced", "1", "2", OMP_WAIT_POLICY="passive")

    def test_one_thread_has_no_barrier(self):
        self.said("", self.load("libgomp"), "unbalanced", "1", "1")

    def test_libgomp_balanced(self):
        # Others on the machine make any barrier a wait.
        self.said("", self.load("libgomp"), "balanced", "1", "2", allowed=["libgomp's barriers"])

    def test_libomp_balanced(self):
        self.said("", self.load("libomp"), "balanced", "1", "2", allowed=["libomp's barriers"])

    def test_own_loop_over_sched_yield(self):
        # In the function that the thread was started with.
        self.said("idle workers of thread_loads", self.load("libgomp"), "yield", "1")

    def test_own_loop_that_pauses(self):
        if not WAITS:
            self.skipTest("not built")
        self.said("that only wait", WAITS[0], "wait-pause", "500")

    # --- Too many threads.
    def test_libgomp_four_threads(self):
        self.said("4 busy threads share 2 CPUs" if len(CPUS) == 2 else "4 busy threads are pinned",
                  self.load("libgomp"), "balanced", "1.5", "4", allowed=["libgomp's barriers"],
                  fix="OMP_NUM_THREADS=2")

    def test_libgomp_eight_active_threads(self):
        self.said("8 busy threads", self.load("libgomp"), "balanced", "1.5", "8",
                  allowed=["libgomp's barriers"], fix="OMP_NUM_THREADS=2", OMP_WAIT_POLICY="active")

    def test_libomp_eight_threads(self):
        self.said("8 busy threads", self.load("libomp"), "balanced", "1.5", "8",
                  allowed=["libomp's barriers"], fix="OMP_NUM_THREADS=2")

    # --- Pinned.
    def test_libgomp_pinned(self):
        self.said("2 busy threads are pinned to 1 of", self.load("libgomp"), "balanced", "1.5", "2",
                  cpus=self.ONE, allowed=["libgomp's barriers"], fix="OMP_NUM_THREADS=1")

    def test_libgomp_pinned_active(self):
        self.said("2 busy threads are pinned to 1 of", self.load("libgomp"), "balanced", "1.5", "2",
                  cpus=self.ONE, allowed=["libgomp's barriers"], OMP_WAIT_POLICY="active")

    def test_libomp_pinned(self):
        self.said("2 busy threads are pinned to 1 of", self.load("libomp"), "balanced", "1.5", "2",
                  cpus=self.ONE, allowed=["libomp's barriers"])

    def test_one_thread_pinned(self):
        self.said("", self.load("libgomp"), "arithmetic", "0.7", cpus=self.ONE)

    # --- BLAS.
    def test_small_products(self):
        self.said("OpenBLAS", self.with_blas(), "products", "1.5", OPENBLAS_NUM_THREADS="2",
                  allowed=["OpenBLAS"])

    def test_small_products_of_one_thread(self):
        self.said("", self.with_blas(), "products", "1", OPENBLAS_NUM_THREADS="1")

    def test_a_pool_inside_a_pool(self):
        self.said("OpenBLAS's pool lies inside libgomp's", self.with_blas(), "product", "1.5", "2",
                  allowed=["OpenBLAS's barriers", "idle workers of OpenBLAS"],
                  fix="OPENBLAS_NUM_THREADS=1", calls=True)

    def test_which_pool_lies_inside_the_other(self):
        # On a busy machine too: it is counted, not timed.
        use, _, _ = self.threads(self.with_blas(), "product", "1.5", "2", cpus=self.TWO, calls=True)
        nested, = use["nested"]
        self.assertEqual((nested["outer"], nested["inner"]), ("libgomp", "OpenBLAS"))
        self.assertGreaterEqual(nested["calls"], 20)
        for words, more in ((["products", "1"], {}),
                            (["product", "1", "2"], {"OPENBLAS_NUM_THREADS": "1"})):
            use, _, _ = self.threads(self.with_blas(), *words, cpus=self.TWO, calls=True, **more)
            self.assertEqual(use["nested"], [])

    def test_one_thread_of_blas_inside_a_pool(self):
        self.said("", self.with_blas(), "product", "1", "2", OPENBLAS_NUM_THREADS="1")

    # --- Python.
    @unittest.skipUnless(NUMPY, "no numpy")
    def test_processes_with_a_pool_each(self):
        self.said("4 processes x 2 threads", NUMPY, "-c", POOL, "4",
                  allowed=["processes", "OpenBLAS"], fix="OPENBLAS_NUM_THREADS=1")

    @unittest.skipUnless(NUMPY, "no numpy")
    def test_processes_with_a_thread_each(self):
        # 4, or 5: the parent counts where it took a tenth of a child's time to start.
        self.said("busy processes", NUMPY, "-c", POOL, "4", OPENBLAS_NUM_THREADS="1")

    @unittest.skipUnless(NUMPY, "no numpy")
    def test_as_many_processes_as_cpus(self):
        self.said("", NUMPY, "-c", POOL, "2", OPENBLAS_NUM_THREADS="1")

    def test_threads_that_take_turns(self):
        self.said("", sys.executable, "-c", GIL)

    def test_sleep(self):
        self.said("", sys.executable, "-c", "import time; time.sleep(0.5)")

    @unittest.skipUnless(TORCH_PYTHON, "no torch")
    def test_torch_beside_its_blas(self):
        self.said("", TORCH_PYTHON, "-c", TORCH, allowed=["barriers", "idle workers", "busy threads"])

    # --- Quota.
    def group(self):
        """A cgroup of one CPU, and how a shell enters it."""
        if os.geteuid() != 0:
            self.skipTest("needs root")
        name = "hwprof-test-%d" % os.getpid()
        for base, values in (("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "100000"}),
                             ("/sys/fs/cgroup", {"cpu.max": "100000 100000"})):
            folder = os.path.join(base, name)
            try:
                os.mkdir(folder)
            except OSError:
                continue
            self.addCleanup(os.rmdir, folder)
            try:
                for file, value in values.items():
                    with open(os.path.join(folder, file), "w") as setting:
                        setting.write(value)
                return folder
            except OSError:
                continue
        self.skipTest("no cgroup can be made")

    def test_quota(self):
        enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.group()]
        self.said("quota of 1 CPU", self.load("libgomp"), "balanced", "1.5", "2", start=enter,
                  allowed=["libgomp's barriers"], fix="OMP_NUM_THREADS=1")

    def test_quota_that_suffices(self):
        enter = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', self.group()]
        self.said("", self.load("libgomp"), "arithmetic", "0.7", start=enter)


if __name__ == "__main__":
    unittest.main()
