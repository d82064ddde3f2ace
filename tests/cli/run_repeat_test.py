"""hwprof run --repeat: how often the command runs, what each run gets, and when it stops."""

import json
import os
import signal
import statistics
import subprocess
import sys
import textwrap

import harness
from harness import BINARY, CliTest, hwprof

PLAIN = ["--no-ladder", "--no-calls", "--no-samples"]


class RepeatTest(CliTest):
    def repeat(self, count, *command, options=(), **popen):
        """Runs `command` under hwprof; returns (completed process, report, its repeats)."""
        path = self.path("report.json")
        done = hwprof("run", *PLAIN, "--repeat", str(count), "--format", "json", "-o", path,
                      *options, "--", *command, **popen)
        with open(path) as file:
            report = json.load(file)
        return done, report, report["repeats"]

    def fails_in(self, number):
        """A command that writes a letter for each run, and fails with 9 in that one."""
        marker = self.path("runs", "")
        return ["sh", "-c", 'printf x >> "$0"; [ "$(wc -c < "$0")" != %d ] || exit 9' % number,
                marker]

    def runs_done(self):
        return os.path.getsize(self.path("runs"))


class Runs(RepeatTest):
    def test_it_runs_once_observed_then_warm_then_measured(self):
        done, report, repeats = self.repeat(3, *self.fails_in(0), options=["--warmup", "2"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.runs_done(), 1 + 2 + 3)
        self.assertEqual((repeats["count"], repeats["wanted"], repeats["warmup"]), (3, 3, 2))
        self.assertIsNone(repeats["stopped"])
        self.assertEqual(report["warnings"], [])

    def test_without_repeat_it_runs_once_and_there_is_nothing_to_tell(self):
        done = hwprof("run", *PLAIN, "--format", "json", "-o", self.path("r"), "--",
                      *self.fails_in(0))
        self.assertEqual((done.returncode, self.runs_done()), (0, 1))
        with open(self.path("r")) as file:
            self.assertIsNone(json.load(file)["repeats"])

    def test_standard_output_of_all_runs_passes(self):
        done, _, _ = self.repeat(3, "echo", "once")
        self.assertEqual(done.stdout, "once\n" * 4)

    def test_the_numbers_follow_from_the_samples(self):
        _, _, repeats = self.repeat(7, "sleep", "0.02")
        for name in ["wall_s", "user_s", "system_s"]:
            time = repeats[name]
            self.assertEqual(len(time["samples"]), 7)
            self.assertEqual(time["best"], min(time["samples"]))
            self.assertEqual(time["worst"], max(time["samples"]))
            self.assertAlmostEqual(time["median"], statistics.median(time["samples"]))
            self.assertLessEqual(time["ci95"][0], time["median"])
            self.assertGreaterEqual(time["ci95"][1], time["median"])
        self.assertGreaterEqual(repeats["wall_s"]["best"], 0.02)
        self.assertEqual(len(repeats["runs"]), 7)
        for outlier in repeats["outliers"]:
            self.assertEqual(outlier["wall_s"], repeats["wall_s"]["samples"][outlier["index"]])
            self.assertTrue(outlier["cause"])

    def test_a_cpu_bound_run_has_its_time_as_user_time(self):
        code = "import time\nwhile time.process_time() < 0.1: pass"
        _, _, repeats = self.repeat(2, sys.executable, "-c", code)
        for user, system, wall in zip(*[repeats[name]["samples"]
                                        for name in ["user_s", "system_s", "wall_s"]]):
            self.assertGreaterEqual(user + system, 0.09)
            self.assertGreaterEqual(wall, 0.09)

    def test_timed_runs_are_not_observed(self):
        # Calls are watched by LD_AUDIT where hwprof is not root.
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        try:
            subprocess.run([BINARY, "--version"], capture_output=True, check=True, **user)
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("nobody cannot reach %s" % BINARY)
        done = hwprof("run", "--no-ladder", "--repeat", "2", "--warmup", "1", "--", "sh", "-c",
                      'echo "[$LD_AUDIT]"', **user)
        self.assertEqual(done.returncode, 0, done.stderr)
        observed, *timed = done.stdout.splitlines()
        self.assertIn("libhwprof-audit", observed)
        self.assertEqual(timed, ["[]"] * 3)

    def test_page_faults_of_a_run_are_counted(self):
        code = "x = bytearray(40 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1"
        _, _, repeats = self.repeat(2, sys.executable, "-c", code)
        for run in repeats["runs"]:
            # 40 MiB are 10240 pages, or 20 huge ones.
            self.assertGreater(run["page_faults"], 20)
            self.assertGreaterEqual(run["page_faults"], run["major_faults"])

    def test_absent_numbers_have_a_reason(self):
        _, _, repeats = self.repeat(2, "true", options=["--no-counters"])
        self.assertEqual([run["migrations"] for run in repeats["runs"]], [None, None])
        self.assertIn("--no-counters", repeats["migrations_reason"])
        self.assertEqual([run["peak_gflops"] for run in repeats["runs"]], [None, None])
        self.assertIn("--pin", repeats["peak_reason"])
        self.assertIsNone(repeats["wall_s"]["ci95"])
        self.assertIn("Fewer than 6", " ".join(repeats["notes"]))

    def test_the_wait_for_a_cpu_is_counted(self):
        if not os.path.exists("/proc/self/schedstat"):
            self.skipTest("the kernel keeps no statistics of its scheduler")
        cpu = str(sorted(os.sched_getaffinity(0))[0])
        # Two of equal weight on one CPU: the program waits about as long as it runs.
        other = subprocess.Popen(["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        code = "import time\nwhile time.process_time() < 0.3: pass"
        _, _, repeats = self.repeat(2, sys.executable, "-c", code, options=["--pin", cpu])
        for run in repeats["runs"]:
            self.assertGreater(run["waited_s"], 0.03)

    def test_pin_holds_and_its_clock_is_watched(self):
        cpu = sorted(os.sched_getaffinity(0))[-1]
        done, _, repeats = self.repeat(2, sys.executable, "-c",
                                       "import os; print(sorted(os.sched_getaffinity(0)))",
                                       options=["--pin", str(cpu)])
        self.assertEqual(done.stdout, "[%d]\n" % cpu * 3)
        for run in repeats["runs"]:
            self.assertGreater(run["peak_gflops"], 0)
        self.assertIsNone(repeats["peak_reason"])

    def test_processes_that_go_on_are_said(self):
        _, report, _ = self.repeat(1, "sh", "-c", "sleep 3 > /dev/null 2>&1 &")
        self.assertIn("run 1 of 1", " ".join(warning["text"] for warning in report["warnings"]))


class Input(RepeatTest):
    def test_each_run_reads_the_file_from_where_it_stood(self):
        with open(self.path("input", "first\nsecond\n")) as file:
            os.lseek(file.fileno(), 6, os.SEEK_SET)
            done, _, _ = self.repeat(2, "cat", stdin=file, options=["--warmup", "1"])
        self.assertEqual(done.stdout, "second\n" * 4)

    def test_a_pipe_is_refused(self):
        marker = self.path("marker")
        read, write = os.pipe()
        os.close(write)
        with os.fdopen(read) as pipe:
            self.assert_refused("run", "--repeat", "2", "--", "touch", marker, stdin=pipe,
                                names=["standard input", "pipe", "/dev/null"])

    def test_a_closed_input_stays_closed(self):
        done, _, _ = self.repeat(2, "sh", "-c", "[ ! -e /proc/$$/fd/0 ]", stdin=None,
                                 preexec_fn=lambda: os.close(0))
        self.assertEqual(done.returncode, 0, done.stderr)


class Failures(RepeatTest):
    def test_a_run_that_fails_is_the_last(self):
        for number, name, count in [(1, "the observed run", 0), (2, "warm-up run 1 of 2", 0),
                                    (6, "run 3 of 5", 2)]:
            with self.subTest(name):
                done, report, repeats = self.repeat(5, *self.fails_in(number),
                                                    options=["--warmup", "2"])
                self.assertEqual((done.returncode, report["exit"]), (9, 9))
                self.assertEqual(self.runs_done(), number)
                self.assertEqual(repeats["count"], count)
                self.assertEqual(len(repeats["wall_s"]["samples"]), count)
                self.assertIn(name, repeats["stopped"])
                self.assertIn("9", repeats["stopped"])
                self.assertIn("repeat", [warning["code"] for warning in report["warnings"]])

    def test_the_text_says_which_run_failed(self):
        for form in ["text", "markdown"]:
            done = hwprof("run", *PLAIN, "--repeat", "5", "--format", form, "--",
                          *self.fails_in(4))
            self.assertEqual(done.returncode, 9)
            self.assertIn("2 of 5 runs: run 3 of 5 failed with exit code 9", done.stderr)

    def test_ignore_failure_goes_on(self):
        done, report, repeats = self.repeat(3, *self.fails_in(2), options=["--ignore-failure"])
        self.assertEqual((done.returncode, report["exit"]), (0, 0))
        self.assertEqual((self.runs_done(), repeats["count"]), (4, 3))

    def test_the_exit_code_is_that_of_the_last_run(self):
        done, report, _ = self.repeat(2, "sh", "-c", "exit 3", options=["--ignore-failure"])
        self.assertEqual((done.returncode, report["exit"]), (3, 3))

    def test_a_program_that_removes_itself(self):
        script = self.path("script", "#!/bin/sh\nrm \"$0\"\n")
        os.chmod(script, 0o755)
        done, _, repeats = self.repeat(2, script)
        self.assertEqual(done.returncode, 126)
        self.assertIn("run 1 of 2 could not be started", repeats["stopped"])


class Stopped(RepeatTest):
    def start(self, code):
        path = self.path("report.json")
        child = subprocess.Popen(
            [BINARY, "run", *PLAIN, "--repeat", "50", "--format", "json", "-o", path, "--",
             sys.executable, "-u", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True,
            env=harness.environment())
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        return child, path

    def ended(self, child, path, line, number):
        """Sends `number` in the run that begins after three others; returns the report."""
        for _ in range(4):
            self.assertEqual(child.stdout.readline(), line)
        child.send_signal(number)
        child.wait(timeout=60)
        with open(path) as file:
            return json.load(file)

    def test_a_signal_ends_it_and_the_report_has_what_was_measured(self):
        for number in [signal.SIGINT, signal.SIGTERM]:
            with self.subTest(number):
                # The first run is the observed one; so two were measured before the fourth.
                child, path = self.start("""
                    import signal, time
                    signal.signal(signal.SIGINT, signal.SIG_DFL)
                    print("up")
                    time.sleep(0.5)""")
                report = self.ended(child, path, "up\n", number)
                self.assertEqual((child.returncode, report["exit"]), (128 + number,) * 2)
                self.assertEqual(report["repeats"]["count"], 2)
                self.assertIn("run 3 of 50", report["repeats"]["stopped"])
                self.assertIn(number.name, report["repeats"]["stopped"])

    def test_a_command_that_takes_the_signal_well_is_not_run_again(self):
        child, path = self.start("""
            import signal, sys, time
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            print("up")
            time.sleep(0.5)""")
        report = self.ended(child, path, "up\n", signal.SIGTERM)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)
        self.assertEqual(report["repeats"]["count"], 2)

    def test_sigusr1_is_passed_on_and_ends_nothing(self):
        child, path = self.start("""
            import signal, time
            signal.signal(signal.SIGUSR1, lambda *_: None)
            print("up")
            time.sleep(0.2)""")
        for _ in range(2):
            self.assertEqual(child.stdout.readline(), "up\n")
        child.send_signal(signal.SIGUSR1)
        for _ in range(3):
            self.assertEqual(child.stdout.readline(), "up\n")
        child.terminate()
        child.wait(timeout=60)
        with open(path) as file:
            self.assertGreaterEqual(json.load(file)["repeats"]["count"], 3)


class Refused(RepeatTest):
    def test_counts_that_cannot_be(self):
        marker = self.path("marker")
        for options, names in [(["--repeat", "0"], ["--repeat", "0"]),
                               (["--repeat=-1"], ["--repeat", "-1"]),
                               (["--repeat", "x"], ["--repeat", "x"]),
                               (["--repeat", "1.5"], ["--repeat", "1.5"]),
                               (["--repeat", "10001"], ["--repeat", "10000"]),
                               (["--repeat", "9" * 30], ["--repeat"]),
                               (["--repeat", ""], ["--repeat"]),
                               (["--repeat", "2", "--repeat", "3"], ["--repeat"]),
                               (["--repeat", "2", "--warmup", "x"], ["--warmup", "x"]),
                               (["--repeat", "2", "--warmup", "10001"], ["--warmup", "10000"]),
                               (["--warmup", "2"], ["--warmup", "--repeat"]),
                               (["--warmup", "0"], ["--warmup", "--repeat"]),
                               (["--ignore-failure"], ["--ignore-failure", "--repeat"])]:
            with self.subTest(options):
                self.assert_refused("run", *options, "--", "touch", marker, names=names)

    def test_a_command_that_is_not_there_is_not_repeated(self):
        done = hwprof("run", "--repeat", "3", "--", "no-such-command-of-anybody")
        self.assertEqual(done.returncode, 127)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)


if __name__ == "__main__":
    harness.main()
