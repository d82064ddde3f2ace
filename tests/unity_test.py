#!/usr/bin/env python3
"""scripts/unity on made-up trees: which names clash where ten files are compiled as one."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def clashes(**files):
    """The faults it prints for src/NAME.cpp, each inside namespace hwprof."""
    with tempfile.TemporaryDirectory() as root:
        (pathlib.Path(root) / "src").mkdir()
        for name, text in files.items():
            suffix = "" if name.endswith("_h") else ".cpp"
            path = pathlib.Path(root, "src", name.replace("_h", ".h") + suffix)
            path.write_text("#include <map>\nnamespace hwprof {\n" + text + "\n}  // namespace hwprof\n",
                            encoding="utf-8")
        run = subprocess.run([sys.executable, ROOT / "scripts" / "unity", root],
                             capture_output=True, text=True, check=False)
    assert run.returncode == bool(run.stdout) and not run.stderr, run
    return run.stdout.splitlines()


def hidden(text):
    return "namespace {\n" + text + "\n}  // namespace"


class UnityTest(unittest.TestCase):
    def test_a_function_that_stands_twice_is_named_with_its_places(self):
        one = hidden("int half(const std::map<int, int>& of, int by = 2) {\n  return by;\n}")
        two = hidden("\nint half(const std::map<int, int>& whole, int) { return 1; }")
        self.assertEqual(clashes(one=one, two=two), [
            "hwprof::half(const std::map<int, int>&, int) is declared in "
            "src/one.cpp:4, src/two.cpp:5"])

    def test_other_parameters_make_another_function(self):
        self.assertEqual(clashes(one=hidden("int half(int of) { return of / 2; }"),
                                 two=hidden("int half(double of) { return 0; }")), [])

    def test_types_constants_and_enumerators_clash(self):
        one = hidden("struct Work {\n  int a = 0;\n};\nconstexpr int kA = 1, kB[] = {2};\nenum { kC };")
        for two in ("class Work;", "constexpr char kA[] = R\"(\n}\n)\";", "const int kB = 3;",
                    "enum Other : int { kFirst, kC = 7 };", "int Work(int x) { return x; }"):
            self.assertEqual(len(clashes(one=one, two=hidden(two))), 1, two)

    def test_a_name_that_a_header_shows_clashes_and_its_own_header_does_not(self):
        header, source = "struct Work {};", hidden("struct Work {};")
        self.assertEqual(len(clashes(seen_h=header, one=source)), 1)
        self.assertEqual(clashes(one_h="int half(int of);", one=hidden("int half(int) { return 1; }")), [])

    def test_aliases_that_say_the_same_are_one(self):
        same = hidden("using Map = std::map<int, int>;")
        self.assertEqual(clashes(one=same, two=same), [])
        self.assertEqual(len(clashes(one=same, two=hidden("using Map = std::map<int, char>;"))), 1)

    def test_names_in_functions_and_in_other_namespaces_are_their_own(self):
        one = hidden("int outer() {\n  const int inner = 1;\n  return inner;\n}")
        two = "namespace other {\n" + hidden("int outer() { return 2; }") + "\n}  // namespace other\n"
        self.assertEqual(clashes(one=one, two=two + hidden("int inner = 2;")), [])


if __name__ == "__main__":
    unittest.main()
