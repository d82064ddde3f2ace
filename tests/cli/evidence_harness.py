"""What the tests of evidence share: programs to observe, and who may observe them how.

BLAS_CALLER (meson sets it) is tests/blas_caller.cpp: a program that knows how many calls it makes.
"""

import ctypes
import functools
import json
import os
import platform
import pwd
import subprocess
import unittest

from harness import BINARY, CliTest, hwprof

CALLER = os.environ.get("BLAS_CALLER")
AS_ROOT = os.geteuid() == 0
TRACING = "/sys/kernel/tracing"
VERDICTS = {"optimal", "borderline", "suboptimal", "unoptimised", "overhead-bound", "wrong-results",
            "not-called", "other-library", "inconclusive"}


def nobody():
    """Options of subprocess that make the child nobody."""
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def can_sample():
    """Whether the kernel lets an ordinary user sample a program, by asking it, not hwprof."""
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            paranoid = int(file.read())
    except OSError:
        return False
    if number is None or paranoid > 2:
        return False
    # struct perf_event_attr: PERF_TYPE_SOFTWARE, 64 bytes, the CPU clock; exclude_kernel.
    attr = (ctypes.c_uint64 * 8)(1 | 64 << 32, 0, 1000000, 0, 0, 1 << 5)
    fd = ctypes.CDLL(None).syscall(number, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def read_tracing(name):
    """A file of tracefs, which need not be mounted; None where it cannot be had."""
    try:
        with open(os.path.join(TRACING, name)) as file:
            return file.read()
    except OSError:
        read = subprocess.run(["unshare", "--mount", "sh", "-c",
                               "mount -t tracefs none /mnt && cat /mnt/" + name],
                              capture_output=True, text=True)
        return read.stdout if read.returncode == 0 else None


@functools.lru_cache(maxsize=1)
def has_uprobes():
    return AS_ROOT and read_tracing("uprobe_events") is not None


needs_caller = unittest.skipUnless(CALLER, "no BLAS to link a program with (BLAS_CALLER)")
needs_samples = unittest.skipUnless(can_sample(), "the kernel does not let users sample")
needs_root = unittest.skipUnless(AS_ROOT, "needs root, to be root and nobody")


class EvidenceTest(CliTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)  # nobody writes reports here

    def as_nobody(self):
        reachable = subprocess.run([BINARY, "--version"], capture_output=True, **nobody())
        if reachable.returncode != 0:
            self.skipTest("nobody cannot reach %s" % BINARY)
        return nobody()

    def observe(self, *command, options=("--no-ladder",), **more):
        """Runs `command` under hwprof; returns (completed process, parsed report)."""
        report = self.path("report-%d.json" % len(os.listdir(self.folder)))
        done = hwprof("run", "--format", "json", "-o", report, *options, "--", *command, **more)
        self.assertTrue(os.path.exists(report), done.stderr)
        with open(report, "rb") as file:
            text = file.read()
        self.assertNotRegex(text, rb"[^\n\x20-\x7e]", "a report in JSON is plain ASCII")
        return done, json.loads(text)

    def observe_without_loss(self, *command, **more):
        """The same, up to three times: a busy machine may lose records, and the report says so."""
        for _ in range(3):
            done, report = self.observe(*command, **more)
            called = report["blas"]["evidence"]["called"]
            if called["lost"] == 0 and not report["blas"]["evidence"]["executed"]["lost"]:
                break
        self.assertEqual(called["lost"], 0, "three runs lost records of calls")
        return done, report

    def compile(self, name, source, *flags):
        path = self.path(name)
        try:
            subprocess.run([os.environ.get("CC_FOR_TESTS", "cc"), "-O1", *flags, "-o", path,
                            self.path(os.path.basename(name) + ".c", source)], check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest("cannot compile: %s" % error)
        return path


def sites(report, symbol):
    return [site for site in report["blas"]["evidence"]["called"]["calls"]
            if site["symbol"] == symbol]


def shapes(site):
    return {(s["m"], s["n"], s["k"]): s["count"] for s in site["shapes"]}


# A program whose time is in one function.
BUSY_C = """
#include <time.h>
volatile double x[64];
__attribute__((noinline)) void hot_loop_with_a_long_name_to_replace(void) {
  for (int i = 0; i < 1000000; ++i) x[i % 64] += 0.5 * i;
}
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) hot_loop_with_a_long_name_to_replace();
  return 0;
}
"""
