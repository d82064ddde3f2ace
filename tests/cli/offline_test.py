"""A CPU that goes offline, before and while hwprof measures on it: a real one, through sysfs."""

import contextlib
import glob
import json
import os
import subprocess
import time
import unittest

import harness
from harness import CliTest, environment

SYSTEM = "/sys/devices/system/cpu"
LONGEST_S = 8  # that the CPU is away
PROFILE = ["--variant", "simd,fused", "--no-ladder", "--shape", "d_e=64,d_c=64,l=60,batch=16"]


def read(path):
    with open(path) as file:
        return file.read().strip()


def cpus_in(text):
    """"0,2-3" as a set."""
    cpus = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def confined_to(cpu):
    """A process that may run nowhere else, if any: the kernel would move it and not put it back."""
    for path in glob.glob("/proc/[0-9]*/task/*/status"):
        try:
            lines = dict(line.split(":\t", 1) for line in read(path).splitlines() if ":\t" in line)
        except OSError:  # it has ended
            continue
        # A thread of the kernel has no memory, and its CPU back with the CPU.
        if "VmSize" in lines and cpus_in(lines["Cpus_allowed_list"]) == {cpu}:
            return lines["Name"]
    return None


def spare_cpu():
    """(CPU to take offline, "") or (None, why not)."""
    if not os.environ.get("CI"):
        return None, "takes a CPU of this machine away for seconds; CI=true asks for that"
    if os.geteuid() != 0:
        return None, "needs root"
    cpus = os.sched_getaffinity(0)
    if len(cpus) < 2:
        return None, "needs two CPUs"
    cpu = max(cpus)
    switch = "%s/cpu%d/online" % (SYSTEM, cpu)
    if not os.access(switch, os.W_OK):
        return None, "%s cannot be written" % switch
    # Control groups of version 1 forget a CPU that was offline.
    for path in glob.glob("/sys/fs/cgroup/cpuset/*/**/cpuset.cpus", recursive=True):
        if cpu in cpus_in(read(path)):
            return None, "%s would lose CPU %d" % (path, cpu)
    if confined := confined_to(cpu):
        return None, "%s may run on CPU %d only" % (confined, cpu)
    try:
        with offline(cpu):
            if cpu in cpus_in(read(SYSTEM + "/online")):
                return None, "CPU %d stays online" % cpu
    except OSError as error:
        return None, "CPU %d cannot be taken offline: %s" % (cpu, error)
    return cpu, ""


@contextlib.contextmanager
def offline(cpu):
    """Without `cpu`, which comes back whatever happens: also where this program is killed or hangs,
    since a process of its own waits for the end of its input, for so many seconds at most."""
    switch = "%s/cpu%d/online" % (SYSTEM, cpu)
    guard = subprocess.Popen(["sh", "-c", "timeout %d cat; echo 1 > %s" % (LONGEST_S, switch)],
                             stdin=subprocess.PIPE, start_new_session=True)
    try:
        with open(switch, "w") as file:
            file.write("0")
        yield
    finally:
        guard.stdin.close()
        guard.wait()


class Offline(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.cpu, why = spare_cpu()
        if cls.cpu is None:
            raise unittest.SkipTest(why)

    def tearDown(self):
        self.assertIn(self.cpu, cpus_in(read(SYSTEM + "/online")), "it did not come back")

    def measure_and_lose(self, *arguments, back):
        """Exit code and JSON of a run whose CPU goes offline, and with `back` comes back, while it
        measures. Slices go on for the rest of the budget."""
        running = subprocess.Popen(
            [harness.BINARY, *arguments, "--pin", str(self.cpu), "--time-budget", "4",
             "--json", "-v"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(running.kill)
        # The last step before the first slice.
        while "left to measure" not in (line := running.stderr.readline()):
            self.assertTrue(line, "it ended before it measured")  # "" at the end
        time.sleep(0.3)
        with offline(self.cpu):
            if back:
                time.sleep(0.5)
            else:
                out, err = running.communicate(timeout=60)
        if back:
            out, err = running.communicate(timeout=60)
        self.assertIn(running.returncode, (0, 3), err)
        return running.returncode, json.loads(out)

    def assert_said(self, code, report, rows):
        warnings = {warning["code"]: warning["text"] for warning in report["warnings"]}
        self.assertIn("went offline", warnings["cpus-changed"])
        self.assertIn("other than %d are left out" % self.cpu, warnings["cpus-changed"])
        self.assertNotIn("migrated", warnings, "it was pinned")
        self.assertGreater(sum(row["left_out"]["elsewhere"] for row in rows), 0)
        for row in rows:
            if row["time_ns"] is not None:
                self.assertGreater(row["calls"], 0)
                continue
            self.assertIn("where it was to run", row["reason"])
            for key in ["gflops", "cpu_time_ns", "peak_fraction", "roofline_fraction", "on_cpu"]:
                self.assertIsNone(row[key], key)
            self.assertEqual([c["value"] for c in row["counters"].values() if c["value"]], [],
                             "counted on another CPU")
        self.assertEqual(code == 3, all(row["time_ns"] is None for row in rows))
        return warnings

    def test_a_cpu_that_is_offline_is_refused_and_said_to_be(self):
        for arguments in [[], ["sweep", "--op", "conv1d", "--param", "n=32:64"], ["peak"],
                          ["run", "--", "touch", self.path("ran")]]:
            at = 1 if arguments else 0
            with self.subTest(arguments), offline(self.cpu):
                done = self.assert_refused(*arguments[:at], "--pin", str(self.cpu),
                                           *arguments[at:],
                                           names="CPU %d is offline" % self.cpu)
                self.assertIn("echo 1 > %s/cpu%d/online" % (SYSTEM, self.cpu), done.stderr)

    def test_one_that_goes_while_it_measures_is_named(self):
        code, report = self.measure_and_lose(*PROFILE, back=False)
        warnings = self.assert_said(code, report, report["rows"])
        self.assertIn("CPU %d went offline" % self.cpu, warnings["cpus-changed"])

    def test_one_that_went_and_came_back_is_said_too(self):
        code, report = self.measure_and_lose(*PROFILE, back=True)
        self.assert_said(code, report, report["rows"])

    def test_a_sweep_judges_what_is_left(self):
        code, report = self.measure_and_lose("sweep", "--op", "conv1d", "--param", "n=32:256",
                                             back=True)
        self.assert_said(code, report, report["points"])
        self.assertTrue(report["text"])

    def test_blas_needs_no_certain_cpu(self):
        running = subprocess.Popen([harness.BINARY, "blas", "--quick", "--json"], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        self.addCleanup(running.kill)
        time.sleep(0.3)
        with offline(self.cpu):
            out, err = running.communicate(timeout=60)
        self.assertIn(running.returncode, (0, 1, 3), err)
        self.assertEqual(json.loads(out)["schema"], "hwprof.blas/1")


if __name__ == "__main__":
    harness.main()
