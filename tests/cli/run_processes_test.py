"""hwprof run: threads, children, daemons, rights and signals of the program."""

import json
import os
import pwd
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import harness
from harness import BINARY
from run_harness import PLAIN, RunTest


class Processes(RunTest):
    def test_threads_forks_and_execs_work(self):
        done, _ = self.python("""
            import os, subprocess, threading
            threads = [threading.Thread(target=lambda: subprocess.run(["true"], check=True))
                       for _ in range(10)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            os.execvp("sh", ["sh", "-c", "echo done; exit 4"])""")
        self.assertEqual((done.returncode, done.stdout), (4, "done\n"), done.stderr)

    def test_2000_short_children(self):
        done, report = self.python("""
            import os
            for i in range(2000):
                pid = os.posix_spawn("/bin/true", ["true"], {})
                assert os.waitpid(pid, 0)[1] == 0
            print("all")""")
        self.assertEqual((done.returncode, done.stdout), (0, "all\n"), done.stderr)
        clock = report["counters"]["task-clock"]
        self.assertEqual(clock["status"], "ok")
        self.assertGreater(clock["value"] * 1e-9, 0.7 * (report["user_s"] + report["system_s"]))

    def test_a_program_that_closes_all_descriptors(self):
        done, report = self.python("import os; os.closerange(0, 65536); os._exit(6)")
        self.assertEqual(done.returncode, 6)
        self.assertEqual(report["exit"], 6)

    def test_a_daemon_goes_on_and_is_named(self):
        let_go, marker = self.path("let-go"), self.path("daemon-lives")
        self.addCleanup(lambda: open(let_go, "w").close())
        code = """
            import os, time
            if os.fork(): os._exit(0)
            os.setsid()
            if os.fork(): os._exit(0)
            os.closerange(0, 3)
            while not os.path.exists(%r): time.sleep(0.05)
            open(%r, "w").close()""" % (let_go, marker)
        done, report = self.python(code)  # which would never return if it waited for the daemon
        self.assertEqual(done.returncode, 0)
        self.assertIn("processes-go-on", self.codes(report))
        self.assertFalse(os.path.exists(marker))
        open(let_go, "w").close()
        deadline = time.monotonic() + 20
        while not os.path.exists(marker) and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertTrue(os.path.exists(marker), "the daemon was killed")

    def test_no_daemon_no_warning(self):
        _, report = self.run_json("sh", "-c", "true & wait")
        self.assertNotIn("processes-go-on", self.codes(report))

    def test_the_time_of_orphans_counts(self):
        burn = "import time\nwhile time.process_time() < 0.4: pass"
        _, report = self.python("""
            import os, sys, time
            read, write = os.pipe()
            os.set_inheritable(write, True)
            if os.fork() == 0:
                if os.fork() == 0:
                    os.execv(sys.executable, [sys.executable, "-c", %r])
                os._exit(0)
            os.wait()
            os.close(write)
            os.read(read, 1)  # until the orphan has ended
            time.sleep(0.5)""" % burn)
        self.assertGreater(report["user_s"] + report["system_s"], 0.4)
        self.assertGreater(report["counters"]["task-clock"]["value"], 0.35e9)

    def test_a_static_program_is_observed_and_said_to_be_one(self):
        compiler = os.environ.get("CC_FOR_TESTS", "cc")
        source = self.path("static.c", "int main(void) { return 3; }\n")
        try:
            subprocess.run([compiler, "-static", "-o", self.path("static"), source], check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest("cannot link statically: %s" % error)
        done, report = self.run_json(self.path("static"))
        self.assertEqual(done.returncode, 3)
        self.assertIn("static", self.codes(report))

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_a_setuid_program_keeps_its_rights_and_says_so(self):
        os.chmod(self.folder, 0o755)
        copy = self.path("setuid-id")
        with open("/usr/bin/id", "rb") as source, open(copy, "wb") as to:
            to.write(source.read())
        os.chmod(copy, 0o4755)
        alone = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", copy, "-u"],
                               capture_output=True, text=True)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", BINARY, "run", *PLAIN, "--", copy, "-u"],
            capture_output=True, text=True, env=harness.environment(), timeout=60)
        if alone.stdout.strip() != "0":
            self.skipTest("setuid has no effect in this folder")
        self.assertEqual(done.stdout, alone.stdout, done.stderr)
        self.assertIn("setuid", done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_user_drops_every_right(self):
        done, _ = self.run_json(
            "sh", "-c", "id -u; id -g; id -G; echo $USER $LOGNAME $HOME; grep CapEff /proc/self/status",
            options=["--user", "nobody"], preexec_fn=lambda: os.setgroups([0, 1, 2]))
        import grp
        import pwd
        nobody = pwd.getpwnam("nobody")
        lines = done.stdout.split("\n")
        self.assertEqual(lines[0], str(nobody.pw_uid))
        self.assertEqual(lines[1], str(nobody.pw_gid))
        groups = {nobody.pw_gid} | {g.gr_gid for g in grp.getgrall() if "nobody" in g.gr_mem}
        self.assertEqual({int(word) for word in lines[2].split()}, groups)
        self.assertEqual(lines[3], "nobody nobody %s" % nobody.pw_dir)
        self.assertEqual(int(lines[4].split()[1], 16), 0)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_user_is_for_root(self):
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", BINARY, "run",
                               "--user", "root", "--", "true"], capture_output=True, text=True,
                              env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("root", done.stderr)


class Signals(RunTest):
    def start(self, code, **more):
        report = self.path("report.json")
        child = subprocess.Popen(
            [BINARY, "run", *PLAIN, "--format", "json", "-o", report, "--", sys.executable, "-u",
             "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=harness.environment(), **more)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        return child, report

    def test_sigterm_is_passed_on(self):
        child, report = self.start("import time; print('up'); time.sleep(60)")
        self.assertEqual(child.stdout.readline(), "up\n")
        child.terminate()
        self.assertEqual(child.wait(timeout=30), 128 + signal.SIGTERM)
        with open(report) as file:
            self.assertEqual(json.load(file)["exit"], 128 + signal.SIGTERM)

    def test_a_program_that_ignores_sigterm_runs_on(self):
        child, _ = self.start("""
            import signal, sys
            signal.signal(signal.SIGTERM, lambda *_: print('ignored'))
            print('up')
            sys.stdin.readline()
            sys.exit(11)""", stdin=subprocess.PIPE)
        self.addCleanup(child.stdin.close)
        self.assertEqual(child.stdout.readline(), "up\n")
        for _ in range(3):
            child.terminate()
            self.assertEqual(child.stdout.readline(), "ignored\n")
        child.stdin.write("\n")
        child.stdin.flush()
        self.assertEqual(child.wait(timeout=30), 11)

    def test_ctrl_c_of_a_terminal_arrives_once_and_the_report_follows(self):
        import pty
        pid, terminal = pty.fork()
        report = self.path("report.json")
        if pid == 0:
            os.environ.update(harness.environment())
            code = ("import signal, sys, time\n"
                    "count = 0\n"
                    "def on(*_):\n global count\n count += 1\n"
                    "signal.signal(signal.SIGINT, on)\n"
                    "print('up', flush=True)\n"
                    "end = time.time() + 1.5\n"
                    "while time.time() < end: time.sleep(0.05)\n"
                    "sys.exit(20 + count)")
            os.execv(BINARY, [BINARY, "run", *PLAIN, "--format", "json", "-o", report, "--",
                              sys.executable, "-c", code])
        self.addCleanup(os.close, terminal)
        seen = b""
        while b"up" not in seen:
            seen += os.read(terminal, 100)
        os.write(terminal, b"\x03")
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 21)
        with open(report) as file:
            self.assertEqual(json.load(file)["exit"], 21)

    def test_a_killed_hwprof_leaves_the_program_running(self):
        marker = self.path("marker")
        child, _ = self.start("import time; print('up'); time.sleep(0.5); "
                              "open(%r, 'w').close()" % marker)
        self.assertEqual(child.stdout.readline(), "up\n")
        child.kill()
        child.wait()
        deadline = time.monotonic() + 20
        while not os.path.exists(marker) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertTrue(os.path.exists(marker))


if __name__ == "__main__":
    harness.main()
