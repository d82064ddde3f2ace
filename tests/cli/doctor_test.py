"""`hwprof doctor`: states, commands and exit codes, whatever machine this is."""

import json
import os
import resource

import harness
from harness import CliTest, environment, hwprof

CHECKS = ["pmu", "counting", "counters", "paranoid", "capabilities", "sandbox", "nmi-watchdog",
          "userspace-reads", "libpfm4", "cpu", "blas", "environment", "load", "steal", "smt", "governor",
          "turbo", "cpuset", "descriptors"]


def doctor(*arguments, **options):
    done = hwprof("doctor", "--json", *arguments, **options)
    report = json.loads(done.stdout)
    return done, report, {check["name"]: check for check in report["checks"]}


class Doctor(CliTest):
    def test_every_check_has_a_state_and_what_is_to_mend_a_command(self):
        done, report, _ = doctor()
        self.assertEqual(done.stderr, "")
        self.assertEqual(report["schema"], "hwprof.doctor/1")
        self.assertEqual([check["name"] for check in report["checks"]], CHECKS)
        for check in report["checks"]:
            self.assertIn(check["state"], ["good", "mend", "note", "unknown"])
            self.assertTrue(check["finding"], check["name"])
            if check["state"] == "mend":
                self.assertTrue(check["consequence"] and check["remedy"], check["name"])

    def test_the_exit_code_says_whether_there_is_something_to_mend(self):
        done, report, checks = doctor()
        sick = any(check["state"] == "mend" for check in checks.values())
        self.assertEqual(report["clean"], not sick)
        self.assertEqual(done.returncode, 1 if sick else 0)

    def test_without_a_pmu_it_is_named_with_what_still_works(self):
        _, _, checks = doctor()
        if checks["pmu"]["state"] == "good":
            self.skipTest("this machine has a PMU")
        self.assertIn(checks["pmu"]["state"], ["mend", "note"])
        self.assertIn("still work", checks["pmu"]["consequence"])

    def test_only_judges_what_is_asked_for(self):
        done, report, checks = doctor("--only", "blas,environment")
        self.assertEqual(sorted(checks), ["blas", "environment"])
        sick = any(check["state"] == "mend" for check in checks.values())
        self.assertEqual((report["clean"], done.returncode), (not sick, 1 if sick else 0))
        self.assert_refused("doctor", "--only", "bals", names=["bals", "environment"])

    def test_a_forced_core_type_is_to_be_unset(self):
        done, _, checks = doctor(env=environment(OPENBLAS_CORETYPE="Prescott"))
        check = checks["environment"]
        self.assertIn("OPENBLAS_CORETYPE=Prescott", check["finding"])
        if "openblas" in checks["blas"]["finding"]:
            self.assertEqual((check["state"], done.returncode), ("mend", 1))
            self.assertEqual(check["remedy"], "unset OPENBLAS_CORETYPE")
        self.assertEqual(doctor()[2]["environment"]["state"], "good")

    def test_few_descriptors_are_found(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        check = doctor(preexec_fn=limit)[2]["descriptors"]
        self.assertEqual(check["state"], "mend")
        self.assertIn("64", check["finding"])

    def test_pinned_to_one_cpu_it_judges_that_one(self):
        cpu = max(os.sched_getaffinity(0))
        _, report, _ = doctor("--pin", str(cpu))
        self.assertEqual(report["cpus"], [cpu])

    def test_the_text_has_every_check_and_fits(self):
        done = hwprof("doctor")
        for name in CHECKS:
            self.assertIn(name, done.stdout)
        for line in done.stdout.splitlines():
            # A path that must stay whole to be copied may stick out.
            if len(line) > 100:
                self.assertLessEqual(len(line.split()), 2, line)

    def test_a_file_has_what_standard_output_would(self):
        path = self.path("doctor.json")
        done = hwprof("doctor", "--json", "-o", path)
        self.assertEqual(done.stdout, "")
        with open(path) as file:
            self.assertEqual(json.load(file)["schema"], "hwprof.doctor/1")

    def test_wrong_usage_is_2(self):
        self.assert_refused("doctor", "--pin", "4095", names="4095")
        self.assert_refused("docter", names=["docter", "doctor"])


if __name__ == "__main__":
    harness.main()
