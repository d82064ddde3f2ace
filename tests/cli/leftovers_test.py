"""What hwprof leaves behind in the system: nothing, killed or not."""

import glob
import os
import re
import signal
import subprocess
import tempfile
import time

import harness
from evidence_harness import CALLER, EvidenceTest, needs_caller, needs_root, read_tracing
from harness import BINARY

# Starts of the test on leftovers; every fifth is killed.
STARTS = int(os.environ.get("HWPROF_TEST_STARTS", "20"))


@needs_caller
class Leftovers(EvidenceTest):
    """After many runs, some of them killed in the middle, nothing of ours is in the system."""

    def start(self, **more):
        return subprocess.Popen(
            [BINARY, "run", "--no-ladder", "-o", os.devnull, "--", CALLER, "busy", "0.1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env=harness.environment(TMPDIR=self.temporary.name), **more)

    def ours(self, pids):
        """Everything of these sessions that the system still has."""
        left = []
        for list_of_events in ["uprobe_events", "kprobe_events", "dynamic_events"]:
            # Not for this user, or no such list: nothing.
            left += [line for line in (read_tracing(list_of_events) or "").splitlines()
                     if re.search(r"hwprof_(%s)_" % "|".join(map(str, pids)), line)]
        left += os.listdir(self.temporary.name)
        for folder in ["/dev/shm", tempfile.gettempdir(), "/var/tmp"]:
            left += set(glob.glob(os.path.join(folder, "*hwprof*"))) - self.before
        return left + self.running()

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

    def check(self, **more):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        os.chmod(self.temporary.name, 0o777)
        self.before = {path for folder in ["/dev/shm", tempfile.gettempdir(), "/var/tmp"]
                       for path in glob.glob(os.path.join(folder, "*hwprof*"))}
        pids, killed = [], 0
        for number in range(STARTS + 1):
            child = self.start(**more)
            pids.append(child.pid)
            if number % 5 == 4:
                # In turn while it prepares, while the command waits, and while it runs.
                if killed % 2 == 0:
                    self.assertEqual(child.stdout.readline(), b"up\n")
                else:
                    time.sleep(0.004 * (killed % 16))
                child.send_signal(signal.SIGKILL)
                killed += 1
                child.stdout.read()  # until the command, which goes on, has ended
                child.stdout.close()
                self.assertEqual(child.wait(), -signal.SIGKILL)
                self.wait_for_workers()
            else:
                out = child.communicate(timeout=120)[0]
                self.assertEqual(child.returncode, 0)
                self.assertTrue(out.startswith(b"up\n"))
        self.assertEqual(killed, STARTS // 5)
        # The last start was a whole one: it has cleaned up behind those that were killed.
        deadline = time.monotonic() + 10
        while self.ours(pids) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(self.ours(pids), [])

    def test_nothing_is_left(self):
        self.check()

    @needs_root
    def test_nobody_leaves_nothing(self):
        self.check(**self.as_nobody())


if __name__ == "__main__":
    harness.main()
