"""hwprof run --try-fix and --try: what is run how often, whether the output stayed, what is said.
No test asserts a time: the sentence must be the one that the report's own numbers ask for."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import unittest

import harness
from evidence_harness import CALLER, needs_caller
from harness import BINARY, CliTest, hwprof

PLAIN = ["--no-ladder", "--no-calls", "--no-samples"]
# Three times the work, unless MODE is fast.
WORK = """
    import os
    work = 1 if os.environ.get("MODE") == "fast" else 3
    print(sum(i * i for i in range(100000)))
    for _ in range(work):
        sum(i * i for i in range(400000))
"""


class FixTest(CliTest):
    def tried(self, *command, options=(), **popen):
        """Runs `command` under hwprof; returns (completed process, report, its fix)."""
        path = self.path("report.json")
        popen.setdefault("stdin", subprocess.DEVNULL)
        done = hwprof("run", *PLAIN, "--format", "json", "-o", path, *options, "--", *command,
                      **popen)
        if not os.path.exists(path):
            return done, None, None
        with open(path) as file:
            report = json.load(file)
        return done, report, report["fix"]

    def python(self, code, *options, **popen):
        return self.tried(sys.executable, "-c", textwrap.dedent(code), options=options, **popen)

    def assert_said(self, fix):
        """The sentence follows from the interval, and the interval from the raw times."""
        low, estimate, high = fix["wall_ratio"]
        self.assertLessEqual(low, estimate)
        self.assertLessEqual(estimate, high)
        ratios = [a / b for a, b in zip(fix["wall_s"], fix["as_is"]["wall_s"])]
        self.assertLessEqual(min(ratios), low)
        self.assertGreaterEqual(max(ratios), high)
        self.assertEqual(" faster" in fix["result"], high < 1 / 1.05, fix["result"])
        self.assertEqual(" slower" in fix["result"], low > 1.05, fix["result"])


class Rounds(FixTest):
    def test_a_setting_is_held_against_the_program_as_it_is(self):
        done, report, fix = self.python(WORK, "--try", "MODE=fast")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((fix["tried"], fix["changes"]), ("MODE=fast", ["MODE=fast"]))
        self.assertEqual(fix["job_line"], "export MODE=fast")
        self.assertIn(fix["rounds"], [9, 20, 40])
        for times in [fix["wall_s"], fix["cpu_s"], fix["as_is"]["wall_s"], fix["as_is"]["cpu_s"]]:
            self.assertEqual(len(times), fix["rounds"])
        self.assert_said(fix)
        self.assertIs(fix["same_output"], True, fix["output_reason"])
        self.assertEqual(fix["worth_it"], fix["wall_ratio"][2] < 1 / 1.05 or
                         (fix["wall_ratio"][0] <= 1.05 and fix["cpu_ratio"][2] < 1 / 1.05))
        # A third of the work takes less CPU time on any machine.
        self.assertLess(fix["cpu_ratio"][1], 1)
        self.assertGreater(fix["other_programs"], -1)
        self.assertEqual(report["exit"], 0)

    def test_output_of_the_observed_run_alone_is_shown(self):
        done, _, fix = self.python("import sys; print('once'); print('error', file=sys.stderr)",
                                   "--try", "MODE=fast", "--budget", "3")
        self.assertEqual(done.stdout, "once\n")
        self.assertEqual(done.stderr.count("error\n"), 1)
        self.assertIn("not shown", " ".join(fix["notes"]))

    def test_another_output_is_seen(self):
        for code, why in [("import os; print(os.environ.get('MODE'))", "standard output"),
                          ("import os, sys; sys.exit(5 if 'MODE' in os.environ else 0)",
                           "exit code 5, as it is 0")]:
            _, _, fix = self.python(code, "--try", "MODE=fast", "--budget", "3")
            self.assertIs(fix["same_output"], False)
            self.assertIn(why, fix["output_reason"])
            self.assertIn("its output changed", fix["result"])
            self.assertFalse(fix["worth_it"])

    def test_of_the_same_length_another_output_is_seen_too(self):
        code = "import os; print('x' * 300000 + ('a' if 'MODE' in os.environ else 'b'))"
        _, _, fix = self.python(code, "--try", "MODE=fast", "--budget", "3")
        self.assertIs(fix["same_output"], False)
        self.assertIn("300002 bytes, as it is 300002, and others", fix["output_reason"])

    def test_of_a_program_that_says_something_else_each_time_nothing_is_said(self):
        _, _, fix = self.python("import os; print(os.getpid())", "--try", "MODE=fast",
                                "--budget", "3")
        self.assertIsNone(fix["same_output"])
        self.assertIn("differs from run to run as it is", fix["output_reason"])

    def test_an_empty_value_unsets(self):
        code = "import os; print('MODE' in os.environ)"
        environment = dict(os.environ, MODE="slow")
        _, _, fix = self.python(code, "--try", "MODE=", "--budget", "3", env=environment)
        self.assertEqual((fix["tried"], fix["job_line"]), ("MODE unset", "unset MODE"))
        self.assertIs(fix["same_output"], False)

    def test_several_settings_are_run_in_the_same_rounds(self):
        runs = self.path("runs", "")
        code = ("import os; open(%r, 'a').write(os.environ.get('A', '-') + "
                "os.environ.get('B', '-') + chr(10))" % runs)
        _, report, fix = self.python(code, "--try", "A=1,2", "--try", "B=x", "--budget", "5")
        tried = [fix] + fix["others"]
        self.assertEqual(sorted(one["tried"] for one in tried), ["A=1", "A=2", "B=x"])
        with open(runs) as file:
            observed, *lines = file.read().split()
        self.assertEqual(observed, "--")
        sides = sorted(["--", "1-", "2-", "-x"])
        self.assertEqual(len(lines), 4 * fix["rounds"], report["warnings"])
        orders = [lines[i:i + 4] for i in range(0, len(lines), 4)]
        for order in orders:
            self.assertEqual(sorted(order), sides)
        if len(orders) > 5:
            self.assertGreater(len({tuple(order) for order in orders}), 1, "shuffled")

    def test_a_budget_ends_the_rounds(self):
        _, _, fix = self.tried("sleep", "0.3", options=["--try", "A=1", "--budget", "1"])
        self.assertGreaterEqual(fix["rounds"], 1)
        self.assertLess(fix["rounds"], 6)
        self.assertIn("budget of 1 s", fix["stopped_rounds"])
        self.assertEqual(fix["wall_ratio"], [])
        self.assertIn("too few", fix["ratio_reason"])

    def test_the_runs_are_not_observed(self):
        runs = self.path("runs", "")
        done, _, _ = self.tried("sh", "-c", 'echo "[$LD_AUDIT]" >> "$0"', runs,
                                options=["--try", "A=1", "--budget", "2"])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(runs) as file:
            self.assertEqual(set(file.read().split()[1:]), {"[]"})


@unittest.skipUnless(os.environ.get("THREAD_LOADS"), "built without OpenMP")
class Threads(FixTest):
    def test_what_a_sentence_on_threads_names_is_tried(self):
        path = self.path("report.json")
        done = hwprof("run", "--no-ladder", "--no-counters", "--format", "json", "-o", path, "--try-fix",
                      "--budget", "5", "--", os.environ["THREAD_LOADS"], "products", "0.7",
                      env=harness.environment(OPENBLAS_NUM_THREADS="2"))
        with open(path) as file:
            report = json.load(file)
        sentences = report["threads"]["sentences"] if done.returncode == 0 else []
        if not any((sentence["fix"] or "").startswith("OPENBLAS_NUM_THREADS=1") for sentence in sentences):
            self.skipTest("no workers of OpenBLAS were seen to be idle")
        settings = [report["fix"], *report["fix"]["others"]]
        self.assertIn(["OPENBLAS_NUM_THREADS=1"], [setting["changes"] for setting in settings])


class Failure(FixTest):
    def test_after_an_observed_run_that_fails_nothing_is_tried(self):
        done, report, fix = self.tried("sh", "-c", "exit 3", options=["--try", "A=1"])
        self.assertEqual((done.returncode, report["exit"], fix["rounds"]), (3, 3, 0))
        self.assertIn("the observed run failed with exit code 3", fix["stopped_rounds"])
        self.assertIn("try", [warning["code"] for warning in report["warnings"]])

    def test_a_failure_is_ignored_where_that_is_asked(self):
        done, _, fix = self.tried("sh", "-c", "exit 3",
                                  options=["--try", "A=1", "--ignore-failure", "--budget", "2"])
        self.assertEqual(done.returncode, 3)
        self.assertGreater(fix["rounds"], 1)
        self.assertIs(fix["same_output"], True)

    def test_a_setting_that_fails_is_out_and_the_others_go_on(self):
        done, _, fix = self.tried("sh", "-c", '[ "$A" != 2 ] || exit 4',
                                  options=["--try", "A=1,2", "--budget", "3"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(fix["tried"], "A=1")
        failed, = fix["others"]
        self.assertEqual((failed["tried"], failed["rounds"]), ("A=2", 0))
        self.assertIn("failed with exit code 4", failed["stopped"])
        self.assertIs(failed["same_output"], False)
        self.assertGreater(fix["rounds"], 1)

    def test_a_pipe_as_input_is_refused_before_anything_runs(self):
        done, report, _ = self.tried("touch", self.path("ran"), options=["--try-fix"],
                                     stdin=subprocess.PIPE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--try-fix: standard input is a pipe", done.stderr)
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_each_run_reads_the_input_from_its_beginning(self):
        source = self.path("input", "one\ntwo\n")
        with open(source) as file:
            file.readline()
            os.lseek(file.fileno(), 4, os.SEEK_SET)
            _, _, fix = self.tried("cat", options=["--try", "A=1", "--budget", "2"], stdin=file)
        self.assertIs(fix["same_output"], True)
        self.assertNotIn("writes nothing", " ".join(fix["notes"]))

    def test_ctrl_c_between_rounds_leaves_what_was_measured(self):
        ready = self.path("ready", "")
        code = ("import os, sys, time, signal\nsignal.signal(signal.SIGINT, lambda *_: None)\n"
                "open(%r, 'a').write('x')\ntime.sleep(0.05)" % ready)
        path = self.path("report.json")
        process = subprocess.Popen(
            [BINARY, "run", *PLAIN, "--format", "json", "-o", path, "--try", "A=1", "--",
             sys.executable, "-c", code],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stderr.close)
        while os.path.getsize(ready) < 6 and process.poll() is None:
            pass
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGINT)
        with open(path) as file:
            fix = json.load(file)["fix"]
        self.assertIn("SIGINT", fix["stopped_rounds"])
        self.assertGreaterEqual(fix["rounds"], 1)
        self.assertEqual(len(fix["wall_s"]), fix["rounds"])


class Fixes(FixTest):
    def test_where_the_verdict_names_no_fix_nothing_is_run_again(self):
        runs = self.path("runs", "")
        done, _, fix = self.tried("sh", "-c", 'echo x >> "$0"', runs, options=["--try-fix"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.path.getsize(runs), 2)
        self.assertIsNone(fix["tried"])
        self.assertIn("Nothing was tried: the ", fix["result"])
        self.assertEqual(fix["rounds"], 0)

    @needs_caller
    def test_what_the_verdict_names_is_tried(self):
        environment = dict(os.environ, OPENBLAS_CORETYPE="Prescott", OPENBLAS_NUM_THREADS="1")
        path = self.path("report.json")
        done = hwprof("run", "--try-fix", "--budget", "6", "--format", "json", "-o", path, "--",
                      CALLER, "busy", "0.3", env=environment, stdin=subprocess.DEVNULL)
        with open(path) as file:
            report = json.load(file)
        fix, advice = report["fix"], report["blas"]["fix"]
        if "unset OPENBLAS_CORETYPE" not in advice:
            self.skipTest("the verdict here names another fix: " + advice)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("OPENBLAS_CORETYPE", fix["changes"])
        self.assertIn("unset OPENBLAS_CORETYPE", fix["job_line"])
        self.assertGreaterEqual(fix["rounds"], 1)
        self.assertIn("With OPENBLAS_CORETYPE unset", fix["result"])

    def test_the_sentence_and_the_line_stand_in_the_report(self):
        done = hwprof("run", *PLAIN, "--try", "MODE=fast", "--", sys.executable, "-c",
                      textwrap.dedent(WORK), stdin=subprocess.DEVNULL)
        self.assertIn("With MODE=fast ", done.stderr)
        self.assertIn("The program with another environment, over as it is", done.stderr)
        self.assertIn("the same", done.stderr)

    def test_wrong_options_are_refused(self):
        for options, words in [(["--try", "1x=3"], ["--try", "1x=3"]),
                               (["--try", "fast"], ["--try", "fast"]),
                               (["--budget", "3"], ["--budget", "--try-fix"]),
                               (["--try-fix", "--try", "A=1"], ["--try"]),
                               (["--ignore-failure"], ["--ignore-failure", "--try-fix"]),
                               (["--try", "A=" + ",".join(map(str, range(17)))], ["17", "16"])]:
            done, report, _ = self.tried("touch", self.path("ran"), options=options)
            self.assertEqual(done.returncode, 2, done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)
            self.assertFalse(os.path.exists(self.path("ran")))


if __name__ == "__main__":
    harness.main()
