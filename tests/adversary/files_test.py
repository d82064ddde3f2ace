"""Where hwprof writes, and what it prints: links of others, limits, names that are no text."""

import json
import os
import signal
import subprocess
import time

from evidence_harness import AS_ROOT, EvidenceTest, needs_root, nobody
import harness
from harness import BINARY


class Files(EvidenceTest):
    def planted(self, make):
        """A folder like /tmp, in which nobody has made something by the name report.json."""
        os.chmod(self.folder, 0o1777)
        done = subprocess.run(["sh", "-c", make, "sh", self.path("report.json")], **nobody())
        if done.returncode != 0:
            self.skipTest("nobody cannot write into " + self.folder)
        return self.path("report.json")

    def refused(self, path):
        done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o", path, "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another user's link or pipe", done.stderr)

    @needs_root
    def test_a_link_of_another_user_in_a_sticky_folder_is_not_followed(self):
        precious = self.path("precious", "precious")
        self.refused(self.planted("ln -s %s $1" % precious))
        with open(precious) as file:
            self.assertEqual(file.read(), "precious")

    @needs_root
    def test_a_pipe_of_another_user_in_a_sticky_folder_is_not_waited_for(self):
        self.refused(self.planted("mkfifo $1"))

    def test_own_links_are_followed(self):
        target = self.path("target.json", "")
        os.symlink(target, self.path("link.json"))
        os.chmod(self.folder, 0o1777)
        done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o",
                              self.path("link.json"), "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.islink(self.path("link.json")))
        with open(target) as file:
            json.load(file)

    def limited(self, blocks, *options, command=("sh", "-c", "echo up; exit 4")):
        return subprocess.run(
            ["sh", "-c", 'ulimit -f %d; exec "$@"' % blocks, "sh", BINARY, "run", "--no-ladder",
             *options, "--", *command], capture_output=True, text=True, timeout=60,
            env=harness.environment())

    def test_a_limit_on_files_does_not_end_hwprof(self):
        for blocks in [0, 1]:
            with self.subTest(blocks):
                done = self.limited(blocks)
                self.assertEqual((done.returncode, done.stdout), (4, "up\n"), done.stderr)
                self.assertIn("\nBLAS ", done.stderr)
                done = self.limited(blocks, "--format", "json", "-o", self.path("report.json"))
                self.assertEqual((done.returncode, done.stdout), (4, "up\n"), done.stderr)
                self.assertIn("File too large", done.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_the_command_has_the_signal_as_it_was(self):
        done = self.limited(0, command=["sh", "-c", "echo more > %s" % self.path("file")])
        self.assertEqual(done.returncode, 128 + signal.SIGXFSZ, done.stderr)

    def test_a_name_reaches_no_terminal_as_it_is(self):
        """A process says its name to whoever names it: a user's, to root."""
        name = "\x1b[2Jx"
        more = nobody() if AS_ROOT else {}
        program = self.compile("renames", '#include <sys/prctl.h>\n#include <unistd.h>\n'
                               'int main(void) { prctl(PR_SET_NAME, "\\033[2Jx"); '
                               'if (fork() == 0) { prctl(PR_SET_NAME, "\\033[2Jx"); _exit(0); } '
                               'write(1, "up\\n", 3); sleep(30); return 0; }')
        child = subprocess.Popen([program], stdout=subprocess.PIPE, **more)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), b"up\n")
        with open("/proc/%d/task/%d/children" % (child.pid, child.pid)) as file:
            zombie = file.read().split()[0]
        deadline = time.monotonic() + 10
        while "State:\tZ" not in open("/proc/%s/status" % zombie).read():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        done = harness.hwprof("attach", zombie)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("\\x1b[2Jx", done.stderr)
        self.assertNotIn(name, done.stderr)

    def test_few_descriptors_are_named_as_what_is_missing(self):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 10; exec "$@"', "sh", BINARY, "run", "--no-ladder", "--",
             "true"], capture_output=True, text=True, env=harness.environment())
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("Too many open files", done.stderr)
        self.assertIn("ulimit -n", done.stderr)


if __name__ == "__main__":
    harness.main()
