"""hwprof run and attach: the program gets what it would have got without us, and its exit code."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import harness
from harness import BINARY, CliTest, hwprof

# What this file tests needs neither calls nor samples, and no ladder.
PLAIN = ["--no-ladder"]


class RunTest(CliTest):
    def run_json(self, *command, options=(), **popen):
        """Runs `command` under hwprof; returns (completed process, parsed report)."""
        report = self.path("report.json")
        done = hwprof("run", *PLAIN, "--format", "json", "-o", report, *options, "--", *command,
                      **popen)
        with open(report) as file:
            return done, json.load(file)

    def python(self, code, *arguments, **more):
        return self.run_json(sys.executable, "-c", textwrap.dedent(code), *arguments, **more)

    def codes(self, report):
        return [warning["code"] for warning in report["warnings"]]


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
        marker = self.path("daemon-lives")
        code = """
            import os, time
            if os.fork(): os._exit(0)
            os.setsid()
            if os.fork(): os._exit(0)
            os.closerange(0, 3)
            time.sleep(2)
            open(%r, "w").close()""" % marker
        begin = time.monotonic()
        done, report = self.python(code)
        self.assertLess(time.monotonic() - begin, 1.9)
        self.assertEqual(done.returncode, 0)
        self.assertIn("processes-go-on", self.codes(report))
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
        self.assertGreater(report["user_s"], 0.1)
        self.assertIsNone(child.poll())

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
