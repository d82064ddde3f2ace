"""hwprof run --pprof: a profile for pprof, read by a decoder of our own and held against the folded stacks of the
same run."""

import collections
import gzip
import os
import re
import sys
import time
import unittest

import harness
from evidence_harness import EvidenceTest, needs_root, needs_samples

# Numbers of fields, as https://github.com/google/pprof/blob/main/proto/profile.proto has them.
PROFILE = {1: "sample_type", 2: "sample", 3: "mapping", 4: "location", 5: "function", 6: "string_table",
           9: "time_nanos", 10: "duration_nanos", 11: "period_type", 12: "period", 13: "comment"}
SAMPLE = {1: "location_id", 2: "value", 3: "label"}
MAPPING = {1: "id", 2: "memory_start", 3: "memory_limit", 4: "file_offset", 5: "filename", 6: "build_id",
           7: "has_functions", 8: "has_filenames", 9: "has_line_numbers", 10: "has_inline_frames"}
LOCATION = {1: "id", 2: "mapping_id", 3: "address", 4: "line"}
LINE = {1: "function_id", 2: "line"}
FUNCTION = {1: "id", 2: "name", 3: "system_name", 4: "filename", 5: "start_line"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def decode(data, names):
    """A message as a dictionary from names to lists of values."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
            if at > len(data):
                raise ValueError("a message is cut off")
        elif key & 7 != 0:
            raise ValueError("wire type %d" % (key & 7))
        found[names[key >> 3]].append(value)
    return found


def numbers(values):
    """Of a packed field."""
    found = []
    for data in values:
        at = 0
        while at < len(data):
            value, at = varint(data, at)
            found.append(value)
    return found


class Profile:
    def __init__(self, path):
        with gzip.open(path) as file:
            self.top = decode(file.read(), PROFILE)
        self.strings = [text.decode() for text in self.top["string_table"]]
        self.mappings = self.by_id("mapping", MAPPING)
        self.functions = self.by_id("function", FUNCTION)
        self.locations = self.by_id("location", LOCATION)
        for location in self.locations.values():
            location["line"] = [decode(line, LINE) for line in location["line"]]

    def by_id(self, field, names):
        found = [decode(data, names) for data in self.top[field]]
        return {self.one(message, "id"): message for message in found}

    @staticmethod
    def one(message, key):
        return message[key][0] if message[key] else 0

    def text(self, message, key):
        return self.strings[self.one(message, key)]

    def types(self, field):
        kinds = [decode(data, {1: "type", 2: "unit"}) for data in self.top[field]]
        return [(self.text(kind, "type"), self.text(kind, "unit")) for kind in kinds]

    def lines(self, location):
        """(function, file, first line, line), innermost first."""
        found = []
        for line in self.locations[location]["line"]:
            function = self.functions[self.one(line, "function_id")]
            found.append((self.text(function, "name"), self.text(function, "filename"),
                          self.one(function, "start_line"), self.one(line, "line")))
        return found

    def samples(self):
        """(process, locations innermost first, values)"""
        for data in self.top["sample"]:
            sample = decode(data, SAMPLE)
            label = decode(sample["label"][0], {1: "key", 2: "str"})
            assert self.text(label, "key") == "process"
            yield self.text(label, "str"), numbers(sample["location_id"]), numbers(sample["value"])

    def folded(self):
        """The stacks as `--folded` has them: of inlined functions the one that they were inlined into."""
        found = collections.Counter()
        for process, locations, values in self.samples():
            names = [process]
            for location in reversed(locations):
                name, file, _, line = self.lines(location)[-1]
                if not self.locations[location]["mapping_id"] and line:  # of Python
                    name = "%s (%s:%d)" % (name, os.path.basename(file), line)
                names.append(name.replace(";", ":"))
            found[";".join(names)] += values[0]
        return found


INLINED_C = """
#include <time.h>
volatile double x[64];
static inline __attribute__((always_inline)) void inner(int i) {
  x[i % 64] += 0.5 * i;
}
__attribute__((noinline)) void hot(int n) {
  for (int i = 0; i < n; ++i)
    inner(i);
}
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) hot(1000000);
  return 0;
}
"""
BUILD_ID = "0123456789abcdef0123456789abcdef01234567"
SCRIPT = """
import time
def work(n):
    return sum(i * i % 7 for i in range(n))
def main():
    while time.process_time() < 0.7:
        work(1000)
main()
"""


@needs_samples
class Pprof(EvidenceTest):
    def profile(self, *command, options=()):
        """The profile, the folded stacks and the report of one run."""
        path, folded = self.path("x.pb.gz"), self.path("x.folded")
        done, report = self.observe(*command, options=["--no-ladder", "--pprof", path, "--folded", folded, *options])
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(folded) as file:
            lines = [line.rpartition(" ") for line in file.read().splitlines()]
        return Profile(path), {stack: int(samples) for stack, _, samples in lines}, report

    def test_stacks_are_those_of_the_folded_lines(self):
        for name, command in (("native", [self.compile("inlined", INLINED_C, "-g", "-O2")]),
                              ("python", [sys.executable, self.path("script.py", SCRIPT)])):
            with self.subTest(name):
                profile, folded, _ = self.profile(*command)
                self.assertEqual(profile.folded(), folded)

    def test_what_a_sample_is(self):
        began = time.time()
        profile, folded, report = self.profile(self.compile("inlined", INLINED_C, "-g", "-O2"))
        self.assertEqual(profile.strings[0], "")
        self.assertEqual(profile.types("sample_type"), [("samples", "count"), ("cpu", "nanoseconds")])
        self.assertEqual(profile.types("period_type"), [("cpu", "nanoseconds")])
        period = profile.top["period"][0]
        self.assertEqual(period, round(1e9 / report["blas"]["evidence"]["executed"]["frequency_hz"]))
        values = [values for _, _, values in profile.samples()]
        self.assertEqual(sum(count for count, _ in values), sum(folded.values()))
        for count, nanoseconds in values:
            self.assertAlmostEqual(nanoseconds, count * period, delta=count)
        self.assertAlmostEqual(profile.top["time_nanos"][0] / 1e9, began, delta=60)
        self.assertAlmostEqual(profile.top["duration_nanos"][0] / 1e9, report["wall_s"], places=5)
        self.assertIn("inlined", profile.strings[numbers(profile.top["comment"])[0]])

    def test_functions_have_files_and_lines_and_inlined_ones_stand_in_others(self):
        program = self.compile("inlined", INLINED_C, "-g", "-O2", "-Wl,--build-id=0x" + BUILD_ID)
        profile, _, _ = self.profile(program)
        source = self.path("inlined.c")
        hot = [lines for lines in map(profile.lines, profile.locations) if lines[0][0] == "inner"]
        self.assertTrue(hot, profile.functions)
        for lines in hot:
            self.assertEqual(lines, [("inner", source, 4, 5), ("hot", source, 7, 9)])
        hottest = max(profile.samples(), key=lambda sample: sample[2])
        mapping = profile.mappings[profile.one(profile.locations[hottest[1][0]], "mapping_id")]
        self.assertEqual(profile.text(mapping, "filename"), program)
        self.assertEqual(profile.text(mapping, "build_id"), BUILD_ID)
        for key in ("has_functions", "has_filenames", "has_line_numbers", "has_inline_frames"):
            self.assertEqual(profile.one(mapping, key), 1, key)
        # The program itself, as the format has it.
        self.assertEqual(profile.one(mapping, "id"), 1)

    def test_locations_lie_in_their_mappings(self):
        profile, _, _ = self.profile(self.compile("inlined", INLINED_C, "-g", "-O2"))
        ends = [(profile.one(m, "memory_start"), profile.one(m, "memory_limit")) for m in profile.mappings.values()]
        self.assertEqual(sorted(ends), ends)
        for (_, limit), (start, _) in zip(ends, ends[1:]):
            self.assertLessEqual(limit, start)
        for location in profile.locations.values():
            if not location["mapping_id"]:
                continue
            mapping = profile.mappings[profile.one(location, "mapping_id")]
            self.assertGreaterEqual(profile.one(location, "address"), profile.one(mapping, "memory_start"))
            self.assertLess(profile.one(location, "address"), profile.one(mapping, "memory_limit"))

    def test_functions_of_python_have_their_lines(self):
        profile, folded, _ = self.profile(sys.executable, self.path("script.py", SCRIPT))
        if not any(re.search(r"work \(script.py:4\)", stack) for stack in folded):
            self.skipTest("no Python 3.11, 3.12 or 3.13")
        lines = [line for location in profile.locations for line in profile.lines(location)]
        self.assertIn(("work", self.path("script.py"), 3, 4), lines)
        self.assertIn(("main", self.path("script.py"), 5, 7), lines)

    @needs_root
    def test_a_worker_without_rights_writes_the_same(self):
        profile, folded, _ = self.profile(self.compile("inlined", INLINED_C, "-g", "-O2"),
                                          options=["--user", "nobody"])
        self.assertEqual(profile.folded(), folded)
        self.assertTrue(any("inner" in line for location in profile.locations for line in profile.lines(location)))


if __name__ == "__main__":
    harness.main()
