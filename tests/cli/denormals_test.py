"""hwprof run: what denormal numbers cost the calls of a program, by making one again."""

import json
import os
import platform
import subprocess
import unittest

import harness
from harness import CliTest, hwprof

# A product that takes a hundred times as long for each denormal number that it computes: what CPUs
# differ in is the library's here.
SLOW_BLAS = r"""
#include <math.h>
static volatile float result;
static volatile int waited;
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
            const float* alpha, const float* a, const int* lda, const float* b, const int* ldb,
            const float* beta, float* c, const int* ldc) {
  for (int i = 0; i < *k; ++i) {
    const volatile float x = a[i], y = b[i];
    result = x * y;
    if (fpclassify(result) == FP_SUBNORMAL || fpclassify(x) == FP_SUBNORMAL)
      for (int j = 0; j < 300; ++j) ++waited;
  }
}
void strsm_(const char* side, const char* up, const char* ta, const char* unit, const int* m,
            const int* n, const float* alpha, const float* a, const int* lda, float* b,
            const int* ldb) {
  b[0] = a[0] * b[0];
}
"""
CALLER = r"""
#include <stdlib.h>
#include <string.h>
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*,
            const float*, const int*, const float*, const int*, const float*, float*, const int*);
void strsm_(const char*, const char*, const char*, const char*, const int*, const int*,
            const float*, const float*, const int*, float*, const int*);
int main(int count, char** words) {
  enum { kSide = 16 };
  static float a[kSide * kSide], b[kSide * kSide], c[kSide * kSide];
  const int side = kSide;
  const float one = 1, zero = 0, value = (float)atof(words[2]);
  (void)count;
  for (int i = 0; i < kSide * kSide; ++i) {
    a[i] = value;
    b[i] = 1;
  }
  for (int i = 0; i < 100; ++i) {
    if (strcmp(words[1], "product") == 0)
      sgemm_("N", "N", &side, &side, &side, &one, a, &side, b, &side, &zero, c, &side);
    else
      strsm_("L", "L", "N", "N", &side, &side, &one, a, &side, b, &side);
  }
  return 0;
}
"""


@unittest.skipUnless(platform.machine() == "x86_64", "no flags on this architecture")
class DenormalCost(CliTest):
    def setUp(self):
        super().setUp()
        compiler = [os.environ.get("CC_FOR_TESTS", "cc"), "-O1"]
        library, self.program = self.path("libslowblas.so"), self.path("caller")
        try:
            subprocess.run([*compiler, "-shared", "-fPIC", "-o", library,
                            self.path("blas.c", SLOW_BLAS)], check=True, capture_output=True)
            subprocess.run([*compiler, "-o", self.program, self.path("caller.c", CALLER), library,
                            "-Wl,-rpath," + self.folder], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest("cannot compile: %s" % error)

    def observe(self, *arguments, options=()):
        report = self.path("report.json")
        done = hwprof("run", "--format", "json", "-o", report, "--calls-by", "audit", *options,
                      "--", self.program, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(report) as file:
            blas = json.load(file)["blas"]
        [site] = blas["evidence"]["called"]["calls"]
        return site, " ".join(blas["findings"])

    def test_a_call_is_made_again_with_denormal_numbers(self):
        site, findings = self.observe("product", "1e-40")
        self.assertEqual(site["denormal_calls"], 100)
        self.assertIsNone(site["denormal_slowdown"], "none was without")
        replay = site["denormal_replay"]
        self.assertIsNone(replay["reason"])
        self.assertEqual((replay["m"], replay["n"], replay["k"]), (16, 16, 16))
        self.assertGreaterEqual(replay["rounds"], 6)
        for kind in ("operands", "results"):
            low, high = replay[kind + "_ratio_ci95"]
            self.assertTrue(low <= replay[kind + "_ratio"] <= high, replay)
            self.assertGreater(replay[kind + "_ratio"], 1.25, "300 steps for each number")
        self.assertRegex(findings, r"100 % of the calls of sgemm_ from caller met denormal numbers "
                                   r"\(100 of 100\), which makes them at most [0-9]+ times slower")
        self.assertIn("_MM_SET_FLUSH_ZERO_MODE", findings)
        text = hwprof("run", "--", self.program, "product", "1e-40").stderr
        self.assertIn("at most", text)

    def test_nothing_is_made_again_where_no_call_met_any(self):
        site, findings = self.observe("product", "1e-3")
        self.assertEqual(site["denormal_calls"], 0)
        self.assertIsNone(site["denormal_replay"])
        self.assertNotIn("denormal", findings)

    def test_it_says_why_none_was_made_again(self):
        site, findings = self.observe("product", "1e-40", options=["--no-ladder"])
        self.assertEqual(site["denormal_replay"]["reason"], "not measured (--no-ladder)")
        self.assertIsNone(site["denormal_replay"]["operands_ratio"])
        self.assertIn("nor was one made again (not measured (--no-ladder))", findings)
        site, _ = self.observe("solution", "1e-40")
        self.assertIn("strsm_ computes other things", site["denormal_replay"]["reason"])
        os.chmod(self.folder, 0o777)
        site, _ = self.observe("product", "1e-40")
        self.assertIn("other users can write", site["denormal_replay"]["reason"])


if __name__ == "__main__":
    harness.main()
