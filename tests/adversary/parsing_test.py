"""What a program leaves for hwprof to read: it may be anything, and hwprof ends as the program did."""

import json
import os
import resource
import subprocess
import sys
import textwrap

import harness
from coverage_harness import PRODUCT, called, needs_uprobes
from evidence_harness import EvidenceTest, needs_samples

EXIT = 7
MIB = 1 << 20
# What hwprof itself may have at the end of a run, its worker being the larger part.
MOST_MEMORY = 200 * MIB


class Parsing(EvidenceTest):
    def run_python(self, code, *options, most_memory=MOST_MEMORY, timeout=60):
        """Runs the program, which ends with EXIT; gives (report, text of errors)."""
        code = textwrap.dedent(code) + "\nsys.exit(%d)" % EXIT
        report = self.path("report.json")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = harness.hwprof("run", "--no-ladder", "--format", "json", "-o", report, *options,
                              "--", sys.executable, "-c", "import os, sys, time\n" + code,
                              timeout=timeout)
        self.assertEqual(done.returncode, EXIT, done.stderr)
        with open(report) as file:
            parsed = json.load(file)
        self.assertEqual(parsed["exit"], EXIT)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        if peak > before:  # else some other run had more
            self.assertLess(peak * 1024, most_memory)
        return parsed, done.stderr

    def check_regions(self, code, *words):
        """The program leaves such a file of regions: the report says that it could not be read."""
        report, _ = self.run_python("path = os.environ['HWPROF_REGIONS'].replace('%p', '1')\n" +
                                    textwrap.dedent(code))
        notes = " ".join((report["regions"] or {"notes": []})["notes"])
        for word in words:
            self.assertIn(word, notes)
        self.assertNotIn("worker", [warning["code"] for warning in report["warnings"]])

    def test_a_pipe_among_the_regions(self):
        self.check_regions("os.mkfifo(path)", "no regular file")

    def test_a_link_among_the_regions(self):
        self.check_regions("os.symlink('/dev/zero', path)", "symbolic link")

    def test_more_than_can_be_regions(self):
        self.check_regions("open(path, 'w').close(); os.truncate(path, 1 << 40)", "are read")

    def test_deep_regions(self):
        self.check_regions("open(path, 'w').write('[' * 300000)", "nested")

    def test_regions_of_an_impossible_depth(self):
        row = {"path": ["a"], "name": "a", "threads": 1, "calls": 1, "total_ns": {"raw": 1}}
        for depth in [-1, 10 ** 12]:
            with self.subTest(depth):
                text = json.dumps({"schema": "hwprof.regions/1",
                                   "regions": [{**row, "depth": depth}]})
                self.check_regions("open(path, 'w').write(%r)" % text)

    def test_regions_without_a_path(self):
        text = json.dumps({"schema": "hwprof.regions/1", "regions": [{"path": [], "calls": 1}]})
        self.check_regions("open(path, 'w').write(%r)" % text, "path of 0 names")

    def test_traces_that_are_none(self):
        kinds = ['{"traceEvents": [], "otherData": 5}', '{"traceEvents": {}, "otherData": {}}',
                 '{"traceEvents": [], "otherData": {"calls": "x"}}', '{"traceEvents": [1]}', '[',
                 '{"traceEvents": [1, "\xff"], "otherData": {"calls": 1, "dropped_calls": -1}}']
        report, _ = self.run_python("""
            for number, text in enumerate(%r):
                path = os.environ['HWPROF_TRACE'].replace('%%p', str(number))
                open(path, 'wb').write(text.encode('latin-1'))
            """ % kinds, "--trace", self.path("trace.json"))
        self.assertNotIn("worker", [warning["code"] for warning in report["warnings"]])

    def test_compare_with_a_deep_report(self):
        good = self.path("good.json")
        harness.hwprof("run", "--no-ladder", "--format", "json", "-o", good, "--", "true")
        deep = "[" * 300000 + "]" * 300000
        bad = self.path("bad.json", '{"schema": "hwprof.run/1", "x": %s}' % deep)
        self.assert_refused("compare", good, bad, names="nested")

    def test_names_of_generated_code_that_are_none(self):
        """64 MB of empty lines."""
        try:
            self.run_python("""
                path = '/tmp/perf-%d.map' % os.getpid()
                with open(path, 'w') as file:
                    for _ in range(64): file.write('\\n' * ((1 << 20) - 1))
                import ctypes, mmap
                code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
                                 mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
                spin = (b'\\xb8\\x00\\x00\\x00\\x40\\xff\\xc8\\x75\\xfc\\xc3'
                        if os.uname().machine == 'x86_64' else b'\\xc0\\x03\\x5f\\xd6')
                code.write(spin)
                ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
                """)
        finally:
            for name in os.listdir("/tmp"):
                if name.startswith("perf-") and name.endswith(".map"):
                    if os.path.getsize("/tmp/" + name) == 64 * MIB - 64:
                        os.unlink("/tmp/" + name)

    @needs_samples
    def test_a_library_that_is_cut_off_while_it_is_read(self):
        """As cp over a file does it, again and again."""
        library = self.compile("libproduct.so", PRODUCT + "char large[1 << 22] = {1};", "-shared",
                               "-fPIC", "-Wl,-soname,libproduct.so")
        copy = self.path("copy.so")
        report, _ = self.run_python("""
            import ctypes, shutil
            end = time.time() + 1.5
            while time.time() < end:
                shutil.copyfile(%r, %r)
                if os.fork() == 0:
                    try:
                        ctypes.CDLL(%r)
                    finally:
                        os._exit(0)
                time.sleep(0.001)
                os.truncate(%r, 4096)
                os.wait()
            """ % (library, copy, copy, copy))
        self.assertNotIn("worker", [warning["code"] for warning in report["warnings"]])

    def report_of_a_stripped_program(self, prepare):
        """Of one whose debug information is a file beside it; `prepare` is called with its path."""
        busy = self.compile("busy", "#include <time.h>\nvolatile double x;\nint main(void) {\n"
                            "while (clock() < CLOCKS_PER_SEC / 2)\n"
                            "  for (int i = 0; i < 100000; ++i) x += 1;\n"
                            "return 7; }", "-g")
        debug = self.path("busy.debug")
        for command in [["objcopy", "--only-keep-debug", busy, debug],
                        ["strip", busy],
                        ["objcopy", "--remove-section=.note.gnu.build-id", busy],
                        ["objcopy", "--add-gnu-debuglink=" + debug, busy]]:
            try:
                subprocess.run(command, check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest("no binutils: %s" % error)
        prepare(debug)
        done = harness.hwprof("run", "--no-ladder", "--lines", "--format", "json", "-o",
                              self.path("report.json"), "--", busy, timeout=60)
        self.assertEqual(done.returncode, EXIT, done.stderr)
        with open(self.path("report.json")) as file:
            report = json.load(file)
        self.assertNotIn("worker", [warning["code"] for warning in report["warnings"]])
        executed = report["blas"]["evidence"]["executed"]
        self.assertGreater(executed["samples"], 100)
        return [line["file"] for line in executed["lines"]]

    @needs_samples
    def test_a_debug_file_that_is_one(self):
        self.assertIn("busy.c", str(self.report_of_a_stripped_program(lambda path: None)))

    @needs_samples
    def test_a_debug_file_that_is_a_pipe(self):
        def pipe(path):
            os.unlink(path)
            os.mkfifo(path)
        self.assertNotIn("busy.c", str(self.report_of_a_stripped_program(pipe)))

    @needs_uprobes
    def test_more_routines_than_a_blas_has(self):
        """Each is a probe in the kernel."""
        functions = "".join(
            'void f%d(void) { __asm__ volatile("nop"); }\n'
            '__asm__(".symver f%d, sgemm_@V%d");\n' % (i, i, i) for i in range(4000))
        script = self.path("versions", "\n".join("V%d {};" % i for i in range(4000)))
        self.compile("libmany.so", functions, "-shared", "-fPIC", "-Wl,--version-script=" + script)
        report, _ = self.run_python("import ctypes; ctypes.CDLL(%r); time.sleep(0.3)"
                                    % self.path("libmany.so"), "--calls-by", "uprobes")
        self.assertIn("more routines than a BLAS can have", " ".join(called(report)["blind_to"]))
        self.assertEqual(report["blas"]["verdict"], "inconclusive")

    def test_20000_short_children(self):
        report, _ = self.run_python("""
            for _ in range(20000):
                pid = os.posix_spawn('/bin/true', ['true'], {})
                assert os.waitpid(pid, 0)[1] == 0
            """, timeout=300)
        if called(report)["executions"] is not None:
            self.assertEqual(called(report)["executions"], 20001)


if __name__ == "__main__":
    harness.main()
