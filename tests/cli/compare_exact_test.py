"""`hwprof compare --exact`: counts of real reports, some of them changed, and what is refused."""

import copy
import platform
import unittest

import harness
from compare_test import Compared
from harness import hwprof, profile


@unittest.skipUnless(platform.machine() == "x86_64", "exact counting is x86-64 only")
class Exact(Compared):
    @classmethod
    def setUpClass(cls):
        cls.report = profile("--exact", "--no-ladder", "--variant", "simd,fused")
        if any(row["exact"]["reason"] for row in cls.report["rows"]):
            raise unittest.SkipTest(cls.report["rows"][0]["exact"]["reason"] or "a row was not counted")

    def counted(self, op, **changes):
        changed = copy.deepcopy(self.report)
        for row in changed["rows"]:
            if row["op"] == op:
                row["exact"].update(changes)
        return changed

    def test_each_difference_is_one(self):
        linear = next(row["exact"] for row in self.report["rows"] if row["op"] == "linear")
        more = self.counted("linear", instructions=linear["instructions"] + 1)
        by = ("--exact", "instructions")
        comparison = self.compare(self.report, more, arguments=by, code=1)
        self.assertEqual(comparison["exact"], "instructions")
        verdicts = self.verdicts(comparison)
        self.assertEqual(verdicts.pop("linear simd"), "more")
        self.assertEqual(set(verdicts.values()), {"same"})
        row = next(row for row in comparison["files"][0]["rows"] if row["row"] == "linear simd")
        self.assertEqual((row["baseline_count"], row["count"]),
                         (linear["instructions"], linear["instructions"] + 1))
        self.assertIn("1 of %d rows executes more instructions: linear simd" % (len(verdicts) + 1),
                      comparison["verdict"])
        self.assertEqual(self.verdicts(self.compare(more, self.report, arguments=by))["linear simd"], "fewer")
        self.assertEqual(self.verdicts(self.compare(self.report, more, arguments=("--exact", "flops")))
                         ["linear simd"], "same")

    def test_the_threshold_is_a_share_of_the_count(self):
        linear = next(row["exact"] for row in self.report["rows"] if row["op"] == "linear")
        by = ("--exact", "bytes", "--threshold", "1%")
        total = linear["bytes_loaded"] + linear["bytes_stored"]
        within = self.counted("linear", bytes_loaded=linear["bytes_loaded"] + total // 200)
        beyond = self.counted("linear", bytes_loaded=linear["bytes_loaded"] + total // 50)
        self.assertEqual(self.verdicts(self.compare(self.report, within, arguments=by))["linear simd"], "same")
        self.assertEqual(self.verdicts(self.compare(self.report, beyond, arguments=by, code=1))["linear simd"],
                         "more")

    def test_two_runs_of_one_binary_are_exactly_the_same(self):
        again = profile("--exact", "--no-ladder", "--variant", "simd,fused")
        comparison = self.compare(self.report, again, arguments=("--exact", "flops"))
        self.assertEqual(set(self.verdicts(comparison).values()), {"same"})

    def test_a_row_that_was_not_counted_says_why(self):
        gone = self.counted("linear")
        for row in gone["rows"]:
            if row["op"] == "linear":
                row["exact"] = {"to_model": None, "excess": [], "reason": "a thread was started"}
        comparison = self.compare(self.report, gone, arguments=("--exact", "flops"))
        row = next(row for row in comparison["files"][0]["rows"] if row["row"] == "linear simd")
        self.assertEqual((row["verdict"], row["reason"], row["count"]),
                         ("not-comparable", "a thread was started", None))
        self.compare(self.report, gone, arguments=("--exact", "flops", "--strict"), code=3)

    def test_the_text_has_the_counts(self):
        name = self.file("same.json", self.report)
        done = hwprof("compare", "--exact", "instructions", name, name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("exactly the same instructions", done.stdout)
        for row in self.report["rows"]:
            self.assertIn(str(row["exact"]["instructions"]), done.stdout)

    def test_what_it_cannot_compare_is_refused(self):
        plain = copy.deepcopy(self.report)
        for row in plain["rows"]:
            del row["exact"]
        counted, uncounted = self.file("a.json", self.report), self.file("b.json", plain)
        self.assert_refused("compare", "--exact", "flops", counted, uncounted, names=["b.json", "--exact"])
        self.assert_refused("compare", "--exact", "flops", counted, counted, "--", counted, names="--exact")
        self.assert_refused("compare", "--exact", "cycles", counted, counted, names=["--exact", "cycles"])
        self.assert_refused("compare", "--exact", "flops", "--by-turns", "true", "--", "true", names="--by-turns")


if __name__ == "__main__":
    harness.main()
