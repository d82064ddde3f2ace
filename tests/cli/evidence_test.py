"""What hwprof run, attach and blas -- COMMAND find out about a program, and what they leave behind.

BLAS_CALLER (meson sets it) is tests/blas_caller.cpp: a program that knows how many calls it makes.
"""

import ctypes
import glob
import json
import os
import platform
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree

import harness
from harness import BINARY, CliTest, hwprof

CALLER = os.environ.get("BLAS_CALLER")
AS_ROOT = os.geteuid() == 0
TRACING = "/sys/kernel/tracing"
VERDICTS = {"optimal", "suboptimal", "unoptimised", "not-called", "other-library", "inconclusive"}
WIDTHS = {"512", "256", "128", "scalar"}
LINE = re.compile(r"verdict=(\S+) provider=(\S+) core=(\S+) gflops=(\S+) peak_fraction=(\S+)$")
# Starts of the test on leftovers; every fifth is killed.
STARTS = int(os.environ.get("HWPROF_TEST_STARTS", "20"))


def nobody():
    """Options of subprocess that make the child nobody."""
    user = pwd.getpwnam("nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def can_sample():
    """Whether the kernel lets an ordinary user sample a program, by asking it, not hwprof."""
    number = {"x86_64": 298, "aarch64": 241}.get(platform.machine())
    try:
        with open("/proc/sys/kernel/perf_event_paranoid") as file:
            paranoid = int(file.read())
    except OSError:
        return False
    if number is None or paranoid > 2:
        return False
    # struct perf_event_attr: PERF_TYPE_SOFTWARE, 64 bytes, the CPU clock; exclude_kernel.
    attr = (ctypes.c_uint64 * 8)(1 | 64 << 32, 0, 1000000, 0, 0, 1 << 5)
    fd = ctypes.CDLL(None).syscall(number, attr, 0, -1, -1, 0)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def has_uprobes():
    return AS_ROOT and os.access(os.path.join(TRACING, "uprobe_events"), os.W_OK)


needs_caller = unittest.skipUnless(CALLER, "no BLAS to link a program with (BLAS_CALLER)")
needs_samples = unittest.skipUnless(can_sample(), "the kernel does not let users sample")
needs_root = unittest.skipUnless(AS_ROOT, "needs root, to be root and nobody")


class EvidenceTest(CliTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o777)  # nobody writes reports here

    def as_nobody(self):
        reachable = subprocess.run([BINARY, "--version"], capture_output=True, **nobody())
        if reachable.returncode != 0:
            self.skipTest("nobody cannot reach %s" % BINARY)
        return nobody()

    def observe(self, *command, options=("--no-ladder",), **more):
        """Runs `command` under hwprof; returns (completed process, parsed report)."""
        report = self.path("report-%d.json" % len(os.listdir(self.folder)))
        done = hwprof("run", "--format", "json", "-o", report, *options, "--", *command, **more)
        self.assertTrue(os.path.exists(report), done.stderr)
        with open(report, "rb") as file:
            text = file.read()
        self.assertNotRegex(text, rb"[^\n\x20-\x7e]", "a report in JSON is plain ASCII")
        return done, json.loads(text)

    def compile(self, name, source, *flags):
        path = self.path(name)
        try:
            subprocess.run([os.environ.get("CC_FOR_TESTS", "cc"), "-O1", *flags, "-o", path,
                            self.path(os.path.basename(name) + ".c", source)], check=True,
                           capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest("cannot compile: %s" % error)
        return path


def sites(report, symbol):
    return [site for site in report["blas"]["evidence"]["called"]["calls"]
            if site["symbol"] == symbol]


def shapes(site):
    return {(s["m"], s["n"], s["k"]): s["count"] for s in site["shapes"]}


@needs_caller
class Levels(EvidenceTest):
    def check_calls(self, report, how):
        self.assertEqual(report["blas"]["evidence"]["called"]["how"], how)
        self.assertEqual(report["blas"]["evidence"]["called"]["lost"], 0)
        self.assertEqual([site["count"] for site in sites(report, "sgemm_")], [107])
        site = sites(report, "sgemm_")[0]
        self.assertEqual(shapes(site), {(2, 3, 4): 100, (20, 30, 40): 7})
        self.assertEqual(site["caller"], os.path.realpath(CALLER))
        self.assertTrue(os.path.isabs(site["library"]))
        self.assertEqual(site["flops"], 2 * (100 * 2 * 3 * 4 + 7 * 20 * 30 * 40))
        self.assertEqual([site["count"] for site in sites(report, "zgemm_")], [3])
        self.assertEqual(shapes(sites(report, "dgemv_")[0]), {(5, 1, 6): 11})
        self.assertEqual(sum(site["count"] for site in sites(report, "strsm_")), 4)

    @unittest.skipUnless(has_uprobes(), "needs root and %s/uprobe_events" % TRACING)
    def test_root_counts_every_call_and_shape_by_uprobes(self):
        done, report = self.observe(CALLER, "fortran")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "uprobe")

    @needs_root
    def test_nobody_counts_every_call_and_shape_by_audit(self):
        done, report = self.observe(CALLER, "fortran", **self.as_nobody())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "audit")

    @unittest.skipIf(AS_ROOT, "root has uprobes")
    def test_an_ordinary_user_counts_every_call_and_shape_by_audit(self):
        done, report = self.observe(CALLER, "fortran")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "audit")

    def test_no_calls_watches_none_and_says_so(self):
        _, report = self.observe(CALLER, "fortran", options=["--no-ladder", "--no-calls"])
        called = report["blas"]["evidence"]["called"]
        self.assertEqual((called["how"], called["calls"]), ("none", []))
        self.assertIn("--no-calls", called["reason"])

    def test_the_library_is_declared_loaded_and_selected(self):
        _, report = self.observe(CALLER, "busy", "0.3")
        evidence = report["blas"]["evidence"]
        self.assertTrue(evidence["declared"]["needed"])
        loaded = [library for library in evidence["loaded"] if library["serves_blas"]]
        self.assertTrue(loaded)
        served = sites(report, "sgemm_")[0]["library"]
        self.assertIn(served, [library["path"] for library in loaded])
        for core in evidence["selected"]:
            self.assertTrue(core["core"] or core["reason"], core)
        # An interface such as libblas.so.3 of OpenBLAS has its kernels, and the choice, elsewhere.
        provider = next(library["provider"] for library in loaded if library["path"] == served)
        self.assertIn(provider, [core["provider"] for core in evidence["selected"]])

    def test_a_library_that_served_was_loaded_however_short_the_program(self):
        more = self.as_nobody() if AS_ROOT else {}
        for _ in range(10):
            _, report = self.observe(CALLER, "fortran", **more)
            self.assertIn(sites(report, "sgemm_")[0]["library"],
                          [library["path"] for library in report["blas"]["evidence"]["loaded"]])
            self.assertNotEqual(report["blas"]["provider"], "unknown")

    @needs_samples
    def test_time_by_library_and_loop_adds_up(self):
        done, report = self.observe(CALLER, "busy", "1")
        executed = report["blas"]["evidence"]["executed"]
        self.assertIsNone(executed["reason"])
        self.assertGreater(executed["samples"], 300)
        for shares in ["by_library", "by_symbol", "vector_width"]:
            self.assertAlmostEqual(sum(executed[shares].values()), 1, places=6, msg=shares)
        # Neither the program nor the BLAS generates code; probes are ours, and are not to count.
        self.assertNotIn("[generated code]", executed["by_library"])
        self.assertTrue(executed["loops"])
        for loops in executed["loops"]:
            self.assertIn(loops["width"], WIDTHS)
            self.assertLessEqual(loops["samples"], executed["samples"])
        calls = int(done.stdout.split()[1])
        self.assertEqual(shapes(sites(report, "sgemm_")[0]), {(48, 50, 52): calls})

    @needs_root
    @needs_samples
    def test_nobody_sees_where_the_time_goes(self):
        done, report = self.observe(CALLER, "busy", "1", **self.as_nobody())
        executed = report["blas"]["evidence"]["executed"]
        served = sites(report, "sgemm_")[0]
        self.assertGreater(sum(executed["by_library"].get(library["path"], 0)
                               for library in report["blas"]["evidence"]["loaded"]), 0.5)
        self.assertEqual(served["count"], int(done.stdout.split()[1]))

    def test_the_verdict_is_one_of_the_words(self):
        for command in [[CALLER, "busy", "0.3"], ["true"]]:
            with self.subTest(command):
                _, report = self.observe(*command, options=[])
                self.assertIn(report["blas"]["verdict"], VERDICTS)
                self.assertTrue(report["blas"]["why"])

    def test_the_exit_code_passes(self):
        done, report = self.observe("sh", "-c", '"$0" fortran; exit 7', CALLER)
        self.assertEqual((done.returncode, report["exit"]), (7, 7))
        self.assertEqual(sites(report, "sgemm_")[0]["count"], 107)


@needs_caller
class Environment(EvidenceTest):
    SHOW = ["sh", "-c", 'echo "[$LD_AUDIT] [$LD_PRELOAD] $(env | grep -c ^HWPROF_CALL)"']

    def shown(self, *options, **more):
        return hwprof("run", "--no-ladder", *options, "--", *self.SHOW, **more).stdout

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_nothing_is_added_with_uprobes(self):
        self.assertEqual(self.shown(), "[] [] 0\n")

    def test_audit_without_root_and_nothing_with_no_calls(self):
        more = self.as_nobody() if AS_ROOT else {}
        self.assertRegex(self.shown(**more), r"^\[/\S+/libhwprof-audit\.so\] \[\] 1\n$")
        self.assertEqual(self.shown("--no-calls", **more), "[] [] 0\n")


BUSY_C = """
#include <time.h>
volatile double x[64];
__attribute__((noinline)) void hot_loop_with_a_long_name_to_replace(void) {
  for (int i = 0; i < 1000000; ++i) x[i % 64] += 0.5 * i;
}
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) hot_loop_with_a_long_name_to_replace();
  return 0;
}
"""


@needs_samples
class Stacks(EvidenceTest):
    def setUp(self):
        super().setUp()
        self.program = self.compile("busy", BUSY_C, "-g", "-fno-omit-frame-pointer")

    def test_folded_lines_add_up_to_the_samples(self):
        folded = self.path("x.folded")
        _, report = self.observe(self.program, options=["--no-ladder", "--folded", folded])
        with open(folded) as file:
            lines = file.read().splitlines()
        counts = [int(line.rpartition(" ")[2]) for line in lines]
        self.assertEqual(sum(counts), report["blas"]["evidence"]["executed"]["samples"])
        hot = [line for line in lines if "main;hot_loop_with_a_long_name_to_replace" in line]
        self.assertTrue(hot, lines[:5])

    def test_flame_svg_is_xml(self):
        svg = self.path("x.svg")
        self.observe(self.program, options=["--no-ladder", "--flame", svg])
        root = xml.etree.ElementTree.parse(svg).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        self.assertIn("hot_loop_with_a_long_name_to_replace", "".join(root.itertext()))

    def test_flame_html_is_one_page(self):
        page = self.path("x.html")
        self.observe(self.program, options=["--no-ladder", "--flame", page])
        with open(page) as file:
            text = file.read()
        self.assertTrue(text.lower().startswith("<!doctype html>"))
        self.assertIn("hot_loop_with_a_long_name_to_replace", text)

    def test_speedscope_is_a_sampled_profile(self):
        path = self.path("x.json")
        _, report = self.observe(self.program, options=["--no-ladder", "--speedscope", path])
        with open(path) as file:
            profile = json.load(file)
        names = [frame["name"] for frame in profile["shared"]["frames"]]
        self.assertIn("hot_loop_with_a_long_name_to_replace", names)
        one = profile["profiles"][0]
        self.assertEqual(one["type"], "sampled")
        self.assertEqual(len(one["samples"]), len(one["weights"]))
        self.assertLess(max(max(stack) for stack in one["samples"] if stack), len(names))

    def test_lines_name_file_and_line(self):
        _, report = self.observe(self.program, options=["--no-ladder", "--lines"])
        lines = report["blas"]["evidence"]["executed"]["lines"]
        hottest = lines[0]
        self.assertTrue(hottest["file"].endswith("busy.c"), hottest)
        self.assertEqual(hottest["line"], 5)
        self.assertGreater(hottest["fraction"], 0.5)

    def test_no_lines_unless_asked(self):
        _, report = self.observe(self.program)
        self.assertEqual(report["blas"]["evidence"]["executed"]["lines"], [])

    def test_attach_draws_too(self):
        svg = self.path("x.svg")
        child = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        done = hwprof("attach", "--no-ladder", "--seconds", "1", "--flame", svg, str(child.pid))
        self.assertEqual(done.returncode, 0, done.stderr)
        xml.etree.ElementTree.parse(svg)

    def test_without_a_sample_there_is_no_file_but_a_warning(self):
        svg = self.path("x.svg")
        done = hwprof("run", "--no-ladder", "--frequency", "1", "--flame", svg, "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assertIn("no stack was sampled", done.stderr)
        self.assertFalse(os.path.exists(svg))


class Refused(EvidenceTest):
    def assert_nothing_ran(self, *options, names):
        marker = self.path("ran")
        self.assert_refused("run", *options, "--", "touch", marker, names=names)
        self.assertFalse(os.path.exists(marker))

    def test_a_flame_graph_is_svg_or_html(self):
        self.assert_nothing_ran("--flame", self.path("x.png"), names=["--flame", ".svg", "x.png"])

    def test_stacks_need_samples(self):
        for option in [["--flame", self.path("x.svg")], ["--folded", self.path("x")],
                       ["--speedscope", self.path("x")], ["--lines"]]:
            with self.subTest(option):
                self.assert_nothing_ran("--no-samples", *option, names=[option[0], "--no-samples"])

    def test_frequencies_that_cannot_be(self):
        for text in ["0", "-1", "10001", "x", "1.5"]:
            with self.subTest(text):
                self.assert_nothing_ran("--frequency=" + text, names=["--frequency", text])

    def test_files_that_cannot_be_written(self):
        for option in ["--flame", "--folded", "--speedscope", "-o"]:
            with self.subTest(option):
                self.assert_nothing_ran(option, "/no/such/folder/x.svg",
                                        names="/no/such/folder")


class Verdict(EvidenceTest):
    """hwprof blas -- COMMAND"""

    def check_line(self, line, code):
        match = LINE.match(line)
        self.assertIsNotNone(match, line)
        self.assertIn(match.group(1), VERDICTS)
        self.assertEqual(code, {"optimal": 0, "inconclusive": 3}.get(match.group(1), 1))
        return match

    @needs_caller
    def test_the_line_and_the_exit_code_agree_and_stdout_is_the_commands(self):
        done = hwprof("blas", "--", CALLER, "busy", "0.5")
        self.assertRegex(done.stdout, r"^up\n\d+\n$")
        line = self.check_line(done.stderr.lstrip("\n").split("\n")[0], done.returncode)
        self.assertNotEqual(line.group(2), "unknown")

    @needs_caller
    def test_a_file_begins_with_the_line(self):
        path = self.path("verdict")
        done = hwprof("blas", "--quick", "-o", path, "--", CALLER, "busy", "0.3")
        self.assertEqual(done.stderr, "")
        with open(path) as file:
            self.check_line(file.readline().rstrip("\n"), done.returncode)

    @needs_caller
    def test_the_line_is_a_line_of_its_own(self):
        done = hwprof("blas", "--quick", "--", "sh", "-c", "printf unfinished >&2")
        first, _, rest = done.stderr.partition("\n")
        self.assertEqual(first, "unfinished")
        self.check_line(rest.split("\n")[0], done.returncode)

    def test_json_is_that_of_run(self):
        path = self.path("verdict.json")
        hwprof("blas", "--quick", "--json", "-o", path, "--", "true")
        with open(path) as file:
            self.assertEqual(json.load(file)["schema"], "hwprof.run/1")

    def test_the_commands_exit_code_is_told_not_passed(self):
        done = hwprof("blas", "--quick", "--", "sh", "-c", "exit 77")
        self.assertIn(done.returncode, [1, 3])
        self.assertIn("77", done.stderr)

    def test_libraries_and_a_command_exclude_each_other(self):
        self.assert_refused("blas", "/no/such/library", "--", "true", names="exclude each other")

    def test_a_file_needs_a_command(self):
        self.assert_refused("blas", "-o", self.path("x"), names="--output")

    def test_commands_that_cannot_run(self):
        done = hwprof("blas", "--", "/no/such/command")
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertIn("/no/such/command", done.stderr)
        self.assertNotIn("verdict=", done.stderr)
        done = hwprof("blas", "--", self.path("text", "no program\n"))
        self.assertEqual(done.returncode, 126)


@needs_caller
class Attach(EvidenceTest):
    def busy(self, seconds, **more):
        child = subprocess.Popen([CALLER, "busy", seconds], stdout=subprocess.PIPE, text=True,
                                 env=harness.environment(), **more)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.addCleanup(child.stdout.close)
        self.assertEqual(child.stdout.readline(), "up\n")
        return child

    def attach(self, child, **more):
        path = self.path("report.json")
        done = hwprof("attach", "--seconds", "1", "--no-ladder", "--format", "json", "-o", path,
                      str(child.pid), **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path) as file:
            report = json.load(file)
        self.assertTrue(report["detached"])
        self.assertIsNone(child.poll(), "it must not end before we do")
        return report

    def ends_well(self, child):
        self.assertEqual(child.wait(timeout=120), 0)
        return int(child.stdout.read())

    @needs_samples
    def test_it_is_sampled_and_goes_on(self):
        child = self.busy("4")
        report = self.attach(child)
        self.assertGreater(report["blas"]["evidence"]["executed"]["samples"], 100)
        self.assertTrue(report["blas"]["evidence"]["loaded"])
        self.ends_well(child)

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_root_sees_its_calls(self):
        child = self.busy("4")
        report = self.attach(child)
        self.assertEqual(report["blas"]["evidence"]["called"]["how"], "uprobe")
        site = sites(report, "sgemm_")[0]
        self.assertEqual(shapes(site), {(48, 50, 52): site["count"]})
        self.assertLess(0, site["count"])
        self.assertLess(site["count"], self.ends_well(child))

    @needs_root
    def test_nobody_hears_why_calls_are_not_seen(self):
        user = self.as_nobody()
        child = self.busy("4", **user)
        called = self.attach(child, **user)["blas"]["evidence"]["called"]
        self.assertEqual((called["how"], called["calls"]), ("none", []))
        self.assertTrue(called["reason"])
        self.ends_well(child)


HOSTILE_FOLDER = "evil\n\x1b[31m\"'&<img src=x><"
HOSTILE_FILE = "script>alert(1)"  # behind the folder: ...</script>alert(1)
HOSTILE_NAME = "e\x1b[2J\n\"'</script><img src=x>&"


class Hostile(EvidenceTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path(HOSTILE_FOLDER))
        self.hostile = self.path(os.path.join(HOSTILE_FOLDER, HOSTILE_FILE))

    def assert_plain(self, text):
        self.assertNotIn("\x1b", text)
        self.assertNotIn("evil\n", text)

    @needs_caller
    def test_a_program_with_a_hostile_path_is_observed(self):
        shutil.copy(CALLER, self.hostile)
        for more in [{}] + ([self.as_nobody()] if AS_ROOT else []):
            with self.subTest(more):
                done, report = self.observe(self.hostile, "fortran", **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(report["command"][0], self.hostile)
                self.assertEqual(sites(report, "sgemm_")[0]["caller"],
                                 os.path.realpath(self.hostile))
                self.assertEqual(sites(report, "sgemm_")[0]["count"], 107)
                done = hwprof("run", "--no-ladder", "--", self.hostile, "busy", "0.3", **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_plain(done.stderr)
                self.assertIn("\\x1b[31m", done.stderr)

    @needs_caller
    def test_a_library_with_a_hostile_path_is_observed(self):
        _, report = self.observe(CALLER, "fortran")
        copy = self.path(os.path.join(HOSTILE_FOLDER,
                                      report["blas"]["evidence"]["declared"]["needed"][0]))
        shutil.copy(sites(report, "sgemm_")[0]["library"], copy)
        folders = [os.path.dirname(copy)] + os.environ.get("LD_LIBRARY_PATH", "").split(":")
        env = harness.environment(LD_LIBRARY_PATH=":".join(filter(None, folders)))
        for more in [{}] + ([self.as_nobody()] if AS_ROOT else []):
            with self.subTest(more):
                done, report = self.observe(CALLER, "fortran", env=env, **more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_plain(done.stderr)
                self.assertEqual([(site["library"], site["count"])
                                  for site in sites(report, "sgemm_")], [(copy, 107)])

    @needs_samples
    def test_hostile_symbols_are_escaped_everywhere(self):
        plain = self.compile("plain", BUSY_C, "-fno-omit-frame-pointer")
        name = b"hot_loop_with_a_long_name_to_replace"
        with open(plain, "rb") as file:
            program = file.read().replace(name, HOSTILE_NAME.encode().ljust(len(name), b"_"))
        with open(self.hostile, "wb") as file:
            file.write(program)
        os.chmod(self.hostile, 0o755)
        files = {name: self.path("x." + name) for name in ["svg", "folded", "speedscope"]}
        done = hwprof("run", "--no-ladder", "--flame", files["svg"], "--folded", files["folded"],
                      "--speedscope", files["speedscope"], "--", self.hostile)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_plain(done.stderr)
        self.assertIn("e\\x1b[2J", done.stderr)
        page = self.path("x.html")
        _, report = self.observe(self.hostile, options=["--no-ladder", "--flame", page])
        self.assertTrue([symbol for symbol in report["blas"]["evidence"]["executed"]["by_symbol"]
                         if symbol.startswith(HOSTILE_NAME)])
        xml.etree.ElementTree.parse(files["svg"])
        for path in [files["svg"], page]:
            with open(path) as file:
                text = file.read()
            self.assert_plain(text)
            self.assertNotIn("<img", text)
            self.assertEqual(text.count("</script>"), text.count("<script"))
            self.assertIn("&lt;img", text)
        with open(files["folded"]) as file:
            for line in file.read().split("\n")[:-1]:
                self.assertRegex(line, r" \d+$")
                self.assert_plain(line)
        with open(files["speedscope"]) as file:
            json.load(file)

    def test_a_hostile_name_that_is_not_there(self):
        done = hwprof("run", "--", self.hostile)
        self.assertEqual(done.returncode, 127)
        self.assert_plain(done.stderr)


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
            try:
                with open(os.path.join(TRACING, list_of_events)) as file:
                    left += [line for line in file
                             if re.search(r"hwprof_(%s)_" % "|".join(map(str, pids)), line)]
            except OSError:
                pass  # not for this user, or no such list
        left += os.listdir(self.temporary.name)
        for folder in ["/dev/shm", tempfile.gettempdir(), "/var/tmp"]:
            left += set(glob.glob(os.path.join(folder, "*hwprof*"))) - self.before
        for link in glob.glob("/proc/[0-9]*/exe"):
            try:
                if os.readlink(link) in (os.path.realpath(BINARY), os.path.realpath(CALLER)):
                    left.append(link)
            except OSError:
                pass  # it has ended, or belongs to somebody else
        return left

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
