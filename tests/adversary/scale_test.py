"""Programs far larger than those that people profile: hwprof stays within its budgets, says when one
ends, and the numbers that remain are right."""

import json
import os
import subprocess
import sys
import textwrap
import time

import harness
from coverage_harness import called, count
from evidence_harness import CALLER, EvidenceTest, can_sample, has_uprobes, needs_samples, read_tracing

MIB = 1 << 20
MOST_MEMORY = 200 * MIB
# A minute by hand: HWPROF_SCALE_SECONDS=60.
SECONDS = float(os.environ.get("HWPROF_SCALE_SECONDS", "5"))

THREADS = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void* work(void* none) {
  for (;;) {
    volatile double x = 0;
    for (int i = 0; i < 1000; i++) x += i;
    usleep(200000);
  }
  return none;
}
int main(int count, char** values) {
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 1 << 16);
  for (int i = atoi(values[1]); i > 1; i--) {
    pthread_t thread;
    if (pthread_create(&thread, &small, work, NULL) != 0) return 77;
  }
  puts("up");
  fflush(stdout);
  work(NULL);
  return count;
}
"""

# Leaves a process behind, and ends with 5.
ENDLESS = """
#define _GNU_SOURCE
#include <linux/prctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int count, char** values) {
  if (count == 1 && fork() != 0) {
    usleep(300000);
    return 5;
  }
  const unsigned long size = 2UL << 30;
  char* zeros = mmap(0, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  char text[4096] = "";
  FILE* file = fopen("/proc/self/stat", "r");
  if (fread(text, 1, sizeof text - 1, file) == 0) return 77;
  unsigned long field[64] = {0};
  int number = 3;
  for (char* word = strtok(strrchr(text, ')') + 2, " "); word && number < 64;
       word = strtok(0, " "))
    field[number++] = strtoull(word, 0, 10);
  struct prctl_mm_map map;
  memset(&map, 0, sizeof map);
  map.start_code = field[26];
  map.end_code = field[27];
  map.start_stack = field[28];
  map.start_data = field[45];
  map.end_data = field[46];
  map.start_brk = field[47];
  map.brk = (unsigned long)sbrk(0);
  map.arg_start = (unsigned long)zeros;
  map.arg_end = (unsigned long)zeros + size - 4096;
  map.env_start = field[50];
  map.env_end = field[51];
  map.exe_fd = -1;
  if (prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) != 0) return 77;
  if (count == 1) {
    setsid();
    for (int fd = 0; fd < 3; fd++) close(fd);
    sleep(5);
  }
  return values == 0;
}
"""


def peak_memory(pid):
    """Of this process of hwprof and of those that it has forked, in bytes."""
    total = 0
    try:
        with open("/proc/%d/status" % pid) as file:
            fields = dict(line.split(":", 1) for line in file)
        total = int(fields["VmHWM"].split()[0]) * 1024
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            children = [int(child) for child in file.read().split()]
        for child in children:
            if os.path.realpath("/proc/%d/exe" % child) == os.path.realpath(harness.BINARY):
                total = max(total, peak_memory(child))
    except (OSError, KeyError):
        pass
    return total


class Scale(EvidenceTest):
    def observe(self, *arguments, timeout=300, expected=0):
        """Runs hwprof; gives the report. Its memory stays within the budget all the time."""
        report = self.path("report.json")
        arguments = [arguments[0], "--no-ladder", "--format", "json", "-o", report, *arguments[1:]]
        with subprocess.Popen([harness.BINARY, *arguments], stderr=subprocess.PIPE, text=True,
                              env=harness.environment()) as hwprof:
            peak, end = 0, time.time() + timeout
            while hwprof.poll() is None and time.time() < end:
                peak = max(peak, peak_memory(hwprof.pid))
                time.sleep(0.05)
            self.assertIsNotNone(hwprof.poll(), "it does not end")
            self.assertEqual(hwprof.returncode, expected, hwprof.stderr.read())
        self.assertGreater(peak, 0)
        self.assertLess(peak, MOST_MEMORY)
        with open(report) as file:
            parsed = json.load(file)
        self.assertNotIn("worker", [warning["code"] for warning in parsed["warnings"]])
        return parsed

    def observe_python(self, code):
        return self.observe("run", "--", sys.executable, "-c",
                            "import ctypes, mmap, os, sys, time\n" + textwrap.dedent(code))

    def test_what_was_taken_of_the_budgets_is_printed(self):
        done = harness.hwprof("run", "--verbose", "--no-ladder", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"monitor: \d+ MiB of memory at most; "
                                      r"\d+ of 8192 probes in \d+ of 256 files, "
                                      r"\d+ KiB of \d+ MiB of rings")
        self.assertRegex(done.stderr, r"worker: \d+ MiB of memory at most; "
                                      r"descriptors of events up to -?\d+ of \d+")
        if can_sample():
            self.assertRegex(done.stderr, r"samples: \d+ of 400 files open, "
                                          r"\d+ KiB of 64 MiB of generated code")

    def test_5000_threads(self):
        program = subprocess.Popen([self.compile("threads", THREADS, "-pthread"), "5000"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        if program.stdout.readline() != "up\n":
            self.skipTest("the machine allows no 5000 threads")
        report = self.observe("attach", "--seconds", "2", str(program.pid))
        self.assertGreater(report["user_s"] + report["system_s"], 0)
        # All are watched, or the report says which limit kept it from that.
        if called(report)["executions_watched"] != called(report)["executions"]:
            self.assertEqual(report["blas"]["verdict"], "inconclusive")
            self.assertTrue(called(report)["blind_to"] or called(report)["reason"])
        for name, event in report["counters"].items():
            if event["value"] is None:
                self.assertTrue(event["reason"], name)

    def test_10000_mapped_files(self):
        """400 of them hold code that runs; the rest is mapped for execution as well."""
        report = self.observe_python("""
            folder = %r
            spin = (b'\\xb8\\x00\\x00\\x40\\x00\\xff\\xc8\\x75\\xfc\\xc3'
                    if os.uname().machine == 'x86_64' else b'\\xc0\\x03\\x5f\\xd6')
            kept = []
            for number in range(10000):
                path = os.path.join(folder, 'code%%d' %% number)
                with open(path, 'w+b') as file:
                    file.write(spin.ljust(4096, b'\\xc3'))
                    file.flush()
                    kept.append(mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE,
                                          mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC))
                os.unlink(path)
                if number %% 25 == 0:
                    view = ctypes.c_char.from_buffer(kept[-1])
                    ctypes.CFUNCTYPE(None)(ctypes.addressof(view))()
            """ % self.folder)
        self.assertIsNotNone(report["blas"]["evidence"]["loaded"])

    @needs_samples
    def test_code_is_made_and_freed_all_the_time(self):
        report = self.observe_python("""
            spin = (b'\\xb8\\x00\\x00\\x40\\x00\\xff\\xc8\\x75\\xfc\\xc3'
                    if os.uname().machine == 'x86_64' else b'\\xc0\\x03\\x5f\\xd6')
            end = time.time() + %g
            while time.time() < end:
                code = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
                code.write(spin)
                view = ctypes.c_char.from_buffer(code)
                ctypes.CFUNCTYPE(None)(ctypes.addressof(view))()
                del view
                code.close()
            """ % SECONDS)
        executed = report["blas"]["evidence"]["executed"]
        self.assertGreater(executed["samples"], 0)
        self.assertNotIn("files were executed", " ".join(executed["notes"]))

    def test_short_children_200_a_second(self):
        children = int(200 * SECONDS)
        report = self.observe_python("""
            for number in range(%d):
                due = time.time() + 0.005
                pid = os.posix_spawn('/bin/true', ['true'], {})
                assert os.waitpid(pid, 0)[1] == 0
                time.sleep(max(0, due - time.time()))
            """ % children)
        if called(report)["executions"] is not None:
            self.assertEqual(called(report)["executions"], children + 1)

    def test_50_at_once(self):
        """Each counts the calls of its own program, and no probe outlives them."""
        program = [CALLER, "tiny", "20"] if CALLER else ["true"]
        hwprofs = []
        for number in range(50):
            command = [harness.BINARY, "run", "--no-ladder", "--format", "json", "-o",
                       self.path("report%d.json" % number), "--", *program]
            hwprofs.append(subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                            stderr=subprocess.PIPE, text=True,
                                            env=harness.environment()))
        for number, hwprof in enumerate(hwprofs):
            _, errors = hwprof.communicate(timeout=300)
            self.assertEqual(hwprof.returncode, 0, errors)
            with open(self.path("report%d.json" % number)) as file:
                report = json.load(file)
            self.assertEqual(report["exit"], 0)
            self.assertNotIn("worker", [warning["code"] for warning in report["warnings"]])
            if CALLER and called(report)["how"] != "none" and not called(report)["lost"]:
                self.assertEqual(count(report), 20, called(report))
        if has_uprobes():
            self.assertNotIn("hwprof", read_tracing("uprobe_events"))

    def test_a_command_line_without_end(self):
        """A process may move its arguments to where there are 2 GiB of zeros."""
        program = self.compile("endless", ENDLESS)
        if subprocess.run([program, "try"]).returncode == 77:
            self.skipTest("the kernel lets no process move its arguments")
        report = self.observe("run", "--", program, expected=5)
        self.assertEqual(report["exit"], 5)


if __name__ == "__main__":
    harness.main()
