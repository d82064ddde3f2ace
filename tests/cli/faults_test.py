"""hwprof run: the time that a program spends in page faults, by function and line."""

import glob
import json
import platform
import subprocess
import sys
import unittest

import harness
from evidence_harness import EvidenceTest, needs_root, needs_samples
from harness import environment, hwprof
from run_harness import PLAIN, RunTest

# 40 MiB are beyond what the C library keeps (mallopt(3): at most 32 MiB): each buffer is taken from
# the kernel, and given back. Huge pages, of which a few are enough, are left out (prctl(2)).
TAKES_ANEW = """
import ctypes, time
ctypes.CDLL(None).prctl(41, 1, 0, 0, 0)
def fill():
    return b"x" * (40 << 20)
end = time.process_time() + 1.0
while time.process_time() < end: fill()
"""
COMPUTES = """
import time
end = time.process_time() + 0.7
while time.process_time() < end: sum(range(1000))
"""
# Takes blocks at the top of its heap and frees them, ROUNDS times; prints how often the heap's end
# was another one, and page faults.
AT_THE_TOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>
static char* end;
static int moved(void) {
  char* last = end;
  end = sbrk(0);
  return end != last;
}
int main(int count, char** words) {
  enum { kBlocks = 40, kBytes = 100000 };
  char* blocks[kBlocks];
  struct rusage before, after;
  int moves = 0;
  (void)count;
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
  getrusage(RUSAGE_SELF, &before);
  for (int round = 0; round < atoi(words[1]); ++round) {
    for (int i = 0; i < kBlocks; ++i, moves += moved()) {
      blocks[i] = malloc(kBytes);
      memset(blocks[i], 1, kBytes);
    }
    for (int i = 0; i < kBlocks; ++i, moves += moved()) free(blocks[i]);
  }
  getrusage(RUSAGE_SELF, &after);
  printf("%d %ld\n", moves, after.ru_minflt - before.ru_minflt);
  return 0;
}
"""


# Writes into 96 MiB, with huge pages or without; then says what the kernel says of that memory.
LARGE = r"""
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
int main(int count, char** words) {
  enum { kMiB = 1 << 20, kBytes = 96 * kMiB };
  char* area = mmap(0, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) return 1;
  madvise(area, kBytes, strcmp(words[1], "huge") == 0 ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  (void)count;
  memset(area, 1, kBytes);
  const struct timespec pause = {1, 0};
  nanosleep(&pause, 0);
  FILE* smaps = fopen("/proc/self/smaps", "r");
  char line[4096];
  unsigned long start = 0, end = 0, kib = 0;
  int inside = 0;
  while (fgets(line, sizeof line, smaps) != 0) {
    if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
      inside = start <= (unsigned long)area && (unsigned long)area < end;
    if (inside && sscanf(line, "AnonHugePages: %lu", &kib) == 1) printf("%lu\n", kib);
  }
  return 0;
}
"""


class LargeMemory(EvidenceTest):
    OPTIONS = ["--no-ladder", "--no-calls", "--no-samples"]

    def check_area(self, **user):
        program = self.compile("large", LARGE)
        for kind in ("huge", "small"):
            done, report = self.observe(program, kind, options=self.OPTIONS, **user)
            memory = report["memory"]
            self.assertIsNone(memory["reason"])
            self.assertGreaterEqual(memory["looks"], 1)
            [area] = memory["areas"]
            self.assertGreaterEqual(area["resident_bytes"], 96 << 20)
            self.assertEqual(area["huge_bytes"], int(done.stdout) << 10)
            if kind == "small":
                self.assertEqual(area["huge_bytes"], 0)
            if len(glob.glob("/sys/devices/system/node/node[0-9]*")) < 2:
                self.assertEqual(memory["nodes"], [])
                self.assertEqual(memory["nodes_reason"], "the machine has one NUMA node")

    def test_a_large_area_has_the_huge_pages_that_the_kernel_says(self):
        self.check_area()

    @needs_root
    def test_a_large_area_is_seen_by_a_user_too(self):
        self.check_area(**self.as_nobody())

    def test_a_program_without_large_areas_has_a_reason(self):
        _, report = self.observe("sleep", "0.5", options=self.OPTIONS)
        self.assertEqual(report["memory"]["areas"], [])
        self.assertEqual(report["memory"]["reason"], "no area of 16 MiB or more was seen")
        _, report = self.observe("true", options=self.OPTIONS)
        self.assertEqual(report["memory"]["reason"], "it ended before its memory was looked at")


class Heap(EvidenceTest):
    @unittest.skipUnless(platform.libc_ver()[0] == "glibc", "another C library than glibc")
    def test_it_grows_and_shrinks_as_it_does_alone(self):
        """Under LD_AUDIT glibc's malloc() never moved the heap's end, and gave nothing back."""
        # Of a program whose functions are all bound at its start, too.
        for flags in [[], ["-Wl,-z,now"], ["-fno-plt"]]:
            with self.subTest(flags):
                program = self.compile("top", AT_THE_TOP, "-fno-builtin", *flags)
                alone = subprocess.run([program, "20"], stdout=subprocess.PIPE, check=True).stdout
                watched, report = self.observe(program, "20", options=["--no-ladder",
                                                                      "--no-samples"])
                called = report["blas"]["evidence"]["called"]
                self.assertEqual(called["executions_watched"], 1, called)
                for ours, theirs in zip(watched.stdout.split(), alone.split()):
                    self.assertAlmostEqual(int(ours), int(theirs), delta=10 + int(theirs) // 50)
                self.assertGreater(int(alone.split()[0]), 20, "it moves the end of its heap")


@needs_root  # who may sample the kernel
@needs_samples
class Faults(RunTest):
    def observed(self, code, *options):
        path = self.path("program.py")
        with open(path, "w") as file:
            file.write(code)
        report = self.path("report.json")
        done = hwprof("run", *PLAIN, *options, "--format", "json", "-o", report, "--", sys.executable,
                      path, env=environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report) as file:
            return json.load(file)

    def sentences(self, report):
        return [text for text in report["blas"]["findings"] if text.startswith("Page faults take ")]

    def test_memory_that_is_taken_anew_is_said_with_its_remedy(self):
        report = self.observed(TAKES_ANEW, "--lines")
        (sentence,) = self.sentences(report)
        self.assertRegex(sentence, r"At least .*GiB were touched, and no process held more than "
                                   r".*MiB: the same memory is given back and taken anew\.")
        self.assertIn("--try GLIBC_TUNABLES=", sentence)
        (line,) = [line for line in report["lines"] if line["function"] == "fill"]
        faults = {part["what"]: part["share"] for part in line["parts"]}.get("[page faults]", 0)
        self.assertGreater(faults, 0.15, line)

    def test_that_is_said_beside_an_open_verdict_too(self):
        report = self.observed(TAKES_ANEW, "--no-calls")
        self.assertEqual(report["blas"]["verdict"], "inconclusive")
        self.assertEqual(len(self.sentences(report)), 1)

    def test_a_loop_has_none(self):
        report = self.observed(COMPUTES)
        self.assertEqual(self.sentences(report), [])
        shares = report["blas"]["evidence"]["executed"]["by_library"]
        self.assertLess(shares.get("[page faults]", 0), 0.1, shares)


if __name__ == "__main__":
    harness.main()
