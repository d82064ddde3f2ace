"""hwprof's worker, which reads what a program left: it has no rights, and its end ends nothing."""

import glob
import json
import os
import pty
import pwd
import shutil
import signal
import subprocess
import time
import unittest

import harness
from evidence_harness import (CALLER, EvidenceTest, has_uprobes, needs_caller, needs_root,
                              needs_samples, nobody, read_tracing)
from harness import BINARY


HOT_LOOPS = os.environ["HOT_LOOPS"]
# A product that says who runs it.
EVIL = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void say(void) {
  FILE* file = fopen(WITNESS, "a");
  if (file) { fprintf(file, "%d\n", (int)geteuid()); fclose(file); }
}
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      float sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
    }
}
"""
CALLS = r"""
#include <dlfcn.h>
#include <time.h>
int main(void) {
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  const int n = 64;
  const float one = 1, zero = 0;
  void (*sgemm)() = (void (*)())dlsym(dlopen(LIBRARY, RTLD_NOW), "sgemm_");
  for (const clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;)
    sgemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""


def children_of(pid):
    children = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True)
    return [int(child) for child in children.stdout.split()]


def environment_of(pid):
    """What lies where it began; a process that was forked has its own copy."""
    with open("/proc/%d/environ" % pid, "rb") as file:
        return file.read().decode(errors="replace")


def worker_of(hwprof):
    """The one child of hwprof that runs hwprof's own file, and has given its rights away."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        for pid in children_of(hwprof):
            status = status_of(pid)
            if status.get("Seccomp", ["0"])[0] == "2":
                return pid
        time.sleep(0.01)
    raise AssertionError("hwprof has no worker")


def status_of(pid):
    try:
        with open("/proc/%d/status" % pid) as file:
            return {name: value.split() for name, value in
                    (line.rstrip("\n").split(":", 1) for line in file)}
    except OSError:
        return {}


@needs_caller
class Worker(EvidenceTest):

    def start(self, *options, program=("busy", "2")):
        return subprocess.Popen(
            [BINARY, "run", "--format", "json", "-o", self.path("report.json"), *options, "--",
             CALLER, *program],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment(), text=True)

    def report(self):
        with open(self.path("report.json")) as file:
            return json.load(file)

    def check_rights(self, status):
        for name in ["CapInh", "CapPrm", "CapEff", "CapAmb"]:
            self.assertEqual(int(status[name][0], 16), 0, name)
        self.assertEqual(status["NoNewPrivs"], ["1"])
        self.assertEqual(status["Seccomp"], ["2"])

    def test_it_has_no_capabilities(self):
        hwprof = self.start("--no-ladder")
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        self.check_rights(status_of(worker_of(hwprof.pid)))
        hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 0)

    @needs_root
    def test_it_is_the_user_whose_program_is_observed(self):
        if subprocess.run([BINARY, "--version"], capture_output=True,
                          **self.as_nobody()).returncode != 0:
            self.skipTest("nobody cannot reach " + BINARY)
        nobody = str(pwd.getpwnam("nobody").pw_uid)
        hwprof = self.start("--no-ladder", "--user", "nobody")
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        worker = worker_of(hwprof.pid)
        status = status_of(worker)
        self.assertEqual(status["Uid"], [nobody] * 4)
        self.check_rights(status)
        # Nor may other processes of that user take it over.
        taken = subprocess.run(["cat", "/proc/%d/environ" % worker], capture_output=True,
                               **self.as_nobody())
        self.assertNotEqual(taken.returncode, 0)
        hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 0)
        self.assertTrue(self.report()["blas"]["evidence"]["called"]["calls"])

    def kill_while_it_runs(self, number):
        hwprof = self.start("--no-ladder")
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        os.kill(worker_of(hwprof.pid), number)
        hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 0)
        report = self.report()
        self.assertEqual(report["exit"], 0)
        self.assertGreater(report["wall_s"], 1)
        self.assertEqual(report["blas"]["verdict"], "inconclusive")
        evidence = report["blas"]["evidence"]
        for part in ["called", "executed"]:
            self.assertIn(signal.Signals(number).name, evidence[part]["reason"])
        self.assertEqual(evidence["called"]["calls"], [])
        return report

    def test_its_crash_while_the_program_runs_is_said(self):
        self.kill_while_it_runs(signal.SIGSEGV)

    def test_memory_that_runs_out_is_said(self):
        self.kill_while_it_runs(signal.SIGKILL)

    def test_an_attached_one_that_dies(self):
        """The process goes on, and was watched until then."""
        sleeper = subprocess.Popen(["sleep", "60"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        hwprof = subprocess.Popen(
            [BINARY, "attach", "--no-ladder", "--format", "json", "-o", self.path("report.json"),
             str(sleeper.pid)], stderr=subprocess.PIPE, env=harness.environment(), text=True)
        worker = worker_of(hwprof.pid)
        time.sleep(1)
        os.kill(worker, signal.SIGKILL)
        _, said = hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 0, said)
        report = self.report()
        self.assertTrue(report["detached"])
        self.assertGreater(report["wall_s"], 1)
        self.assertEqual(report["blas"]["fix"], "attach again")
        self.assertIn("SIGKILL", report["peak_rss_reason"])

    def test_its_crash_leaves_no_probe(self):
        self.kill_while_it_runs(signal.SIGBUS)
        if has_uprobes():
            self.assertNotIn("hwprof_", read_tracing("uprobe_events"))

    def test_the_commands_exit_code_outlives_it(self):
        hwprof = subprocess.Popen(
            [BINARY, "run", "--no-ladder", "--", "sh", "-c", "echo up; sleep 0.5; exit 41"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment(), text=True)
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        os.kill(worker_of(hwprof.pid), signal.SIGABRT)
        _, said = hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 41)
        self.assertIn("SIGABRT", said)

    def test_what_was_known_before_a_library_was_measured_stays(self):
        hwprof = self.start(program=("busy", "0.5"))
        worker = worker_of(hwprof.pid)
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        deadline = time.monotonic() + 60
        # Rungs are children of the worker.
        while not glob.glob("/proc/%d/task/*/children" % worker) or not any(
                open(path).read() for path in glob.glob("/proc/%d/task/*/children" % worker)):
            self.assertLess(time.monotonic(), deadline, "no library was measured")
            time.sleep(0.002)
        os.kill(worker, signal.SIGSEGV)
        _, said = hwprof.communicate(timeout=60)
        self.assertEqual(hwprof.returncode, 0)
        self.assertIn("SIGSEGV", said)
        report = self.report()
        self.assertEqual(report["blas"]["ladder"], [])
        self.assertIn("worker", report["blas"]["ladder_note"])
        if report["blas"]["evidence"]["called"]["how"] != "none":
            self.assertTrue(report["blas"]["evidence"]["called"]["calls"])

    @needs_root
    def test_a_library_that_is_measured_runs_as_the_user(self):
        """Its constructor is code of whoever made the file."""
        if subprocess.run([BINARY, "--version"], capture_output=True,
                          **self.as_nobody()).returncode != 0:
            self.skipTest("nobody cannot reach " + BINARY)
        nobody = pwd.getpwnam("nobody")
        os.chmod(self.folder, 0o755)
        library = self.compile("libblas.so.3", EVIL, "-shared", "-fPIC",
                               "-Wl,-soname,libblas.so.3",
                               '-DWITNESS="%s"' % self.path("uids"))
        program = self.compile("program", CALLS, "-DLIBRARY=\"%s\"" % library, "-ldl")
        for path in [self.path("uids"), library, program]:
            open(path, "a").close()
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
        os.chown(self.folder, nobody.pw_uid, nobody.pw_gid)
        done = harness.hwprof("run", "--user", "nobody", "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("uids")) as file:
            uids = file.read().split()
        self.assertEqual(set(uids), {str(nobody.pw_uid)}, done.stderr)
        self.assertGreater(len(uids), 1, "the library was not measured: " + done.stderr)

    @needs_samples
    def test_it_reads_code_that_was_generated(self):
        """Its filter forbids it the memory of other processes; the monitor opens it."""
        _, report = self.observe_without_loss(HOT_LOOPS, "loop_128_mul_add", "1000", "generate")
        loops = report["blas"]["evidence"]["executed"]["loops"]
        self.assertIn(("[generated code]", "128"), [(each["library"], each["width"])
                                                    for each in loops])

    def test_it_ends_with_hwprof(self):
        hwprof = self.start("--no-ladder")
        self.assertEqual(hwprof.stdout.readline(), "up\n")
        worker = worker_of(hwprof.pid)
        hwprof.kill()
        hwprof.communicate(timeout=60)
        deadline = time.monotonic() + 20
        while status_of(worker).get("State", ["Z"])[0] not in "ZX":
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def test_an_end_that_a_tracer_keeps_is_waited_for(self):
        """Who traces a program gets its end first, and may keep it."""
        program = self.compile("traced", """
            #include <sys/ptrace.h>
            #include <sys/wait.h>
            #include <unistd.h>
            int main(void) {
              pid_t own = getpid();
              int ready[2];
              char byte = 0;
              if (pipe(ready) != 0) return 77;
              if (fork() == 0) {
                if (fork() == 0) {
                  if (ptrace(PTRACE_SEIZE, own, 0, 0) != 0) byte = 1;
                  if (write(ready[1], &byte, 1) != 1) return 1;
                  sleep(2);
                }
                _exit(0);
              }
              wait(0);
              return read(ready[0], &byte, 1) == 1 && byte == 0 ? 5 : 77;
            }
            """)
        done = harness.hwprof("run", "--no-ladder", "--", program, timeout=30)
        if done.returncode == 77:
            self.skipTest("a program may not be traced by its child here")
        self.assertEqual(done.returncode, 5, done.stderr)

    def test_attached_it_has_nothing_of_its_starters(self):
        """Whoever takes it over learns nothing from its environment, nor what is typed."""
        secret = "of-nobodys-business"
        child = subprocess.Popen([CALLER, "busy", "60"], stdout=subprocess.DEVNULL,
                                 **(nobody() if os.geteuid() == 0 else {}))
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        hwprof, terminal = pty.fork()
        if hwprof == 0:
            os.execve(BINARY, [BINARY, "attach", "--no-ladder", str(child.pid)],
                      dict(harness.environment(), SECRET_KEY=secret, OMP_NUM_THREADS="3"))
        self.addCleanup(os.close, terminal)
        worker = worker_of(hwprof)
        for pid in children_of(hwprof):
            self.assertFalse(secret in environment_of(pid), "it is in that of process %d" % pid)
        if os.geteuid() == 0:  # else it is the starter's own
            self.assertIn("OMP_NUM_THREADS=3", environment_of(worker))
        for standard in (0, 1):
            self.assertEqual(os.readlink("/proc/%d/fd/%d" % (worker, standard)), "/dev/null")
        with open("/proc/%d/fdinfo/2" % worker) as file:
            flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
        self.assertEqual(flags & os.O_ACCMODE, os.O_WRONLY)
        with open("/proc/%d/stat" % worker) as file:
            fields = file.read().rpartition(")")[2].split()
        self.assertEqual((int(fields[3]), int(fields[4])), (worker, 0), "session, terminal")
        time.sleep(0.3)
        os.write(terminal, b"\x03")  # reaches hwprof alone, which passes it on
        said = b""
        try:
            while more := os.read(terminal, 65536):
                said += more
        except OSError:  # EIO: nobody has it open any more
            pass
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(hwprof, 0)[1]), 0, said)
        self.assertIn(b"hwprof detached", said)

    @needs_root
    def test_it_takes_no_rights_from_a_setuid_program(self):
        """Attached to one that a user has started, it is that user's, who may not look into it."""
        program = self.path("sleeper")
        shutil.copy("/bin/sleep", program)
        os.chmod(program, 0o4755)
        child = subprocess.Popen([program, "30"], **nobody())
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + 10
        while status_of(child.pid).get("Uid", ["?"] * 4)[1] != "0":
            if time.monotonic() > deadline:
                self.skipTest("a setuid program gets no rights in " + self.folder)
            time.sleep(0.01)
        done = harness.hwprof("attach", "--seconds", "0.2", str(child.pid))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("has the rights of user 0", done.stderr)


if __name__ == "__main__":
    harness.main()
