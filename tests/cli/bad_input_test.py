"""Bad input: a clear error that names the thing, a hint, exit 2, nothing written."""

import os
import resource
import subprocess

import harness
from harness import CliTest, hwprof, quick


class CommandLine(CliTest):
    def test_unknown_event_gets_the_nearest_names(self):
        self.assert_refused("--events", "cycels", names=["cycels", "cycles"])

    def test_one_wrong_event_among_right_ones_is_named(self):
        self.assert_refused("--events", "cycles,llc-mis,flops", names=["llc-mis", "llc-miss"])

    def test_unknown_command_gets_the_nearest_name(self):
        self.assert_refused("profle", names=["profle", "profile"])

    def test_unknown_option_is_named(self):
        self.assert_refused("--evnts", "cycles", names=["--evnts", "--events"])

    def test_an_option_of_another_command_names_that_command(self):
        self.assert_refused("run", "--shape", "k=2", "--", "touch", self.path("ran"),
                            names=["hwprof run has no --shape", "hwprof profile --shape"])
        self.assert_refused("doctor", "--folded", "x", names=["--folded", "hwprof run"])

    def test_unknown_variant_lists_those_known(self):
        self.assert_refused("--variant", "blas-im2cool", names=["blas-im2cool", "blas-im2col"])

    def test_an_instruction_set_that_the_cpu_lacks_or_nobody_knows(self):
        other = "neon" if os.uname().machine == "x86_64" else "avx2"
        self.assert_refused("--isa", other, names=other)
        self.assert_refused("--isa", "avx3", names="avx3")

    def test_a_cpu_that_does_not_exist(self):
        self.assert_refused("--pin", "4095", names="4095")

    def test_a_cpu_that_the_cpuset_forbids(self):
        cpus = sorted(os.sched_getaffinity(0))
        group = "/sys/fs/cgroup/cpuset/hwprof-test-%d" % os.getpid()
        try:
            os.mkdir(group)
        except OSError as error:
            self.skipTest("cannot make a cpuset: %s" % error)
        self.addCleanup(os.rmdir, group)
        if len(cpus) < 2:
            self.skipTest("needs two CPUs")
        for name, value in [("cpuset.mems", "0"), ("cpuset.cpus", str(cpus[0]))]:
            with open(os.path.join(group, name), "w") as file:
                file.write(value)

        def enter():
            with open(os.path.join(group, "tasks"), "w") as tasks:
                tasks.write(str(os.getpid()))

        self.assert_refused("--pin", str(cpus[1]), names=["cpuset", str(cpus[1])],
                            preexec_fn=enter)

    def test_pin_lists_that_make_no_sense(self):
        for text in ["", "a", "0-", "3-1", "-1", "0,,1", "99999999999999999999"]:
            with self.subTest(text):
                self.assert_refused("--pin", text, names="--pin" if text == "" else text)

    def test_require_of_an_unknown_condition(self):
        self.assert_refused("--require", "optimal-blass", names=["optimal-blass", "optimal-blas"])

    def test_numbers_that_are_none_or_out_of_range(self):
        for option, text in [("--threads", "0"), ("--threads", "x"), ("--time-budget", "0"),
                             ("--time-budget", "-1"), ("--time-budget", "nan"),
                             ("--seed", "-1"), ("--format", "xml"), ("--padding", "none")]:
            with self.subTest(option + " " + text):
                self.assert_refused(option, text, names=[option, text])


class Shape(CliTest):
    def test_sizes_of_zero_negative_overflowing_or_no_number(self):
        for spec in ["k=0", "d_e=-3", "d_c=99999999999999999999999", "l=1.5", "batch=", "n=x"]:
            with self.subTest(spec):
                self.assert_refused("--shape", spec, names=spec.split("=")[0])

    def test_a_filter_wider_than_the_document(self):
        self.assert_refused("--shape", "k=5,n=4", names=["k", "5", "4"])

    def test_an_unknown_key_gets_the_nearest_name(self):
        self.assert_refused("--shape", "dc=3", names=["dc", "d_c"])

    def test_a_key_given_twice(self):
        self.assert_refused("--shape", "k=2,k=3", names="k")

    def test_a_shape_that_no_memory_holds(self):
        self.assert_refused("--shape", "d_e=1000000000,d_c=1000000000", names="memory")


class Documents(CliTest):
    def refused(self, name, content, names):
        self.assert_refused("--docs", self.path(name, content), names=[name, names])

    def test_a_missing_file(self):
        self.assert_refused("--docs", self.path("missing.txt"), names="missing.txt")

    def test_an_empty_file(self):
        self.refused("empty.txt", "", "empty.txt")

    def test_a_file_of_blank_lines(self):
        self.refused("blank.txt", "\n \n\t\n", "blank.txt")

    def test_a_directory(self):
        self.assert_refused("--docs", self.folder, names="directory")

    def test_bytes_that_are_no_utf8_with_their_line(self):
        self.refused("latin1.txt", "first\nse".encode() + b"\xff\xfe" + b"cond\n", "2")

    def test_one_line_of_50_megabytes(self):
        self.refused("long.txt", b"word " * 10_000_000, "line 1")

    def test_a_row_with_another_number_of_columns(self):
        rows = ["%d\tA B\tsome words here" % i for i in range(20)]
        rows[16] = "16\tA"
        self.refused("rows.tsv", "\n".join(rows), "17")


class Embedding(CliTest):
    def refused(self, content, *names):
        docs = self.path("docs.txt", "the cat sat\n")
        self.assert_refused("--docs", docs, "--embed", self.path("glove.txt", content),
                            names=["glove.txt", *names])

    def test_rows_of_different_length_with_the_line_number(self):
        self.refused("the 0.1 0.2 0.3\ncat 0.1 0.2 0.3\nsat 0.1 0.2\n", "3")

    def test_a_value_that_is_no_number(self):
        self.refused("the 0.1 0.2\ncat 0.1 x\nsat 0.1 0.2\n", "2")

    def test_a_dimension_other_than_the_one_asked_for(self):
        docs = self.path("docs.txt", "the cat sat\n")
        self.assert_refused("--docs", docs, "--embed", self.path("glove.txt", "the 0.1 0.2\n"),
                            "--shape", "d_e=3", names=["glove.txt", "3", "2"])

    def test_a_missing_file(self):
        self.assert_refused("--embed", self.path("missing.txt"), names="missing.txt")


class Library(CliTest):
    def test_a_file_that_is_no_library(self):
        self.assert_refused("--blas", self.path("text.so", "not ELF"), names="text.so")

    def test_a_library_that_is_no_blas(self):
        self.assert_refused("--blas", "libm.so.6", names=["libm.so.6", "BLAS"])

    def test_a_missing_library(self):
        self.assert_refused("--blas", self.path("missing.so"), names="missing.so")


class Output(CliTest):
    def test_a_folder_that_does_not_exist(self):
        self.assert_refused("-o", self.path("missing/report.txt"), names="missing", code=3)

    def test_a_folder_as_the_file(self):
        self.assert_refused("-o", self.folder, names="directory", code=3)

    def test_a_full_device(self):
        done = hwprof(*quick("-o", "/dev/full"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("/dev/full", done.stderr)

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.BINARY, *quick()], stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60, env=harness.environment())
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("standard output", done.stderr)

    def test_a_file_that_would_grow_too_large_leaves_the_old_one(self):
        path = self.path("report.json", "old")

        def limit():
            import signal
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        done = hwprof(*quick("--format", "json", "-o", path), preexec_fn=limit)
        self.assertEqual(done.returncode, 3, done.stderr)
        with open(path) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(os.listdir(self.folder), ["report.json"])


if __name__ == "__main__":
    harness.main()
