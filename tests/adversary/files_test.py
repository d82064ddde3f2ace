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

    def refused(self, path, what):
        done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o", path, "--", "true")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("another user's " + what, done.stderr)

    @needs_root
    def test_a_link_of_another_user_in_a_sticky_folder_is_not_followed(self):
        precious = self.path("precious", "precious")
        self.refused(self.planted("ln -s %s $1" % precious), "link")
        with open(precious) as file:
            self.assertEqual(file.read(), "precious")

    @needs_root
    def test_a_pipe_of_another_user_in_a_sticky_folder_is_not_waited_for(self):
        self.refused(self.planted("mkfifo $1"), "pipe")

    @needs_root
    def test_a_file_of_another_user_in_a_sticky_folder_is_not_taken_over(self):
        path = self.planted("echo before > $1")
        self.refused(path, "file")
        with open(path) as file:
            self.assertEqual(file.read(), "before\n")

    @needs_root
    def test_a_name_that_becomes_a_pipe_is_not_waited_for(self):
        """What was looked at is what is written, whatever its name leads to by then."""
        program = self.compile("swap", r'''
            #define _GNU_SOURCE
            #include <fcntl.h>
            #include <stdio.h>
            #include <string.h>
            #include <sys/socket.h>
            #include <sys/stat.h>
            #include <sys/un.h>
            #include <unistd.h>
            int main(int count, char** names) {
              struct sockaddr_un name = {.sun_family = AF_UNIX};
              strcpy(name.sun_path, names[1]);
              if (bind(socket(AF_UNIX, SOCK_STREAM, 0), (void*)&name, sizeof name) != 0) return 77;
              if (mkfifo(names[2], 0666) != 0) return 77;
              puts("up");
              fclose(stdout);
              for (alarm(60); count == 3;)
                renameat2(AT_FDCWD, names[1], AT_FDCWD, names[2], RENAME_EXCHANGE);
            }''')
        os.chmod(self.folder, 0o1777)
        name = self.path("report.json")
        child = subprocess.Popen([program, name, self.path("other")], stdout=subprocess.PIPE,
                                 **nobody())
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        if child.stdout.readline() != b"up\n":
            self.skipTest("nobody cannot write into " + self.folder)
        for _ in range(20):
            done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o", name, "--",
                                  "true", timeout=30)
            self.assertIn("cannot write", done.stderr)

    def in_a_folder_of_nobodys(self, make, code=0):
        """Root observes a program of nobody's, and saves the report where that works."""
        self.as_nobody()
        folder = self.path("nobodys")
        os.mkdir(folder)
        os.chown(folder, nobody()["user"], nobody()["group"])
        done = subprocess.run([BINARY, "run", "--no-ladder", "--user", "nobody", "--format", "json",
                               "-o", "r.json", "--", "sh", "-c", make], cwd=folder, timeout=60,
                              capture_output=True, text=True, env=harness.environment())
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr, os.path.join(folder, "r.json")

    @needs_root
    def test_a_link_that_the_program_makes_leads_root_nowhere(self):
        kept = self.path("kept")
        os.mkdir(kept)
        precious = os.path.join(kept, "precious")
        with open(precious, "w") as file:
            file.write("precious")
        os.chmod(precious, 0o600)
        errors, _ = self.in_a_folder_of_nobodys("ln -s %s r.json; exit 5" % precious, 5)
        self.assertIn("Permission denied", errors)
        with open(precious) as file:
            self.assertEqual(file.read(), "precious")
        self.assertEqual(os.listdir(kept), ["precious"])

    @needs_root
    def test_a_link_that_the_program_makes_creates_nothing(self):
        kept = self.path("kept")
        os.mkdir(kept)
        self.in_a_folder_of_nobodys("ln -s %s/new r.json; exit 5" % kept, 5)
        self.assertEqual(os.listdir(kept), [])

    @needs_root
    def test_a_pipe_that_the_program_makes_is_not_waited_for(self):
        errors, _ = self.in_a_folder_of_nobodys("mkfifo r.json; exit 5", 5)
        self.assertIn("cannot write r.json", errors)

    @needs_root
    def test_a_link_to_an_open_pipe_is_not_waited_for(self):
        """A link of procfs leads to what its process has open, whatever that is."""
        errors, _ = self.in_a_folder_of_nobodys(
            "mkfifo pipe; sleep 20 9<>pipe >/dev/null 2>&1 & ln -s /proc/$!/fd/9 r.json; exit 5", 5)
        self.assertIn("cannot write r.json", errors)

    @needs_root
    def test_a_link_of_procfs_to_a_folder_is_not_followed(self):
        """It may lead to a file system of the user's own, in a namespace of his own, that hangs."""
        folder = self.path("elsewhere")
        os.mkdir(folder, 0o777)
        os.chmod(folder, 0o777)
        users = self.path("users")
        os.mkdir(users)
        os.chown(users, nobody()["user"], nobody()["group"])
        os.symlink("/proc/self/root" + folder, os.path.join(users, "way"))
        os.lchown(os.path.join(users, "way"), nobody()["user"], nobody()["group"])
        done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o",
                              os.path.join(users, "way", "r.json"), "--", "true", timeout=60)
        self.assertIn("another user's", done.stderr)
        self.assertEqual(os.listdir(folder), [])

    @needs_root
    def test_a_report_in_a_users_folder_is_the_users(self):
        _, path = self.in_a_folder_of_nobodys("true")
        self.assertEqual(os.stat(path).st_uid, nobody()["user"])
        with open(path) as file:
            self.assertEqual(json.load(file)["exit"], 0)

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
