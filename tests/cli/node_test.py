"""hwprof node: real processes with real libraries, seen from the outside."""

import csv
import fcntl
import glob
import io
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

import harness
from evidence_harness import EvidenceTest, VERDICTS, needs_root
from harness import BINARY, environment, hwprof

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "build", "matrix")
OPENBLAS = next(iter(glob.glob(os.path.join(
    FOLDER, "libopenblas0-pthread/usr/lib/*/openblas-pthread/libblas.so.3"))), "")
# Debian's, which is what its libblas.so.3 is where no other is installed, or as the matrix has it.
REFERENCE = next(iter(glob.glob("/usr/lib/*/blas/libblas.so.3") +
                      glob.glob(os.path.join(FOLDER, "libblas3/usr/lib/*/blas/libblas.so.3"))),
                 "")
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
LOAD = "import ctypes, sys, time\nfor path in sys.argv[1:]: ctypes.CDLL(path)\n" \
       "print('up', flush=True)\ntime.sleep(300)"
needs_openblas = unittest.skipUnless(os.path.exists(OPENBLAS), "no OpenBLAS in build/matrix")
needs_reference = unittest.skipUnless(os.path.exists(REFERENCE), "no reference BLAS")


class NodeTest(EvidenceTest):
    def loaded(self, *libraries, user=None, **variables):
        """A process that has loaded them and sleeps."""
        child = subprocess.Popen([PYTHON, "-c", LOAD, *libraries], stdout=subprocess.PIPE,
                                 text=True, env=environment(**variables), **(user or {}))

        def end():
            child.kill()
            child.wait()
            child.stdout.close()
        self.addCleanup(end)
        if child.stdout.readline() != "up\n":
            self.skipTest("%s cannot be loaded here" % ", ".join(libraries))
        return child

    def node(self, *options, **more):
        """The report, and its processes by PID."""
        done = hwprof("node", "--no-ladder", "--json", *options, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stdout, r"[^\n\x20-\x7e]")
        report = json.loads(done.stdout)
        self.assertEqual(report["schema"], "hwprof.node/1")
        for process in report["processes"]:
            self.assertIn(process["verdict"], VERDICTS | {"missing"})
        return report, {process["pid"]: process for process in report["processes"]}


class Processes(NodeTest):
    @needs_openblas
    def test_the_core_type_is_read_from_live_memory(self):
        haswell = self.loaded(OPENBLAS, OPENBLAS_CORETYPE="Haswell", OPENBLAS_NUM_THREADS="1")
        prescott = self.loaded(OPENBLAS, OPENBLAS_CORETYPE="Prescott", OPENBLAS_NUM_THREADS="1")
        _, by_pid = self.node()
        for child, core in ((haswell, "Haswell"), (prescott, "Prescott")):
            process = by_pid[child.pid]
            self.assertEqual([lib["core"] for lib in process["libraries"]], [core])
            self.assertEqual(process["libraries"][0]["provider"], "openblas")
            self.assertEqual(process["libraries"][0]["threads"], 1)
            self.assertEqual(process["environment"]["OPENBLAS_CORETYPE"], core)
            self.assertEqual(process["cpus_used_over"], "life")
            self.assertIsNone(child.poll(), "it goes on")
        self.assertEqual(by_pid[prescott.pid]["verdict"], "unoptimised")
        self.assertIn("unset OPENBLAS_CORETYPE", by_pid[prescott.pid]["fix"])

    @needs_reference
    def test_the_reference_and_a_process_without_a_blas(self):
        reference, without = self.loaded(REFERENCE), self.loaded()
        report, by_pid = self.node()
        self.assertEqual(by_pid[reference.pid]["libraries"][0]["provider"], "reference")
        self.assertNotIn(without.pid, by_pid)
        self.assertGreater(report["looked_at"], len(report["processes"]))
        self.assertGreater(report["look_s"], 0)

    @needs_openblas
    @needs_reference
    def test_several_libraries_of_one_process_are_all_named(self):
        child = self.loaded(OPENBLAS, REFERENCE)
        _, by_pid = self.node()
        self.assertEqual({lib["provider"] for lib in by_pid[child.pid]["libraries"]},
                         {"openblas", "reference"})

    @needs_reference
    def test_a_library_that_was_replaced_since_is_named_as_such(self):
        copy = self.path("libblas.so.3")
        with open(REFERENCE, "rb") as file:
            self.path("libblas.so.3", file.read())
        child = self.loaded(copy)
        os.unlink(copy)
        _, by_pid = self.node()
        self.assertTrue(by_pid[child.pid]["libraries"][0]["deleted"])
        self.assertEqual(by_pid[child.pid]["fix"], "restart the process")

    @needs_reference
    def test_a_job_is_named_by_its_variables(self):
        child = self.loaded(REFERENCE, SLURM_JOB_ID="4711", SLURM_STEP_ID="0")
        _, by_pid = self.node()
        self.assertEqual(by_pid[child.pid]["job"], "slurm 4711.0")
        self.assertNotIn("SLURM_JOB_ID", by_pid[child.pid]["environment"])

    @needs_reference
    def test_a_library_under_another_name_is_known_by_what_it_is(self):
        with open(REFERENCE, "rb") as file:
            path = self.path("libsolver.so", file.read())
        child = self.loaded(path)
        _, by_pid = self.node()
        self.assertEqual([lib["path"] for lib in by_pid[child.pid]["libraries"]], [path])


    @needs_reference
    def test_more_libraries_than_are_listed_are_counted(self):
        with open(REFERENCE, "rb") as file:
            bytes_of_it = file.read()
        paths = [self.path("lib%d.so" % i, bytes_of_it) for i in range(18)]
        child = self.loaded(*paths)
        _, by_pid = self.node()
        self.assertEqual(len(by_pid[child.pid]["libraries"]), 16)
        self.assertEqual(by_pid[child.pid]["more_libraries"], 2)
        self.assertIn("2 more", hwprof("node", "--no-ladder", "--format", "csv").stdout)

    @needs_reference
    def test_variables_that_are_too_long_say_so(self):
        child = self.loaded(REFERENCE, OMP_PLACES="{0}," * 100 + "{0}")
        short = self.loaded(REFERENCE, OMP_PLACES="{0}")
        _, by_pid = self.node()
        self.assertIn("first 2 KiB", by_pid[child.pid]["environment_reason"])
        self.assertIsNone(by_pid[short.pid]["environment_reason"])

    @needs_root
    @needs_reference
    def test_a_file_that_is_mounted_over_another_is_not_taken_for_it(self):
        mapped = self.path("libblas.so.3", b"")
        with open(REFERENCE, "rb") as file:
            other = self.path("other.so", file.read())
        libm = next(iter(glob.glob("/lib/*-linux-gnu/libm.so.6")), None)
        if libm is None:
            self.skipTest("no libm")
        with open(libm, "rb") as file:
            self.path("libblas.so.3", file.read())
        code = "import ctypes, time\nlibc = ctypes.CDLL(None)\nctypes.CDLL(%r)\n" \
               "assert libc.unshare(0x20000) == 0 and libc.mount(None, b'/', None, 0x44000, None) == 0\n" \
               "assert libc.mount(%r, %r, None, 4096, None) == 0\n" \
               "print('up', flush=True); time.sleep(300)" % (mapped, other.encode(), mapped.encode())
        child = subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (child.kill(), child.wait(), child.stdout.close()))
        if child.stdout.readline() != "up\n":
            self.skipTest("nothing can be mounted here")
        _, by_pid = self.node()
        self.assertEqual([(lib["provider"], lib["unreadable"])
                          for lib in by_pid[child.pid]["libraries"]], [("unknown", True)])
        self.assertEqual(by_pid[child.pid]["verdict"], "inconclusive")
        self.assertIn("another one than the process has mapped", by_pid[child.pid]["why"])


class Users(NodeTest):
    @needs_root
    @needs_reference
    def test_root_sees_all_and_a_user_only_his_own(self):
        user = self.as_nobody()
        his = self.loaded(REFERENCE, user=user)
        roots = self.loaded(REFERENCE)
        _, by_pid = self.node()
        self.assertEqual(by_pid[his.pid]["user"], "nobody")
        self.assertEqual(by_pid[roots.pid]["user"], "root")
        report, by_pid = self.node(**user)
        self.assertIn(his.pid, by_pid)
        self.assertNotIn(roots.pid, by_pid)
        others = [one for one in report["unread"] if "of other users" in one["reason"]]
        self.assertGreater(others[0]["processes"], 0)
        _, by_pid = self.node("--user", "nobody")
        self.assertEqual({process["user"] for process in by_pid.values()}, {"nobody"})
        self.assertIn(his.pid, by_pid)

    @needs_root
    @needs_openblas
    def test_root_reads_the_memory_of_a_users_process(self):
        his = self.loaded(OPENBLAS, user=self.as_nobody(), OPENBLAS_CORETYPE="Prescott")
        _, by_pid = self.node()
        self.assertEqual(by_pid[his.pid]["libraries"][0]["core"], "Prescott")

    @needs_root
    @needs_reference
    def test_a_process_that_lets_nobody_look_is_counted_and_not_looked_at(self):
        code = "import ctypes; ctypes.CDLL(%r); ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); " \
               "print('up', flush=True); import time; time.sleep(300)" % REFERENCE
        child = subprocess.Popen([PYTHON, "-c", code], stdout=subprocess.PIPE, text=True,
                                 **self.as_nobody())
        self.addCleanup(lambda: (child.kill(), child.wait(), child.stdout.close()))
        self.assertEqual(child.stdout.readline(), "up\n")
        report, by_pid = self.node("--user", "nobody")
        self.assertNotIn(child.pid, by_pid)
        self.assertIn("lets nobody look", report["unread"][0]["reason"])

    def test_another_users_processes_are_roots_to_look_at(self):
        self.assert_refused("node", "--user", "no-such-user", names="there is no such user")
        if os.geteuid() == 0:
            self.assert_refused("node", "--user", "root", names="only root", **self.as_nobody())


class Formats(NodeTest):
    @needs_reference
    def test_csv_has_a_line_a_process(self):
        child = self.loaded(REFERENCE)
        done = hwprof("node", "--no-ladder", "--format", "csv")
        rows = {int(row["pid"]): row for row in csv.DictReader(io.StringIO(done.stdout))}
        self.assertIn("reference", rows[child.pid]["blas"])
        self.assertEqual(rows[child.pid]["verdict"],
                         self.node()[1][child.pid]["verdict"])

    @needs_reference
    def test_with_the_ladder_the_machines_own_blas_follows(self):
        child = self.loaded(REFERENCE)
        text = hwprof("node").stdout
        self.assertRegex(text, r"(?m)^ *%d " % child.pid)
        self.assertRegex(text, r"(?m)^verdict=\S+ provider=")
        self.assertIn("not measured (--no-ladder)", hwprof("node", "--no-ladder").stdout)

    def test_what_excludes_what(self):
        self.assert_refused("node", "--watch", "--json", names="--watch")
        self.assert_refused("node", "--watch", "-o", self.path("x"), names="--watch")
        self.assert_refused("node", "--interval", "1", names="--watch")
        self.assert_refused("node", "1234", names="1234")


class Watch(NodeTest):
    def on_terminal(self, columns, *options, interval="0.2"):
        """hwprof node --watch on a terminal of its own: (process, its end, settings before)."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        self.addCleanup(os.close, slave)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        before = termios.tcgetattr(slave)
        child = subprocess.Popen([BINARY, "node", "--no-ladder", "--watch", "--interval", interval,
                                  *options], stdin=slave, stdout=slave, stderr=slave,
                                 env=environment(), start_new_session=True,
                                 preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(lambda: (child.kill(), child.wait()))
        return child, master, slave, before

    def read_until(self, master, wanted, seconds=60):
        text, end = b"", time.monotonic() + seconds
        while wanted not in text and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                text += os.read(master, 65536)
        self.assertIn(wanted, text)
        return text.decode(errors="replace")

    def check_left(self, child, master, slave, before, code, text):
        text += self.read_until(master, b"\x1b[?1049l")
        self.assertEqual(child.wait(60), code)
        self.assertEqual(termios.tcgetattr(slave), before)
        self.assertLess(text.index("\x1b[?1049h"), text.index("\x1b[?1049l"))
        self.assertIn("\x1b[?25h", text[text.index("\x1b[?25l"):])

    @needs_reference
    def test_pages_fit_the_terminal_and_each_way_to_end_leaves_it_as_it_was(self):
        self.loaded(REFERENCE)
        ends = ((80, lambda child, master: os.write(master, b"q"), 0),
                (120, lambda child, master: os.write(master, b"\x03"), 0),
                (80, lambda child, master: child.send_signal(signal.SIGTERM), 128 + signal.SIGTERM))
        for columns, end, code in ends:
            child, master, slave, before = self.on_terminal(columns)
            # Two pages: the second has the time between them.
            text = self.read_until(master, b"since the last look")
            page = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.replace("\x1b[H", "\n"))
            for line in re.split(r"[\r\n]+", page):
                self.assertLessEqual(len(line), columns, line)
            end(child, master)
            self.check_left(child, master, slave, before, code, text)

    @needs_reference
    def test_an_interval_that_is_shorter_than_a_look_leaves_keys_their_turn(self):
        self.loaded(REFERENCE)
        child, master, slave, before = self.on_terminal(80, interval="0.0001")
        text = self.read_until(master, b"since the last look")
        os.write(master, b"q")
        self.check_left(child, master, slave, before, 0, text)

    @needs_reference
    def test_without_a_terminal_pages_follow_each_other(self):
        self.loaded(REFERENCE)
        child = subprocess.Popen([BINARY, "node", "--no-ladder", "--watch", "--interval", "0.2"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                 env=environment())
        pages = 0
        while pages < 3:
            line = child.stdout.readline()
            self.assertNotIn("\x1b", line)
            self.assertNotEqual(line, "", "it ended")
            pages += "a BLAS mapped" in line
        child.stdout.close()  # who reads no more ends it
        self.assertEqual(child.wait(60), 3)


if __name__ == "__main__":
    harness.main()
