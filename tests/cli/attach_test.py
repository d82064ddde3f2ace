"""hwprof attach: joins a process, counts it, and leaves it as it was."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import harness
from harness import BINARY, CliTest, hwprof
from run_harness import PLAIN


class Attach(CliTest):
    def sleeper(self, code="import time; print('up', flush=True); time.sleep(60)", **more):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)],
                                 stdout=subprocess.PIPE, text=True, **more)

        def end():
            child.kill()
            child.wait()
            child.stdout.close()
        self.addCleanup(end)
        self.assertEqual(child.stdout.readline(), "up\n")
        return child

    def attach(self, pid, *options):
        done = hwprof("attach", *PLAIN, "--format", "json", "-o", self.path("report.json"),
                      *options, str(pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("report.json")) as file:
            return json.load(file)

    def test_counts_every_thread_and_child_and_detaches(self):
        child = self.sleeper("""
            import os, threading, time
            def burn():
                while True: sum(range(1000))
            if os.fork() == 0:
                parent = os.getppid()
                while os.getppid() == parent: sum(range(1000))
                os._exit(0)
            threading.Thread(target=burn, daemon=True).start()
            print('up', flush=True)
            time.sleep(60)""")
        report = self.attach(child.pid, "--seconds", "1")
        self.assertEqual(report["attached_pid"], child.pid)
        self.assertTrue(report["detached"])
        self.assertIsNone(report["exit"])
        self.assertEqual(report["command"][0], sys.executable)
        self.assertAlmostEqual(report["wall_s"], 1, delta=0.5)
        clock = report["counters"]["task-clock"]["value"]
        self.assertIsNotNone(clock)
        # The thread of the process itself, and more: its child.
        self.assertGreater(clock * 1e-9, 1.2 * (report["user_s"] + report["system_s"]) - 0.05)
        self.assertGreater(report["user_s"], 0)  # however little a loaded machine gives
        self.assertIsNone(child.poll())

    def test_process_1_of_a_container(self):
        namespaces = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc",
                      "--kill-child"]
        if subprocess.run(namespaces + ["true"], capture_output=True).returncode != 0:
            self.skipTest("no pid namespace may be made here")
        report, done = self.path("report.json"), self.path("done")
        script = self.path("init.py")  # works as process 1 until the report is there
        with open(script, "w") as file:
            file.write(textwrap.dedent("""
                import os, sys
                while not os.path.exists(sys.argv[1]): sum(range(1000))"""))
        ran = subprocess.run(
            [*namespaces, "sh", "-c",
             '(sleep 0.5; "$@"; echo $? > "$0.part"; mv "$0.part" "$0") & '
             'exec "$PYTHON" "$SCRIPT" "$0"',
             done, BINARY, "attach", *PLAIN, "--format", "json", "-o", report, "--seconds", "1",
             "1"],
            env=harness.environment(PYTHON=sys.executable, SCRIPT=script), capture_output=True,
            text=True, timeout=60)
        with open(done) as file:
            self.assertEqual(file.read(), "0\n", ran.stderr)
        with open(report) as file:
            found = json.load(file)
        self.assertEqual(found["attached_pid"], 1)
        self.assertGreater(found["counters"]["task-clock"]["value"] or 0, 0, found["counters"])

    def test_a_process_that_ends_ends_the_report(self):
        child = self.sleeper("import time; print('up', flush=True); time.sleep(1)")
        report = self.attach(child.pid)
        self.assertFalse(report["detached"])
        self.assertLess(report["wall_s"], 5)

    def test_sigint_detaches(self):
        child = self.sleeper()
        watcher = subprocess.Popen([BINARY, "attach", *PLAIN, str(child.pid)],
                                   stderr=subprocess.PIPE, text=True, env=harness.environment())
        time.sleep(1.5)
        watcher.send_signal(signal.SIGINT)
        _, text = watcher.communicate(timeout=30)
        self.assertEqual(watcher.returncode, 0, text)
        self.assertIn("detached", text)
        self.assertIsNone(child.poll())

    def test_processes_that_cannot_be_observed(self):
        ended = subprocess.Popen(["true"])
        ended.wait()
        self.assert_refused("attach", str(ended.pid), names=["no process", str(ended.pid)])
        for text in ["x", "0", "-1", "99999999999999"]:
            self.assert_refused("attach", "--", text, names=[text])
        self.assert_refused("attach", names="PID")
        if os.path.exists("/proc/2/comm"):
            with open("/proc/2/comm") as comm:
                if comm.read() == "kthreadd\n":
                    self.assert_refused("attach", "2", names="kernel")

    def test_a_number_of_a_thread(self):
        child = self.sleeper("""
            import threading, time
            threading.Thread(target=time.sleep, args=(60,)).start()
            print('up', flush=True)
            time.sleep(60)""")
        thread = max(int(name) for name in os.listdir("/proc/%d/task" % child.pid))
        self.assertNotEqual(thread, child.pid)
        self.assert_refused("attach", str(thread),
                            names=["%d (" % thread, "is a thread of process %d" % child.pid,
                                   "hwprof attach %d" % child.pid])

    def test_a_process_whose_main_thread_has_ended(self):
        """It goes on, and it is not said to have ended."""
        child = self.sleeper("""
            import ctypes, platform, threading, time
            threading.Thread(target=time.sleep, args=(60,)).start()
            print('up', flush=True)
            ctypes.CDLL(None).syscall({'x86_64': 60, 'aarch64': 93}[platform.machine()], 0)""")
        for _ in range(100):
            with open("/proc/%d/stat" % child.pid) as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] == "Z":
                    break
            time.sleep(0.1)
        self.assert_refused("attach", str(child.pid), names=["main thread", "other threads go on"])

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_users_process_is_refused_with_the_reason(self):
        child = self.sleeper()
        done = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", BINARY, "attach",
                               str(child.pid)], capture_output=True, text=True,
                              env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("another user", done.stderr)

    def test_itself(self):
        done = subprocess.run(["sh", "-c", "exec %s attach $$" % BINARY], capture_output=True,
                              text=True, env=harness.environment(), timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("itself", done.stderr)


if __name__ == "__main__":
    harness.main()
