"""What hwprof run and attach find out about a program and its BLAS."""

import json
import os
import subprocess
import unittest

import harness
from evidence_harness import (AS_ROOT, CALLER, EvidenceTest, VERDICTS, has_uprobes,
                              needs_caller, needs_root, needs_samples, shapes, sites)
from harness import hwprof

BY_UPROBES = ["--no-ladder", "--calls-by", "uprobes"]
WIDTHS = {"512", "256", "128", "scalar"}


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

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_root_counts_every_call_and_shape_by_uprobes(self):
        done, report = self.observe(CALLER, "fortran", options=BY_UPROBES)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "uprobe")

    @needs_root
    def test_root_counts_every_call_and_shape_by_audit(self):
        done, report = self.observe(CALLER, "fortran")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "audit")

    def test_the_audit_library_times_every_call(self):
        _, report = self.observe(CALLER, "busy", "0.5", options=["--no-ladder", "--calls-by", "audit"])
        called = report["blas"]["evidence"]["called"]
        site = sites(report, "sgemm_")[0]
        self.assertGreater(site["time_ns"], 0)
        self.assertEqual(site["time_ns"], site["shapes"][0]["time_ns"])
        self.assertLessEqual(site["time_ns"], 1e9 * report["wall_s"])
        self.assertEqual(called["wall_ns"], site["time_ns"], "one thread calls")

    @needs_root
    def test_nobody_counts_every_call_and_shape_by_audit(self):
        done, report = self.observe(CALLER, "fortran", **self.as_nobody())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "audit")

    @unittest.skipIf(AS_ROOT, "another test")
    def test_an_ordinary_user_counts_every_call_and_shape_by_audit(self):
        done, report = self.observe(CALLER, "fortran")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.check_calls(report, "audit")

    def check_shapes(self, report):
        called = report["blas"]["evidence"]["called"]
        found = {site["symbol"]: (site["flops"], shapes(site)) for site in called["calls"]}
        self.assertEqual(found, {
            "dsyrk_": (5 * 6 * 6, {(5, 5, 6): 1}),
            "zher2k_": (6 * 12 + 2 * 14, {(2, 2, 3): 1}),
            "ssymm_": (360 + 300, {(5, 6, 6): 1, (5, 6, 5): 1}),
            "dtrsv_": (49, {(7, 1, 7): 1}),
            "ssymv_": (98, {(7, 1, 7): 1}),
            "cblas_dtrmm": (36, {(4, 3, 3): 1}),
            "cblas_ssyrk": (210, {(6, 6, 5): 1})})
        form = {site["symbol"]: site["shapes"][0]["form"] for site in called["calls"]}
        self.assertEqual(form["cblas_dtrmm"], "right, A^T, row-major")
        self.assertIsNone(form["dsyrk_"])

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_each_routine_has_its_own_shape_and_flop_by_uprobes(self):
        self.check_shapes(self.observe(CALLER, "others", options=BY_UPROBES)[1])

    def test_each_routine_has_its_own_shape_and_flop_by_audit(self):
        more = self.as_nobody() if AS_ROOT else {}
        self.check_shapes(self.observe(CALLER, "others", **more)[1])

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
        done, report = self.observe_without_loss(CALLER, "busy", "1")
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
        self.assertEqual(shapes(sites(report, "sgemm_")[0]),
                         {(48, 50, 52): int(done.stdout.split()[1])})

    @needs_root
    @needs_samples
    def test_nobody_sees_where_the_time_goes(self):
        done, report = self.observe_without_loss(CALLER, "busy", "1", **self.as_nobody())
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

    def test_the_factor_is_that_of_the_programs_own_calls(self):
        _, report = self.observe(CALLER, "busy", "0.5", options=[])
        blas = report["blas"]
        measured = [rung for rung in blas["ladder"] if rung["gflops"] is not None]
        if not measured:
            self.skipTest(blas["ladder_note"])
        self.assertIn("1 shape made again", blas["calls_note"])
        self.assertEqual(blas["calls_covered"], 1)
        for rung in measured:
            self.assertIsNotNone(rung["calls_fraction"], rung["reason"])
        if blas["factor"] is None:
            self.assertIsNone(blas["program_factor"])
            return
        self.assertEqual(blas["factor_of"], "calls")
        if blas["program_factor"] is None:
            self.assertIn("not known", blas["blas_share_of"])
            return
        share = blas["blas_share"]
        self.assertAlmostEqual(blas["program_factor"],
                               1 / (1 - share + share / blas["factor"]), places=6)

    def test_numbers_that_watching_slowed_are_marked(self):
        more = self.as_nobody() if AS_ROOT else {}
        _, report = self.observe(CALLER, "tiny", "300000", **more)
        called = report["blas"]["evidence"]["called"]
        if called["how"] == "none":
            self.skipTest(called["reason"])
        self.assertAlmostEqual(called["added_ns"],
                               60 * sum(site["count"] for site in called["calls"]))
        cpu = 1e9 * (report["user_s"] + report["system_s"])
        slowed = called["added_ns"] / max(cpu - called["added_ns"], cpu / 20)
        if slowed >= 0.05:
            self.assertAlmostEqual(report["slowed_by_observing"], slowed)
        else:
            self.assertIsNone(report["slowed_by_observing"])

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_probes_on_tiny_calls_are_marked(self):
        report = self.observe(CALLER, "tiny", "30000", options=BY_UPROBES)[1]
        self.assertGreater(report["blas"]["evidence"]["called"]["added_ns"], 30000 * 700)
        self.assertGreater(report["slowed_by_observing"], 0.05)
        text = hwprof("run", *BY_UPROBES, "--", CALLER, "tiny", "30000").stderr
        self.assertIn("slowed by observing: about ", " ".join(text.split()))

    def test_the_exit_code_passes(self):
        done, report = self.observe("sh", "-c", '"$0" fortran; exit 7', CALLER)
        self.assertEqual((done.returncode, report["exit"]), (7, 7))
        self.assertEqual(sites(report, "sgemm_")[0]["count"], 107)


WAITS_C = """
#include <pthread.h>
#include <sched.h>
#include <time.h>
static volatile int done;
static void* wait(void* nothing) {
  while (!done) sched_yield();
  return nothing;
}
int main(void) {
  pthread_t other;
  pthread_create(&other, 0, wait, 0);
  while (clock() < CLOCKS_PER_SEC) {}
  done = 1;
  return pthread_join(other, 0);
}
"""


class WaitingThreads(EvidenceTest):
    @needs_samples
    def test_time_in_which_threads_wait_is_a_class_of_its_own(self):
        report = self.observe(self.compile("waits", WAITS_C, "-pthread"))[1]
        executed = report["blas"]["evidence"]["executed"]
        if executed["samples"] < 100:
            self.skipTest("too few samples: %d" % executed["samples"])
        waiting = [share for share in executed["waiting"] if "sched_yield" in share["name"]]
        self.assertTrue(waiting, executed["symbols"])
        shares = {share["what"]: share for share in report["blas"]["time_shares"]}
        share = shares["waiting threads"]
        # Names miss the loop around the call, which has one of its own.
        threads = report["threads"]
        by_loops = (threads["spin_share"] or 0) + (threads["idle_worker_share"] or 0)
        by_names = sum(one["fraction"] for one in executed["waiting"])
        self.assertAlmostEqual(share["fraction"], max(by_loops, by_names))
        if threads["spin_share"] is not None:
            self.assertAlmostEqual(by_loops, by_names, delta=0.05)
        self.assertLess(share["low"], share["fraction"])
        self.assertLess(share["fraction"], share["high"])


OWN_PRODUCT_C = """
void %s(const char* a_form, const char* b_form, const int* m, const int* n, const int* k,
        const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
        const double* beta, double* c, const int* ldc) {
  for (int j = 0; j < *n; ++j)
    for (int i = 0; i < *m; ++i) {
      double sum = 0;
      for (int l = 0; l < *k; ++l) sum += a[i + l * *lda] * b[l + j * *ldb];
      c[i + j * *ldc] = *alpha * sum;
    }
}
"""
CALLS_IT_C = """
void %s(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
        const int*, const double*, const int*, const double*, double*, const int*);
static double a[40000], b[40000], c[40000];
int main(void) {
  int n = 200;
  double one = 1, zero = 0;
  for (int i = 0; i < 40000; ++i) a[i] = b[i] = i %% 7;
  for (int i = 0; i < 40; ++i) %s("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return 0;
}
"""


class LibraryThatNobodyKnows(EvidenceTest):
    def check(self, symbol, *flags):
        library = self.compile("libmymath.so", OWN_PRODUCT_C % symbol, "-shared", "-fPIC", *flags)
        program = self.compile("program", CALLS_IT_C % (symbol, symbol),
                               "-Wl,--no-as-needed", library, "-Wl,-rpath," + self.folder)
        os.chmod(self.folder, 0o755)  # what others can write, is not loaded
        report = self.observe(program, options=[])[1]
        blas = report["blas"]
        if blas["evidence"]["called"]["how"] == "none":
            self.skipTest(blas["evidence"]["called"]["reason"])
        self.assertEqual([(site["count"], site["library"]) for site in sites(report, symbol)],
                         [(40, os.path.realpath(library))])
        self.assertIn(os.path.realpath(library),
                      [one["path"] for one in blas["evidence"]["loaded"] if one["serves_blas"]])
        self.assertEqual((blas["provider"], blas["path"]), ("unknown", os.path.realpath(library)))
        if blas["evidence"]["executed"]["samples"] >= 100:
            self.assertIn(blas["verdict"], {"unoptimised", "suboptimal"}, blas["why"])
        self.assertNotIn("--no-ladder", blas["fix"] or "")
        found = [rung for rung in blas["ladder"] if rung["as_found"]]
        self.assertEqual(len(found), 1, blas["ladder_note"])
        self.assertIsNotNone(found[0]["calls_fraction"], found[0]["reason"])

    def test_its_calls_are_judged_by_what_they_are(self):
        self.check("dgemm_", "-Wl,-soname,libmymath.so")

    def test_a_library_without_a_soname_is_no_program(self):
        self.check("dgemm_")

    def test_the_names_of_a_build_of_its_own_are_made_again(self):
        self.check("scipy_dgemm_", "-Wl,-soname,libmymath.so")


@needs_caller
class Environment(EvidenceTest):
    SHOW = ["sh", "-c", 'echo "[$LD_AUDIT] [$LD_PRELOAD] $(env | grep -c ^HWPROF_CALL)"']

    def shown(self, *options, **more):
        return hwprof("run", "--no-ladder", *options, "--", *self.SHOW, **more).stdout

    @unittest.skipUnless(has_uprobes(), "needs root and uprobes")
    def test_nothing_is_added_with_uprobes(self):
        self.assertEqual(self.shown("--calls-by", "uprobes"), "[] [] 0\n")

    def test_audit_without_root_and_nothing_with_no_calls(self):
        more = self.as_nobody() if AS_ROOT else {}
        self.assertRegex(self.shown(**more), r"^\[/\S+/libhwprof-audit\.so\] \[\] 1\n$")
        self.assertEqual(self.shown("--no-calls", **more), "[] [] 0\n")


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


if __name__ == "__main__":
    harness.main()
