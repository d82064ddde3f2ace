"""hwprof run: the program gets what it would have got without us, and its exit code."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys

import harness
from harness import BINARY, hwprof
from run_harness import PLAIN, RunTest


class Passthrough(RunTest):
    def test_every_exit_code_passes(self):
        for code in [0, 1, 2, 3, 42, 125, 126, 127, 128, 200, 255]:
            with self.subTest(code):
                done, report = self.run_json("sh", "-c", "exit %d" % code)
                self.assertEqual(done.returncode, code)
                self.assertEqual(report["exit"], code)

    def test_a_crash_is_128_and_the_signal(self):
        for name in ["SEGV", "ABRT", "KILL"]:
            with self.subTest(name):
                number = getattr(signal, "SIG" + name)
                done, report = self.run_json("sh", "-c", "ulimit -c 0; kill -%s $$" % name)
                self.assertEqual(done.returncode, 128 + number)
                self.assertEqual(report["exit"], 128 + number)

    def test_standard_output_is_the_programs_alone(self):
        done = hwprof("run", *PLAIN, "--", "echo", "it's", "me")
        self.assertEqual(done.stdout, "it's me\n")
        self.assertIn("wall", done.stderr)

    def test_100_megabytes_pass_untouched(self):
        code = "import sys\nfor i in range(100): sys.stdout.buffer.write(bytes([i]) * 1000000)"
        child = subprocess.Popen([BINARY, "run", *PLAIN, "--", sys.executable, "-c", code],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 env=harness.environment())
        digest, length = hashlib.sha256(), 0
        for block in iter(lambda: child.stdout.read(1 << 20), b""):
            digest.update(block)
            length += len(block)
        child.stdout.close()
        self.assertEqual(child.wait(), 0)
        expected = hashlib.sha256()
        for i in range(100):
            expected.update(bytes([i]) * 1000000)
        self.assertEqual(length, 100_000_000)
        self.assertEqual(digest.hexdigest(), expected.hexdigest())

    def test_standard_input_reaches_the_program(self):
        done = subprocess.run([BINARY, "run", *PLAIN, "--", "cat"], input=b"words\0\xff" * 1000,
                              capture_output=True, env=harness.environment(), timeout=60)
        self.assertEqual(done.stdout, b"words\0\xff" * 1000)

    def test_no_shell_touches_the_arguments(self):
        words = ["$HOME", "`id`", "a b", "", "*", "--", "-o", "\n", "\x1b[31m"]
        done, report = self.python("import sys, json; print(json.dumps(sys.argv[1:]))", *words)
        self.assertEqual(json.loads(done.stdout), words)
        self.assertEqual(report["command"][3:], words)

    def test_descriptors_are_those_without_us(self):
        code = "ls -l /proc/self/fd | sed 's/.* \\([0-9]*\\) -> /\\1 /' | grep -c '^[0-9]'"
        alone = subprocess.run(["sh", "-c", code], capture_output=True, text=True,
                               stdin=subprocess.DEVNULL)
        done = hwprof("run", *PLAIN, "--", "sh", "-c", code)
        self.assertEqual(done.stdout, alone.stdout)

    def test_an_extra_descriptor_is_passed_on(self):
        read, write = os.pipe()
        self.addCleanup(os.close, read)
        done = hwprof("run", *PLAIN, "--", "sh", "-c", "echo through >&%d" % write,
                      pass_fds=[write])
        os.close(write)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.read(read, 100), b"through\n")

    def test_closed_standard_descriptors_stay_closed(self):
        for fd in [0, 1]:
            with self.subTest(fd):
                done, _ = self.python("""
                    import os, sys
                    try:
                        os.fstat(%d)
                    except OSError:
                        sys.exit(0)
                    sys.exit(9)""" % fd, preexec_fn=lambda closed=fd: os.close(closed))
                self.assertEqual(done.returncode, 0, done.stderr)

    def signal_state(self, *prefix, **popen):
        # Not by Python, which changes dispositions itself.
        return subprocess.run([*prefix, "grep", "-E", "^(SigBlk|SigIgn|SigCgt):",
                               "/proc/self/status"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=harness.environment(),
                              timeout=60, **popen).stdout

    def test_signal_mask_and_dispositions_are_those_without_us(self):
        def odd():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
            for number in [signal.SIGINT, signal.SIGHUP, signal.SIGCHLD]:
                signal.signal(number, signal.SIG_IGN)
        for setup in [None, odd]:
            with self.subTest(setup):
                alone = self.signal_state(preexec_fn=setup, restore_signals=setup is None)
                under = self.signal_state(BINARY, "run", *PLAIN, "--", preexec_fn=setup,
                                          restore_signals=setup is None)
                self.assertIn("SigIgn", alone)
                self.assertEqual(under, alone)

    def test_an_ignored_sigchld_does_not_hide_the_exit_code(self):
        done, report = self.run_json(
            "sh", "-c", "exit 7",
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual((done.returncode, report["exit"]), (7, 7))

    def test_require_of_an_optimal_blas_fails_a_command_that_uses_none(self):
        required = ["run", *PLAIN, "--require", "optimal-blas", "--"]
        done = hwprof(*required, "true")
        # Where nothing may be watched, it cannot be told: 3.
        self.assertIn(done.returncode, [1, 3])
        self.assertEqual(done.returncode == 3, "inconclusive" in done.stderr.splitlines()[-1])
        self.assertIn("--require optimal-blas", done.stderr)
        self.assertEqual(hwprof(*required, "sh", "-c", "exit 5").returncode, 5)

    def test_process_group_and_limits_are_ours(self):
        done, _ = self.python("import os, resource; "
                              "print(os.getpgrp(), *resource.getrlimit(resource.RLIMIT_NOFILE))")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertEqual([int(word) for word in done.stdout.split()], [os.getpgrp(), *limits])

    def test_pin_holds_for_the_command(self):
        cpu = sorted(os.sched_getaffinity(0))[-1]
        done, report = self.python("import os; print(sorted(os.sched_getaffinity(0)))",
                                   options=["--pin", str(cpu)])
        self.assertEqual(json.loads(done.stdout), [cpu])
        self.assertEqual(report["pinned"], [cpu])


class Refused(RunTest):
    def refused_command(self, code, *command, names):
        marker = self.path("report.json")
        done = hwprof("run", *PLAIN, "-o", marker, "--", *command)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(marker))
        for name in names:
            self.assertIn(name, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_a_command_that_does_not_exist_is_127(self):
        self.refused_command(127, "no-such-command-of-anybody", names=["no-such-command-of-anybody",
                                                                       "not found"])
        self.refused_command(127, "./no/such/file", names=["./no/such/file"])
        self.refused_command(127, "", names=["''"])

    def test_a_command_that_cannot_be_run_is_126(self):
        self.refused_command(126, self.path("plain", "text"), names=["plain", "ermission"])
        self.refused_command(126, self.folder, names=["folder"])

    def test_a_file_that_only_a_shell_could_run_is_126(self):
        script = self.path("script", "echo from a shell\n")
        os.chmod(script, 0o755)
        self.refused_command(126, script, names=["script", "#!"])

    def test_a_missing_interpreter_is_126(self):
        script = self.path("script", "#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        self.refused_command(126, script, names=["script", "interpreter"])

    def test_misuse_runs_nothing(self):
        marker = self.path("marker")
        touch = ["--", "touch", marker]
        for options, names in [(["--events", "cycels"], ["cycels", "cycles"]),
                               (["--pin", "4095"], ["4095"]),
                               (["--user", "nobody-of-that-name"], ["nobody-of-that-name"]),
                               (["--format", "xml"], ["xml"]),
                               (["--no-counters", "--events", "cycles"], ["--no-counters"]),
                               (["-o", self.path("missing/report")], ["missing"]),
                               (["-o", self.folder], [self.folder])]:
            with self.subTest(options):
                self.assert_refused("run", *options, *touch, names=names)
                self.assertFalse(os.path.exists(marker))

    def test_a_missing_command_and_missing_dashes(self):
        self.assert_refused("run", names=["command", "--"])
        self.assert_refused("run", "--", names=["command"])
        self.assert_refused("run", "ls", names=["'ls'", "hwprof run -- "])


class Report(RunTest):
    def test_the_schema_has_every_key(self):
        _, report = self.run_json("true")
        self.assertEqual(report["schema"], "hwprof.run/1")
        for key in ["command", "exit", "wall_s", "user_s", "system_s", "peak_rss_bytes", "counters",
                    "blas", "warnings"]:
            self.assertIn(key, report)
        for key in ["verdict", "provider", "version", "path", "core", "threads", "factor", "why",
                    "fix", "evidence"]:
            self.assertIn(key, report["blas"])
        evidence = report["blas"]["evidence"]
        for key in ["declared", "loaded", "selected", "called", "executed", "performing"]:
            self.assertIn(key, evidence)
        self.assertIn(evidence["called"]["how"], ["uprobe", "audit", "none"])
        for key in ["samples", "lost", "by_library", "by_symbol", "vector_width", "threads"]:
            self.assertIn(key, evidence["executed"])

    def test_software_counters_agree_with_getrusage(self):
        code = """
            import os, resource, threading, time
            def work():
                blocks = [bytearray(1 << 20) for _ in range(20)]
                begin = time.thread_time()
                while time.thread_time() - begin < 0.2: pass
            for _ in range(2):
                pid = os.fork()
                if pid == 0:
                    work()
                    os._exit(0)
                os.waitpid(pid, 0)
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            total = [0] * 5
            for who in [resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN]:
                usage = resource.getrusage(who)
                for i, value in enumerate([usage.ru_utime + usage.ru_stime,
                                           usage.ru_minflt + usage.ru_majflt,
                                           usage.ru_nvcsw + usage.ru_nivcsw, usage.ru_maxrss]):
                    total[i] = max(total[i], value) if i == 3 else total[i] + value
            print(*total)"""
        done, report = self.python(code)
        cpu_s, faults, switches, peak_kib = [float(word) for word in done.stdout.split()[:4]]
        counters = report["counters"]
        task_clock = counters["task-clock"]
        self.assertEqual(task_clock["status"], "ok", task_clock)
        # The rest of the program's life, before and after getrusage, is within 15 %.
        self.assertAlmostEqual(task_clock["value"] * 1e-9, cpu_s, delta=0.15 * cpu_s)
        self.assertAlmostEqual(report["user_s"] + report["system_s"], cpu_s, delta=0.15 * cpu_s)
        if counters["page-faults"]["value"] is not None:
            self.assertAlmostEqual(counters["page-faults"]["value"], faults, delta=0.15 * faults)
        if counters["context-switches"]["value"] is not None:
            self.assertAlmostEqual(counters["context-switches"]["value"], switches,
                                   delta=0.3 * switches + 20)
        self.assertAlmostEqual(report["peak_rss_bytes"] / 1024, peak_kib, delta=0.1 * peak_kib)
        self.assertAlmostEqual(report["cpus_used"], cpu_s / report["wall_s"], delta=0.2)

    def test_memory_of_hwprof_itself_is_not_the_programs(self):
        # The kernel counts what a process took before execve; a program this small takes less.
        _, report = self.run_json("true")
        self.assertIsNone(report["peak_rss_bytes"])
        self.assertIn("below", report["peak_rss_reason"])

    def test_every_absent_number_has_its_reason(self):
        _, report = self.run_json("true")
        for name, counter in report["counters"].items():
            if counter["value"] is None:
                self.assertTrue(counter["reason"], name)
        if report["peak_rss_bytes"] is None:
            self.assertTrue(report["peak_rss_reason"])

    def test_the_text_fits_the_terminal_and_begins_with_the_verdict(self):
        done = hwprof("run", *PLAIN, "--", "true")
        lines = done.stderr.strip("\n").split("\n")
        self.assertTrue(lines[0].startswith("BLAS "), lines[0])
        for line in lines:
            if " " in line.strip():
                self.assertLessEqual(len(line), 100, line)

    def test_escape_sequences_of_the_command_do_not_reach_the_terminal(self):
        for options in [[], ["--format", "markdown"], ["--format", "json"]]:
            done = hwprof("run", *PLAIN, *options, "--", "true", "\x1b]0;owned\x07\n\x9b31m")
            self.assertNotIn("\x1b", done.stderr)
            self.assertNotIn("\x07", done.stderr)

    def test_a_report_that_cannot_be_written_keeps_the_exit_code(self):
        done = hwprof("run", *PLAIN, "-o", "/dev/full", "--", "sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 5)
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("wall", done.stderr)


if __name__ == "__main__":
    harness.main()
