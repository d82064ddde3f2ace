"""hwprof check: the record, the line, the metrics and the exit code of one host or one command."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import unittest

import harness
from evidence_harness import CALLER, EvidenceTest, needs_caller, needs_root
from harness import BINARY, environment, hwprof

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "matrix"))
from libraries import widest_core  # noqa: E402

LINE = re.compile(r"verdict=(\S+) gflops=(\S+) peak_fraction=(\S+) factor=(\S+) outcome=(\S+) "
                  r"provider=(\S+) core=(\S+)\n$")
REQUIRED = re.compile(r"host=(\S+) exit=(\d) verdict=(\S+) reason=(.+)$")
EXIT = {"pass": 0, "fail": 1, "unknown": 3}
OUTCOME = {"optimal": "pass", "suboptimal": "fail", "unoptimised": "fail", "wrong-results": "fail",
           "missing": "fail"}

# Text format 0.0.4: what node_exporter refuses is refused here.
SAMPLE = re.compile(r'([a-z_]+)(\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\"n])*")*\})? '
                    r'(-?[0-9.]+(?:e[+-]?[0-9]+)?)$')
UNITS = ("_ratio", "_seconds", "_per_second", "_outcome", "_info", "_right")


def installed():
    """Libraries of this machine that have products, by provider; of OpenBLAS the file with the kernels."""
    done = hwprof("blas", "--quick", "--json")
    found = {}
    for library in json.loads(done.stdout)["libraries"]:
        if library["provider"] not in found or "libopenblas" in os.path.basename(library["path"]):
            found[library["provider"]] = library["path"]
    return found


def read_metrics(text):
    """{name: {labels: value}} of strictly read text; metrics are whole and in groups."""
    metrics, name = {}, None
    lines = text.split("\n")
    assert lines.pop() == "", "the last line has no end"
    for line in lines:
        if line.startswith("# HELP "):
            name = line.split(" ")[2]
            assert name not in metrics, "%s stands twice" % name
            assert name.startswith("hwprof_check_") and name.endswith(UNITS), name
            metrics[name] = None
        elif line.startswith("# TYPE "):
            assert line == "# TYPE %s gauge" % name and metrics[name] is None, line
            metrics[name] = {}
        else:
            sample = SAMPLE.match(line)
            assert sample and sample.group(1) == name, "%r is no sample of %s" % (line, name)
            labels = sample.group(2) or ""
            assert labels not in metrics[name], "%s stands twice" % line
            metrics[name][labels] = float(sample.group(3))
    assert all(metrics.values()), "a metric without a sample"
    return metrics


class CheckTest(EvidenceTest):
    def with_blas(self, provider, **changes):
        """Environment in which programs get the BLAS of that provider."""
        libraries = installed()
        if provider not in libraries:
            self.skipTest("no BLAS of the kind %s is installed" % provider)
        folder = self.path("blas-" + provider)
        os.makedirs(folder, exist_ok=True)
        soname = os.path.join(folder, "libblas.so.3")
        if not os.path.lexists(soname):
            os.symlink(libraries[provider], soname)
        path = ":".join(filter(None, [folder, os.environ.get("LD_LIBRARY_PATH")]))
        return environment(LD_LIBRARY_PATH=path, **changes)

    def fields(self, done):
        match = LINE.match(done.stdout)
        self.assertIsNotNone(match, (done.stdout, done.stderr))
        verdict, outcome = match.group(1), match.group(5)
        if not (verdict == "suboptimal" and outcome == "unknown"):  # a busy machine
            self.assertEqual(outcome, OUTCOME.get(verdict, "unknown"))
        self.assertEqual(done.returncode, EXIT[outcome], done.stderr)
        return match


class Host(CheckTest):
    def test_record_line_metrics_and_exit_code_say_the_same(self):
        out = self.path("records")
        os.mkdir(out)
        done = hwprof("check", "--quick", "--out", out, "--run-id", "r1", "--host", "node01",
                      "--prometheus", self.path("check.prom"))
        match = self.fields(done)
        self.assertEqual(os.listdir(out), ["node01@r1.json"])
        with open(os.path.join(out, "node01@r1.json")) as file:
            record = json.load(file)
        with open(self.path("check.prom")) as file:
            metrics = read_metrics(file.read())
        self.assertEqual(record["schema"], "hwprof.check/1")
        self.assertEqual((record["run_id"], record["host"], record["quick"]), ("r1", "node01", True))
        self.assertEqual(record["blas"]["verdict"], match.group(1))
        self.assertEqual(record["outcome"], match.group(5))
        self.assertEqual(record["kernel"], os.uname().release)
        with open("/proc/sys/kernel/random/boot_id") as file:
            self.assertEqual(record["boot_id"], file.read().strip())
        self.assertTrue(record["cpu"] and record["cpu_id"] and record["hwprof"]["version"])
        self.assertTrue(bool(record["microcode"]) != bool(record["microcode_reason"]))
        self.assertLessEqual(record["started_utc"], record["ended_utc"])
        self.assertEqual(metrics["hwprof_check_outcome"]['{outcome="%s"}' % record["outcome"]], 1)
        self.assertEqual(sum(metrics["hwprof_check_outcome"].values()), 1)
        if record["gflops"] is None:
            self.assertTrue(record["gflops_reason"])
            self.assertEqual(match.group(2), "-")
        else:
            self.assertAlmostEqual(float(match.group(2)) / record["gflops"], 1, 2)
            self.assertAlmostEqual(record["peak_gflops"] * record["peak_fraction"], record["gflops"], 6)
            self.assertAlmostEqual(metrics["hwprof_check_sgemm_flops_per_second"][""] / 1e9,
                                   record["gflops"], 6)
            self.assertRegex(record["blas"]["results"]["bits"], r"^[0-9a-f]{16}$")

    def test_without_a_folder_there_is_the_line_alone(self):
        self.fields(hwprof("check", "--quick", "-q", cwd=self.folder))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_core_type_that_was_forced_down_fails_and_is_named(self):
        env = self.with_blas("openblas", OPENBLAS_CORETYPE="Prescott")
        done = hwprof("check", "--quick", "--out", self.folder, "--run-id", "r", "--host", "a", env=env)
        match = self.fields(done)
        if match.group(7) != "Prescott":
            self.skipTest("this OpenBLAS has no Prescott")
        self.assertIn(match.group(1), ("unoptimised", "suboptimal"))
        with open(self.path("a@r.json")) as file:
            record = json.load(file)
        self.assertEqual(record["blas"]["environment"]["OPENBLAS_CORETYPE"], "Prescott")
        self.assertIn("OPENBLAS_CORETYPE", record["blas"]["fix"])
        # Where it would choose that by itself, too, to unset the variable is no remedy.
        self.assertRegex(done.stderr, "OPENBLAS_CORETYPE|chooses Prescott .* by itself")

    def test_the_reference_blas_fails(self):
        match = self.fields(hwprof("check", env=self.with_blas("reference")))
        self.assertEqual(match.group(6), "reference")
        self.assertEqual(match.group(5), "fail")

    def test_results_have_the_same_bits_in_each_check_and_others_with_another_core(self):
        bits = []
        for core in (widest_core(), widest_core(), "Prescott"):
            env = self.with_blas("openblas", OPENBLAS_CORETYPE=core or None)
            hwprof("check", "--out", self.folder, "--run-id", "r", "--host", "a", env=env)
            with open(self.path("a@r.json")) as file:
                bits.append(json.load(file)["blas"]["results"]["bits"])
        self.assertTrue(all(bits), bits)
        self.assertEqual(bits[0], bits[1])
        self.assertNotEqual(bits[0], bits[2])

    def test_beside_other_load_it_never_fails_for_being_slow(self):
        env = self.with_blas("openblas")
        loads = [subprocess.Popen(["sh", "-c", "while :; do :; done"])
                 for _ in range(2 * len(os.sched_getaffinity(0)))]
        try:
            for _ in range(3):
                match = self.fields(hwprof("check", "--quick", env=env))
                self.assertNotIn((match.group(1), match.group(5)), [("suboptimal", "fail")])
        finally:
            for load in loads:
                load.kill()
                load.wait()


class Files(CheckTest):
    def test_what_is_asked_wrongly_is_refused_before_anything_is_measured(self):
        out = ["--out", self.folder]
        self.assert_refused("check", *out, names=["--out needs --run-id"])
        self.assert_refused("check", "--run-id", "r", names=["--run-id needs --out"])
        self.assert_refused("check", *out, "--run-id", "../r", names=["--run-id", "../r"])
        self.assert_refused("check", *out, "--run-id", "r", "--host", "a/b", names=["--host", "a/b"])
        self.assert_refused("check", "--prometheus", self.path("metrics"), names=[".prom"])
        self.assert_refused("check", "--require", "optimal-blas", names="needs a command")
        self.assert_refused("check", "--", "true", names="--require optimal-blas")
        self.assert_refused("check", "--quick", "--require", "optimal-blas", "--", "true",
                            names=["--quick", "not of a command"])

    def test_a_folder_that_is_missing_is_exit_3_and_never_a_failed_blas(self):
        self.assert_refused("check", "--out", self.path("no"), "--run-id", "r", code=3,
                            names=[self.path("no")])

    def test_a_folder_that_may_not_be_written(self):
        os.mkdir(self.path("shut"))
        os.chmod(self.path("shut"), 0o555)
        user = self.as_nobody() if os.geteuid() == 0 else {}
        self.assert_refused("check", "--out", self.path("shut"), "--run-id", "r", code=3,
                            names=["shut"], **user)

    @needs_root
    def test_a_full_disk_leaves_no_half_record(self):
        if not shutil.which("unshare"):
            self.skipTest("no unshare")
        where = self.path("disk")
        os.mkdir(where)
        script = ("mount -t tmpfs -o size=4k none %s || exit 99; cat /dev/zero >%s/filler 2>/dev/null; "
                  "\"$0\" check --quick --out %s --run-id r; echo \"exit $?\"; ls -A %s") % ((where,) * 4)
        done = subprocess.run(["unshare", "--mount", "sh", "-c", script, BINARY], capture_output=True,
                              text=True, env=environment(), timeout=120)
        if done.returncode == 99:
            self.skipTest("cannot mount: " + done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0] + "\n", LINE)  # what was measured is not lost
        self.assertEqual(lines[1:], ["exit 3", "filler"])
        self.assertIn("No space left", done.stderr)
        self.assertEqual(done.stderr.count("hwprof: error"), 1)

    def test_two_runs_at_once_in_one_folder_leave_a_whole_record_each(self):
        done = {}

        def check(run, host):
            done[run, host] = hwprof("check", "--quick", "--out", self.folder, "--run-id", run,
                                     "--host", host)
        pairs = [("r1", "a"), ("r2", "a"), ("r1", "b"), ("r1", "b")]
        threads = [threading.Thread(target=check, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(os.listdir(self.folder)), ["a@r1.json", "a@r2.json", "b@r1.json"])
        for name in os.listdir(self.folder):
            with open(self.path(name)) as file:
                record = json.load(file)
            self.assertEqual("%s@%s.json" % (record["host"], record["run_id"]), name)
        for each in done.values():
            self.fields(each)

    def test_killed_at_any_moment_it_leaves_no_half_record(self):
        for delay in (0.05, 0.2, 0.4, 0.6, 0.8):
            process = subprocess.Popen([BINARY, "check", "--quick", "--out", self.folder, "--run-id", "r",
                                        "--host", "a"], stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=environment())
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for name in os.listdir(self.folder):
                if name.endswith(".json"):
                    with open(self.path(name)) as file:
                        json.load(file)

    def test_ended_by_a_signal_it_has_no_verdict(self):
        process = subprocess.Popen([BINARY, "check", "--out", self.folder, "--run-id", "r"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=environment())
        try:
            process.wait(1)
        except subprocess.TimeoutExpired:
            process.terminate()
        out, _ = process.communicate()
        self.assertTrue(process.returncode in (3, -15) or LINE.match(out), (process.returncode, out))
        if process.returncode in (3, -15) and not out:
            self.assertEqual([n for n in os.listdir(self.folder) if n.endswith(".json")], [])

    @unittest.skipUnless(shutil.which("promtool"),
                         "no promtool (Debian: prometheus); the test reads the text format itself")
    def test_promtool_has_nothing_against_the_metrics(self):
        hwprof("check", "--quick", "--prometheus", self.path("check.prom"))
        with open(self.path("check.prom")) as file:
            done = subprocess.run(["promtool", "check", "metrics"], stdin=file, capture_output=True,
                                  text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))


class Command(CheckTest):
    def required(self, *command, code=None, env=None, quiet=True):
        done = hwprof("check", "--require", "optimal-blas", *(["--quiet"] if quiet else []), "--",
                      *command, env=env)
        lines = done.stderr.strip("\n").split("\n")
        match = REQUIRED.match(next(line for line in lines if line.startswith("host=")))
        if quiet:
            self.assertEqual(len(lines) - lines.index(match.string), 1, done.stderr)
        self.assertEqual(match.group(1), socket.gethostname())
        self.assertEqual(int(match.group(2)), done.returncode)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        return done, match

    @needs_caller
    def test_the_commands_output_is_its_own_and_the_line_agrees_with_the_exit_code(self):
        done, match = self.required(CALLER, "busy", "0.5")
        self.assertRegex(done.stdout, r"^up\n\d+\n$")
        outcome = OUTCOME.get(match.group(3), "unknown")
        self.assertEqual(done.returncode, EXIT[outcome])

    @needs_caller
    def test_the_widest_core_type_is_good_and_a_forced_one_is_bad(self):
        env = self.with_blas("openblas", OPENBLAS_CORETYPE=widest_core() or None)
        _, match = self.required(CALLER, "busy", "0.5", env=env)
        self.assertIn(match.group(3), ("optimal", "borderline", "inconclusive"))  # a busy machine
        env = self.with_blas("openblas", OPENBLAS_CORETYPE="Prescott")
        done, match = self.required(CALLER, "busy", "0.5", env=env)
        if "Prescott" in done.stderr:
            self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("OPENBLAS_CORETYPE", match.group(4))

    @needs_caller
    def test_the_reference_blas_is_bad(self):
        self.required(CALLER, "busy", "0.5", code=1, env=self.with_blas("reference"))

    def test_a_command_that_fails_is_no_bad_blas(self):
        _, match = self.required("sh", "-c", "exit 7", code=4)
        self.assertIn("7", match.group(4))

    def test_one_that_cannot_be_started_is_unknown_and_one_line(self):
        done, match = self.required("/no/such/command", code=3)
        self.assertEqual(match.group(3), "-")
        self.assertIn("/no/such/command", match.group(4))
        self.assertEqual(len(done.stderr.strip().split("\n")), 1, done.stderr)

    def test_one_that_calls_no_blas_is_unknown(self):
        self.required("true", code=3)

    @needs_caller
    def test_without_quiet_the_verdict_follows(self):
        done, match = self.required(CALLER, "busy", "0.3", quiet=False)
        self.assertIn("verdict=%s provider=" % match.group(3), done.stderr)


if __name__ == "__main__":
    harness.main()
