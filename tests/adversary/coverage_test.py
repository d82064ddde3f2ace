"""That no BLAS was called is said only where every program that ran was watched whole."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import time
import unittest

import harness
from coverage_harness import BY_UPROBES, CoverageTest, called, count, needs_uprobes
from evidence_harness import AS_ROOT, has_uprobes, needs_root, needs_samples, sites
from harness import BINARY

THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void* wait_for_ever(void* none) { for (;;) pause(); return none; }
int main(void) {
  pthread_t thread;
  for (int i = 0; i < 700; ++i) pthread_create(&thread, NULL, wait_for_ever, NULL);
  printf("up\n");
  fflush(stdout);
  for (volatile unsigned long i = 0; ; ++i) {}
}
"""
STARTED_BY_A_THREAD = r"""
#include <pthread.h>
#include <unistd.h>
static void* start(void* words) { execv(((char**)words)[1], (char**)words + 1); return words; }
int main(int count, char** words) {
  pthread_t thread;
  pthread_create(&thread, NULL, start, words);
  for (;;) pause();
}
"""
# Forked without an execve, as by multiprocessing: they take turns, all but one end, and that one calls.
POOL = r"""
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
enum { kWorkers = 8, kTurns = 20 };
int main(int count, char** words) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  void (*sgemm)() = (void (*)())dlsym(dlopen(words[1], RTLD_NOW), "sgemm_");
  int pipes[kWorkers][2];
  char turn = 0;
  for (int i = 0; i < kWorkers; ++i) if (pipe(pipes[i]) != 0) return 9;
  for (int i = 0; i < kWorkers; ++i) {
    if (fork() != 0) continue;
    for (int j = 0; j < kTurns; ++j)
      if (read(pipes[i][0], &turn, 1) != 1 || write(pipes[(i + 1) % kWorkers][1], &turn, 1) != 1)
        return 9;
    if (i < kWorkers - 1) return 0;
    usleep(100000);
    for (int j = 0; j < atoi(words[2]); ++j)
      sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    return 0;
  }
  if (write(pipes[0][1], &turn, 1) != 1) return 9;
  while (wait(NULL) > 0) {}
  return 0;
}
"""
# Starts another program; may be run and not read.
WRAPPER = r"""
#include <unistd.h>
int main(int count, char** words) { return execv(words[1], words + 1); }
"""
STATIC = r"""
int main(void) { for (volatile unsigned long i = 0; i < 900000000UL; ++i) {} return 0; }
"""
# As root of a user namespace of its own, which any user may make.
# Two seconds in calls; two processes at once, each the first of its own pid namespace, with a word.
SLOW_PRODUCT = """
#include <unistd.h>
void sgemm_() { usleep(100000); }
"""
SAME_NUMBERS = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>
void sgemm_();
static void calls(void) {
  static float a[16 * 16], b[16 * 16], c[16 * 16];
  const int n = 16;
  const float one = 1, zero = 0;
  for (int i = 0; i < 20; ++i) sgemm_("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
}
int main(int count, char** words) {
  if (count == 1) return calls(), 7;
  for (int i = 0; i < 2; ++i) {
    if (fork() != 0) continue;
    if (unshare(CLONE_NEWPID) != 0) return 9;
    if (fork() == 0) return calls(), 0;
    return wait(NULL) < 0;
  }
  while (wait(NULL) > 0) {}
  return 7;
}
"""
OWN_NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount"]


def can_unshare(**more):
    try:
        return subprocess.run([*OWN_NAMESPACES, "true"], capture_output=True,
                              **more).returncode == 0
    except OSError:
        return False


def needed_by(program):
    """What the loader maps for it, by ldd."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return re.findall(r"(/[^ ]+) \(0x", text)


class Coverage(CoverageTest):
    @needs_samples
    def test_no_call_is_said_where_all_was_watched(self):
        ways = [(["--no-ladder"], self.more())] + ([(BY_UPROBES, {})] if has_uprobes() else [])
        for options, more in ways:
            with self.subTest(options):
                done, report = self.observe("sh", "-c", "/bin/true; /bin/true; exit 3",
                                            options=options, **more)
                self.assertEqual(done.returncode, 3)
                self.assertEqual(called(report)["executions"], 3)
                if options is BY_UPROBES and called(report)["executions_watched"] < 3:
                    self.check_inconclusive(report)  # a kernel that exchanges events
                    continue
                self.assertEqual(called(report)["executions_watched"], 3)
                self.assertEqual(report["blas"]["verdict"], "not-called", report["blas"]["why"])

    @needs_samples
    def test_a_program_in_a_user_namespace_keeps_its_table_to_itself(self):
        more = self.more()
        if not can_unshare(**more):
            self.skipTest("the kernel lets users make no namespaces")
        _, report = self.observe(*OWN_NAMESPACES, self.program, self.library, "200", **more)
        self.assertEqual(called(report)["executions"], 2)
        self.check_inconclusive(report)

    @needs_samples
    def test_a_static_program_is_not_watched_by_its_loader(self):
        static = self.compile("static", "int main(void) { return 0; }", "-static")
        _, report = self.observe("sh", "-c", static + "; true", **self.more())
        self.assertEqual(called(report)["executions"], 2)
        self.check_inconclusive(report)

    @needs_uprobes
    def test_root_sees_calls_in_other_namespaces(self):
        for user in [[], ["--user", "nobody"]]:
            more = self.as_nobody() if user else {}
            if not can_unshare(**more):
                continue
            with self.subTest(user):
                _, report = self.observe(
                    *OWN_NAMESPACES, "sh", "-c",
                    "mount -t tmpfs none /mnt && cp %s /mnt/libelsewhere.so && "
                    "exec %s /mnt/libelsewhere.so 300 0.3" % (self.library, self.program),
                    options=[*BY_UPROBES, *user])
                self.assertEqual(count(report), 300, called(report))
                self.assertEqual(sites(report, "sgemm_")[0]["library"], "/mnt/libelsewhere.so")

    @needs_root
    def test_threads_with_the_same_number(self):
        """Of pid namespaces of their own: what they do at once is not added up."""
        slow = self.compile("libslow.so", SLOW_PRODUCT, "-shared", "-fPIC")
        program = self.compile("same_numbers", SAME_NUMBERS, "-w", *self.needing(slow))
        started = "unshare --pid --fork %s" % program
        for command in ["%s & %s; wait $!" % (started, started), program + " fork"]:
            with self.subTest(command):
                done, report = self.observe("sh", "-c", command)
                self.assertEqual(done.returncode, 7, done.stderr)
                self.assertEqual(count(report), 40, called(report))
                inside = sum(site["time_ns"] for site in sites(report, "sgemm_"))
                self.assertLess(called(report)["wall_ns"], 0.99 * inside)

    @needs_root
    def test_a_root_without_hwprofs_files(self):
        """The loader of a program in it says so; uprobes see its calls, and let it say nothing."""
        for file in {self.program, self.library, *needed_by(self.program)}:
            copy = self.path("root" + file)
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            shutil.copy(file, copy)
        command = ["chroot", self.path("root"), self.program, self.library, "200", "0.5"]
        done, report = self.observe(*command)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_not_denied(report)
        if has_uprobes():
            done, report = self.observe(*command, options=BY_UPROBES)
            self.assertNotIn("ld.so", done.stderr)
            self.assertEqual(count(report), 200, called(report))

    @needs_uprobes
    def test_a_name_is_another_file_in_another_namespace(self):
        """The host's file of that name is watched, and is not what the program calls."""
        if not can_unshare():
            self.skipTest("the kernel lets nobody make namespaces")
        empty = self.path("empty")
        os.mkdir(empty)
        other = self.path("libblas.so.3")
        os.link(self.library, other)
        _, report = self.observe(
            *OWN_NAMESPACES, "sh", "-c",
            "cp %s %s/x && mount --bind %s/x %s && exec %s %s 300 0.3" % (
                self.library, empty, empty, other, self.program, other), options=BY_UPROBES)
        self.assertEqual(count(report), 300, called(report))

    @needs_uprobes
    def test_the_host_s_file_of_that_name_is_not_measured_instead(self):
        if not can_unshare():
            self.skipTest("the kernel lets nobody make namespaces")
        empty = self.path("empty")
        os.mkdir(empty)
        other = self.path("libblas.so.3")
        os.link(self.library, other)
        _, report = self.observe(
            *OWN_NAMESPACES, "sh", "-c",
            "cp %s %s/x && mount --bind %s/x %s && exec %s %s 300 0.3" % (
                self.library, empty, empty, other, self.program, other),
            options=["--calls-by", "uprobes"])
        self.assertEqual(report["blas"]["ladder"], [])
        self.assertIn("mount namespace", report["blas"]["ladder_note"])

    @needs_uprobes
    def test_short_processes_that_load_a_library_late(self):
        """None of them lives until hwprof has seen what it loads, but those after it are watched."""
        hwprof = subprocess.Popen(
            [BINARY, "run", *BY_UPROBES, "--format", "json", "-o", self.path("report.json"), "--",
             "sh", "-c", "i=0; while [ $i -lt 240 ]; do \"$CALLS\" \"$LIBRARY\" 5 >/dev/null; "
             "i=$((i + 1)); done; echo done; sleep 1"],
            stdout=subprocess.PIPE, text=True,
            env=self.hidden())
        self.assertEqual(hwprof.stdout.readline(), "done\n")
        opened = max(len(os.listdir("/proc/%s/fd" % pid)) for pid in subprocess.run(
            ["pgrep", "-P", str(hwprof.pid)], capture_output=True, text=True).stdout.split())
        hwprof.communicate(timeout=60)
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertLess(opened, 200 + 40 * os.cpu_count(), "descriptors of processes that have ended")
        self.assertEqual(called(report)["executions"], 242)
        self.assertLess(called(report)["executions_watched"], 242)
        self.assertGreater(called(report)["executions_watched"], 2)
        self.assertGreater(count(report), 100)
        self.assertLess(len(called(report)["blind_to"]), 5)

    @needs_uprobes
    def test_very_short_programs_leave_it_open(self):
        """Where all have ended before they could be watched."""
        _, report = self.observe("sh", "-c", "exec \"$CALLS\" \"$LIBRARY\" 5",
                                 options=BY_UPROBES, env=self.hidden())
        if count(report) == 0:
            self.check_inconclusive(report)

    @needs_uprobes
    def test_a_program_that_its_user_may_not_read(self):
        """The kernel takes the events away at its execve, behind the record of that."""
        program = self.path("unreadable")
        shutil.copy(self.program, program)
        os.chmod(program, 0o111)
        _, report = self.observe(program, self.library, "300",
                                 options=[*BY_UPROBES, "--user", "nobody"])
        self.check_not_denied(report)

    @needs_uprobes
    def test_a_program_that_another_thread_has_started(self):
        """What it has may be the events of the first thread, which has ended."""
        started = self.compile("started", STARTED_BY_A_THREAD, "-pthread")
        for _ in range(5):
            _, report = self.observe(started, self.program, self.library, "300",
                                     options=BY_UPROBES)
            self.assertEqual(called(report)["executions"], 2)
            self.check_not_denied(report)

    @needs_uprobes
    def test_a_pool_of_processes_of_which_some_have_ended(self):
        """What the last one has may be the events of another, which has ended."""
        pool = self.compile("pool", POOL, "-ldl")
        for _ in range(5):
            _, report = self.observe(pool, self.library, "300", options=BY_UPROBES)
            if called(report)["executions_watched"] == called(report)["executions"]:
                self.assertEqual(count(report), 300)
            self.check_not_denied(report)

    @unittest.skipUnless(AS_ROOT, "one's own file can be read")
    def test_what_an_unreadable_program_has_started(self):
        """The kernel takes the events away, and tells no more; a static program has no LD_AUDIT."""
        wrapper = self.compile("wrapper", WRAPPER)
        os.chmod(wrapper, 0o111)
        static = self.compile("static", STATIC, "-static")
        _, report = self.observe("sh", "-c", "exec %s %s" % (wrapper, static),
                                 options=["--no-ladder", "--calls-by", "audit"], **self.more())
        self.assertEqual(report["blas"]["verdict"], "inconclusive", report["blas"]["why"])

    @needs_uprobes
    def test_few_descriptors_leave_room_to_look(self):
        """700 threads take all that there are: what is read of the process is not nothing."""
        busy = self.compile("threads", THREADS, "-pthread")
        program = subprocess.Popen([busy], stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "up\n")
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh", BINARY, "attach", "--no-ladder",
             "--seconds", "1", "--format", "json", "-o", self.path("report.json"),
             str(program.pid)], capture_output=True, text=True, env=harness.environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertGreater(report["user_s"] + report["system_s"], 0.1)
        self.assertGreater(report["peak_rss_bytes"], 0)
        self.assertEqual(report["blas"]["verdict"], "inconclusive")
        self.assertIsNotNone(report["blas"]["evidence"]["declared"]["environment"])

    @needs_uprobes
    def test_attach_watches_what_the_process_has_started(self):
        parent = subprocess.Popen([self.program, self.library, "20", "0.01", "fork"],
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(parent.wait)
        self.addCleanup(lambda: subprocess.run(["pkill", "-P", str(parent.pid)]))
        self.assertEqual(parent.stdout.readline(), "up\n")
        done = harness.hwprof("attach", "--no-ladder", "--seconds", "1", "--format", "json",
                              "-o", self.path("report.json"), str(parent.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertGreater(count(report), 20, called(report))

    def test_root_of_a_namespace_of_its_own_observes(self):
        """Who may not set groups: in containers that need no root."""
        for number, user in enumerate([{}, self.as_nobody()] if AS_ROOT else [{}]):
            if not can_unshare(**user):
                self.skipTest("no user namespaces here")
            report = self.path("report%d.json" % number)
            done = subprocess.run([*OWN_NAMESPACES, BINARY, "run", "--no-ladder", "--format",
                                   "json", "-o", report, "--", "sh", "-c", "exit 4"],
                                  capture_output=True, text=True, env=harness.environment(), **user)
            self.assertEqual(done.returncode, 4, done.stderr)
            with open(report) as file:
                self.assertEqual(json.load(file)["exit"], 4)

    @needs_root
    def test_a_process_in_a_user_namespace_of_roots_is_observed(self):
        """As in containers whose users are none of the host's."""
        ready, go = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            done = ctypes.CDLL(None).unshare(0x10000000)  # CLONE_NEWUSER
            os.write(ready[1], b"0" if done == 0 else b"1")
            os.read(go[0], 1)
            os.setgroups([])
            os.setresgid(1000, 1000, 1000)
            os.setresuid(1000, 1000, 1000)
            os.execv("/bin/sleep", ["sleep", "30"])
        self.addCleanup(os.waitpid, child, 0)
        self.addCleanup(os.kill, child, 9)
        if os.read(ready[0], 1) != b"0":
            self.skipTest("no user namespaces here")
        for name in ["uid_map", "gid_map"]:
            with open("/proc/%d/%s" % (child, name), "w") as file:
                file.write("0 100000 65536")
        os.write(go[1], b"x")
        deadline = time.monotonic() + 10
        while os.readlink("/proc/%d/exe" % child) != os.path.realpath("/bin/sleep"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        done = harness.hwprof("attach", "--no-ladder", "--seconds", "0.3", "--format", "json",
                              "-o", self.path("report.json"), str(child))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertIsNone(report["blas"]["evidence"]["declared"]["environment_reason"])


if __name__ == "__main__":
    harness.main()
