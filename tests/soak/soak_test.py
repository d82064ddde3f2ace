"""hwprof for a long time, many at once, where nothing can be written any more, and killed at any
moment: what it takes stays flat, the command goes on, nothing is left behind.

Ten seconds a test; an hour by hand: HWPROF_SOAK_SECONDS=3600. docs/reliability.md has the figures.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import harness
from evidence_harness import CALLER, AS_ROOT, EvidenceTest, has_uprobes, needs_caller, needs_root, \
    read_tracing, sites
from harness import BINARY
from leftovers_harness import LeftoversTest

SECONDS = float(os.environ.get("HWPROF_SOAK_SECONDS", "10"))
KILLS = int(os.environ.get("HWPROF_SOAK_KILLS", "10"))
PROCESSES_A_SECOND = 100
MIB = 1 << 20
# Above the most of the first quarter: room for 20,000 threads, 100,000 mappings, and new places.
MOST_GROWTH = 16 * MIB
# Sessions that set uprobes at once after many short processes have met a BUG of Linux 6.18
# (list_debug.c), after which no process that has one ends. So this is not for machines in use.
needs_uprobes = unittest.skipUnless(os.environ.get("HWPROF_SOAK_UPROBES") and has_uprobes(),
                                    "asked for by HWPROF_SOAK_UPROBES=1; needs uprobes, as root")
needs_mounts = unittest.skipUnless(AS_ROOT and shutil.which("unshare"),
                                   "needs root, to mount a disk that is full")

# SECONDS, PROCESSES_A_SECOND; prints how many it has started.
SHORT_PROCESSES = """
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}
int main(int count, char** values) {
  const double begin = now(), seconds = atof(values[1]), rate = atof(values[2]);
  char* words[] = {"true", NULL};
  char* none[] = {NULL};
  long started = 0;
  int status = 0;
  while (now() - begin < seconds) {
    pid_t pid = 0;
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, none) != 0) return 1;
    if (waitpid(pid, &status, 0) != pid || status != 0) return 2;
    ++started;
    const double early = begin + (double)started / rate - now();
    if (early > 0) usleep((useconds_t)(1e6 * early));
  }
  printf("%ld\\n", started);
  return count < 3;
}
"""


def processes_of(pid):
    """This process of hwprof, and those of hwprof that it has forked."""
    found = [pid]
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                for child in map(int, file.read().split()):
                    if os.path.realpath("/proc/%d/exe" % child) == os.path.realpath(BINARY):
                        found += processes_of(child)
    except OSError:
        pass  # it has ended
    return found


def taken(pid):
    """Memory in bytes, without that of files, and open descriptors, of all parts of a hwprof."""
    memory = descriptors = 0
    for one in processes_of(pid):
        try:
            with open("/proc/%d/status" % one) as file:
                fields = dict(line.split(":", 1) for line in file)
            memory += sum(int(fields[name].split()[0]) * 1024 for name in ["RssAnon", "RssShmem"])
            descriptors += len(os.listdir("/proc/%d/fd" % one))
        except (OSError, KeyError):
            pass  # it has ended
    return memory, descriptors


def probes():
    return (read_tracing("uprobe_events") or "").count("hwprof_") if has_uprobes() else 0


class ShortProcesses(EvidenceTest):
    """What a session takes does not grow with the processes that it has seen."""

    def check(self, *options, **more):
        report = self.path("report.json")
        command = [BINARY, "run", "--no-ladder", "--format", "json", "-o", report, *options, "--",
                   self.compile("short", SHORT_PROCESSES), "%g" % SECONDS,
                   str(PROCESSES_A_SECOND)]
        samples = []
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=harness.environment(), **more) as hwprof:
            begin = time.monotonic()
            time.sleep(min(2, SECONDS / 8))  # until it has begun
            while hwprof.poll() is None and time.monotonic() - begin < SECONDS - 0.5:
                samples.append((*taken(hwprof.pid), probes()))
                print("%6.0f s: %6.1f MiB, %3d descriptors, %3d probes" % (
                    time.monotonic() - begin, samples[-1][0] / MIB, *samples[-1][1:]), flush=True)
                time.sleep(min(10, SECONDS / 16))
            out, errors = hwprof.communicate(timeout=120 + SECONDS)
        self.assertEqual(hwprof.returncode, 0, errors)
        started = int(out)
        with open(report) as file:
            called = json.load(file)["blas"]["evidence"]["called"]
        print("%d processes in %g s; seen: %s" % (started, SECONDS, called["executions"]))
        if called["executions"] is not None:
            self.assertEqual(called["executions"], started + 1)
        self.assertGreaterEqual(len(samples), 8)
        first, later = samples[:len(samples) // 4], samples[len(samples) // 4:]
        for what, most, at in [("memory", MOST_GROWTH, 0), ("descriptors", 16, 1), ("probes", 0, 2)]:
            self.assertLessEqual(max(sample[at] for sample in later),
                                 max(sample[at] for sample in first) + most, what)
        self.assertEqual(probes(), 0)

    def test_without_rights(self):
        self.check(**(self.as_nobody() if AS_ROOT else {}))

    @needs_root
    def test_as_root(self):
        self.check()

    @needs_uprobes
    def test_with_uprobes(self):
        self.check("--calls-by", "uprobes")


@needs_caller
class AtOnce(EvidenceTest):
    """Eight of them watch the calls of one library; each counts those of its own command."""

    def check(self, *options):
        hwprofs = []
        for number in range(8):
            command = [BINARY, "run", "--no-ladder", "--format", "json", "-o",
                       self.path("report%d.json" % number), *options, "--", CALLER, "tiny",
                       str(100 + number)]
            hwprofs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True,
                                            env=harness.environment()))
        for number, hwprof in enumerate(hwprofs):
            _, errors = hwprof.communicate(timeout=120)
            self.assertEqual(hwprof.returncode, 0, errors)
            with open(self.path("report%d.json" % number)) as file:
                called = json.load(file)["blas"]["evidence"]["called"]
            if called["how"] != "none" and not called["lost"]:
                calls = sum(site["count"] for site in called["calls"] if site["symbol"] == "sgemm_")
                self.assertEqual(calls, 100 + number, called)
        self.assertEqual(probes(), 0)

    def test_on_one_library(self):
        self.check()

    @needs_uprobes
    def test_on_one_library_with_uprobes(self):
        self.check("--calls-by", "uprobes")


class Full(EvidenceTest):
    """Where nothing more can be written the command runs, and its exit code passes."""

    def run_where_full(self, folder, *arguments, env=None):
        """In a mount namespace of its own, in which no byte more fits into `folder`."""
        script = ("mount -t tmpfs -o size=16k,nr_inodes=64 none %s || exit 99; "
                  "cat /dev/zero >%s/filler 2>/dev/null; \"$@\"; code=$?; ls -A %s >&2; exit $code"
                  % ((folder,) * 3))
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", BINARY, *arguments],
                              capture_output=True, text=True, timeout=300,
                              env=harness.environment(**(env or {})))
        if done.returncode == 99:
            self.skipTest("cannot mount: " + done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], "filler", done.stderr)
        self.assertNotIn("filler\n", "".join(done.stderr.splitlines(True)[:-1]))
        return done

    def disk(self):
        folder = self.path("disk")
        os.mkdir(folder)
        return folder

    @needs_mounts
    def test_a_report_that_does_not_fit_leaves_no_part_of_it(self):
        folder = self.disk()
        done = self.run_where_full(folder, "run", "--no-ladder", "-o", folder + "/report.txt", "--",
                                   "sh", "-c", "echo out; exit 5")
        self.assertEqual((done.returncode, done.stdout), (5, "out\n"), done.stderr)
        self.assertIn("No space left", done.stderr)

    @needs_mounts
    @needs_caller
    def test_what_a_session_keeps_on_disk(self):
        """Counts of calls are files: those that do not fit are missing, with that reason."""
        report = self.path("report.json")
        done = self.run_where_full(self.disk(), "run", "--no-ladder", "--exact", "sgemm_", "-o",
                                   report, "--format", "json", "--", CALLER, "tiny", "3",
                                   env={"TMPDIR": self.path("disk")})
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report) as file:
            parsed = json.load(file)
        self.assertEqual(parsed["exact"], [])
        self.assertIn("a full disk", parsed["exact_reason"])

    @needs_mounts
    @needs_caller
    def test_dev_shm(self):
        """What hwprof shares with the command is memory of no file system."""
        report = self.path("report.json")
        done = self.run_where_full("/dev/shm", "run", "--no-ladder", "-o", report, "--format",
                                   "json", "--", CALLER, "tiny", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report) as file:
            parsed = json.load(file)
        self.assertEqual([site["count"] for site in sites(parsed, "sgemm_")], [20])


@needs_caller
class Killed(LeftoversTest):
    """At random moments of a session, of which each start says the number that repeats it."""

    def check(self, **more):
        begin = time.monotonic()
        self.start(**more).communicate(timeout=120)
        whole = time.monotonic() - begin
        seed = int(os.environ.get("HWPROF_SOAK_SEED", str(random.getrandbits(32))))
        print("HWPROF_SOAK_SEED=%d, of %.2f s" % (seed, whole), flush=True)
        moments, ended = random.Random(seed), 0
        for _ in range(KILLS):
            child = self.start(**more)
            time.sleep(moments.uniform(0, whole))
            ended += child.poll() is not None
            child.send_signal(signal.SIGKILL)
            child.stdout.read()  # until the command, which goes on, has ended
            child.stdout.close()
            self.assertIn(child.wait(), [0, -signal.SIGKILL])
            self.wait_for_workers()
        print("%d killed, %d had ended before" % (KILLS - ended, ended))
        self.assertLess(ended, KILLS)
        self.assertEqual(self.start(**more).communicate(timeout=120)[0][:3], b"up\n")
        self.assert_nothing_left()

    def test_without_rights(self):
        self.check(**(self.as_nobody() if AS_ROOT else {}))

    @needs_root
    def test_as_root(self):
        self.check()


if __name__ == "__main__":
    harness.main()
