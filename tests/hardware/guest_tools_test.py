"""The verdict on a guest must not be kinder than what the guest printed; no QEMU needed here."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

from guest.image import Image, elf_needs  # noqa: E402
from guest.qemu import Result, parse_console  # noqa: E402
from guest.suite import listed_cases, parse_gtest  # noqa: E402

PASSED = "[ RUN      ] A.One\ncount: 5\n[       OK ] A.One\n"
FAILED = "[ RUN      ] A/B.Two/3\nx.cpp:1: Failure\n[  FAILED  ] A/B.Two/3, where GetParam() = 3\n"


class ParseGtest(unittest.TestCase):
    def test_a_passed_case_keeps_its_numbers(self):
        self.assertEqual(parse_gtest("a", Result(PASSED, 0)), [("A.One", "", ["count: 5"])])

    def test_a_failed_case_fails_alone(self):
        cases = parse_gtest("a", Result(PASSED + FAILED, 1))
        self.assertEqual([(name, bool(problem)) for name, problem, _ in cases],
                         [("A.One", False), ("A/B.Two/3", True)])

    def test_a_case_without_an_end_fails(self):
        _, problem, _ = parse_gtest("a", Result(PASSED + "[ RUN      ] A.Three\n", 139))[-1]
        self.assertIn("139", problem)

    def test_no_case_at_all_is_a_failure(self):
        self.assertTrue(parse_gtest("a", Result("[  PASSED  ] 0 tests.", 0))[0][1])

    def test_a_bad_status_after_good_cases_is_a_failure(self):
        self.assertTrue(parse_gtest("a", Result(PASSED, 1))[-1][1])

    def test_a_skipped_case_is_no_pass(self):
        skipped = "[ RUN      ] A.One\n[  SKIPPED ] A.One\n"
        self.assertTrue(parse_gtest("a", Result(skipped, 0))[0][1])


class ListedCases(unittest.TestCase):
    def test_names_have_their_suite_and_no_parameter(self):
        text = "Running main() from gtest_main.cc\nA.\n  One\nLevel/B.\n  Two/4  # GetParam() = 4\n"
        self.assertEqual(listed_cases(text), ["A.One", "Level/B.Two/4"])


class ParseConsole(unittest.TestCase):
    def test_only_steps_that_ended_have_a_result(self):
        text = "noise\r\n@@begin one\r\nhello\r\nyou\r\n@@end one 3\r\n@@begin two\r\nhalf"
        self.assertEqual(parse_console(text), {"one": Result("hello\nyou", 3)})

    def test_a_step_may_print_nothing(self):
        self.assertEqual(parse_console("@@begin one\n\n@@end one 0\n"), {"one": Result("", 0)})


class ImageFile(unittest.TestCase):
    def test_the_same_files_give_the_same_aligned_bytes(self):
        written = []
        with tempfile.TemporaryDirectory() as folder:
            for names in (("b/x", "a"), ("a", "b/x")):
                image = Image(folder)
                for name in names:
                    image.text(name, "12345")
                path = pathlib.Path(folder) / "image"
                image.write(path)
                written.append(path.read_bytes())
        self.assertEqual(written[0], written[1])
        self.assertEqual(len(written[0]) % 4, 0)
        self.assertEqual(written[0].count(b"070701"), 4)  # a, b, b/x, the trailer
        self.assertLess(written[0].index(b"b\0"), written[0].index(b"b/x\0"))

    def test_a_program_needs_its_libraries_and_interpreter(self):
        needed, interpreter = elf_needs(sys.executable)
        self.assertTrue(interpreter.startswith("/"))
        self.assertTrue(any(name.startswith("libc.so") for name in needed))
        self.assertEqual(elf_needs(__file__), ([], None))


if __name__ == "__main__":
    unittest.main()
