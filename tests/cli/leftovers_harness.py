"""What the tests share that ask what hwprof has left in the system."""

import glob
import os
import re
import subprocess
import tempfile
import time

import harness
from evidence_harness import CALLER, EvidenceTest, read_tracing
from harness import BINARY

FOLDERS = ["/dev/shm", tempfile.gettempdir(), "/var/tmp"]


def files_of_hwprof():
    return {path for folder in FOLDERS for path in glob.glob(os.path.join(folder, "*hwprof*"))}


class LeftoversTest(EvidenceTest):
    def setUp(self):
        super().setUp()
        self.before = files_of_hwprof()
        self.pids = []
        self.temporary = self.path("tmp")
        os.mkdir(self.temporary)
        os.chmod(self.temporary, 0o777)

    def start(self, **more):
        child = subprocess.Popen(
            [BINARY, "run", "--no-ladder", "-o", os.devnull, "--", CALLER, "busy", "0.1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=harness.environment(TMPDIR=self.temporary), **more)
        self.pids.append(child.pid)
        return child

    def ours(self):
        """Everything of these sessions that the system still has."""
        left = []
        for list_of_events in ["uprobe_events", "kprobe_events", "dynamic_events"]:
            # Not for this user, or no such list: nothing.
            left += [line for line in (read_tracing(list_of_events) or "").splitlines()
                     if re.search(r"hwprof_(%s)_" % "|".join(map(str, self.pids)), line)]
        left += os.listdir(self.temporary)
        return left + sorted(files_of_hwprof() - self.before) + self.running()

    def running(self):
        found = []
        for link in glob.glob("/proc/[0-9]*/exe"):
            try:
                if os.readlink(link) in (os.path.realpath(BINARY), os.path.realpath(CALLER)):
                    found.append(link)
            except OSError:
                pass  # it has ended, or belongs to somebody else
        return found

    def wait_for_workers(self):
        """A killed hwprof takes its worker with it; to leave the rings takes that a moment."""
        deadline = time.monotonic() + 10
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.assertEqual(self.running(), [])

    def assert_nothing_left(self):
        """Once a whole session has ended, which cleans up behind those that were killed."""
        deadline = time.monotonic() + 10
        while self.ours() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.ours(), [])
