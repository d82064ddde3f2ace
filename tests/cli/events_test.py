"""`hwprof events`: what can be counted here, why not the rest, and what a name becomes elsewhere."""

import json
import os
import tempfile

import harness
from harness import CliTest, hwprof

STATUSES = {"ok", "scaled", "not-counted", "unsupported", "denied"}
TABLE = ["flops", "flops-sp", "flops-dp", "llc-miss", "llc-ref", "l2-miss", "dtlb-miss", "stalls"]


def events(*arguments):
    done = hwprof("events", "--json", *arguments)
    if done.returncode != 0:
        raise AssertionError("exit %d: %s" % (done.returncode, done.stderr))
    return json.loads(done.stdout)


def elsewhere(cpu, name, core=0):
    return events("--cpu", cpu, name)["cores"][core]["events"][0]


class Here(CliTest):
    def test_every_portable_name_has_a_status_and_if_it_cannot_be_counted_a_reason(self):
        report = events()
        self.assertEqual(report["schema"], "hwprof.events/1")
        lines = report["cores"][0]["events"]
        names = [line["name"] for line in lines]
        for name in ["cycles", "instructions", "task-clock", "page-faults", *TABLE]:
            self.assertIn(name, names)
        for line in lines:
            self.assertIn(line["status"], STATUSES, line["name"])
            if line["status"] not in ("ok", "scaled"):
                self.assertTrue(line["reason"], line["name"])

    def test_the_text_names_each_event_and_how_to_ask_for_others(self):
        done = hwprof("events")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for word in ["cycles", "flops", "task-clock", "libpfm4", "r01c2", "--cpu"]:
            self.assertIn(word, done.stdout)
        self.assertLessEqual(max(map(len, done.stdout.splitlines())), 100)

    def test_several_names_are_explained_also_in_one_word(self):
        report = events("flops", "llc-miss,task-clock")
        self.assertEqual([line["name"] for line in report["cores"][0]["events"]],
                         ["flops", "llc-miss", "task-clock"])

    def test_a_raw_event_is_explained(self):
        self.assertEqual(events("r01c2")["cores"][0]["events"][0]["source"], "raw")

    def test_format_json_is_json(self):
        cpu = str(min(os.sched_getaffinity(0)))
        self.assertEqual(hwprof("events", "--json", "flops", "--pin", cpu).stdout,
                         hwprof("events", "--format", "json", "flops", "--pin", cpu).stdout)


class Elsewhere(CliTest):
    def test_sapphire_rapids(self):
        flops = elsewhere("intel/6/143", "flops")
        self.assertEqual([(t["config"], t["weight"]) for t in flops["terms"]],
                         [(0x03c7, 1), (0x04c7, 2), (0x18c7, 4), (0x60c7, 8), (0x80c7, 16)])
        self.assertEqual(flops["status"], "encoded")
        self.assertIn("counts twice", flops["caveat"])
        self.assertEqual(elsewhere("intel/6/143", "llc-miss")["terms"][0]["raw"], "r412e")

    def test_zen_5_has_flops_and_no_last_level_event(self):
        self.assertEqual(elsewhere("amd/26/2", "flops")["terms"][0]["config"], 0x0f03)
        miss = elsewhere("amd/26/2", "llc-miss")
        self.assertEqual((miss["status"], miss["terms"]), ("none", []))
        self.assertIn("amd_l3", miss["reason"])

    def test_hexadecimal_and_decimal_are_the_same_cpu(self):
        self.assertEqual(elsewhere("arm/0x41/0xd0c", "llc-miss"),
                         elsewhere("arm/65/3340", "llc-miss"))

    def test_a_hybrid_is_explained_for_each_kind_of_core(self):
        cores = events("--cpu", "intel/6/183", "flops")["cores"]
        self.assertEqual(len(cores), 2)
        self.assertEqual([core["events"][0]["status"] for core in cores], ["encoded", "none"])
        self.assertEqual(cores[1]["pmu"], "cpu_atom")

    def test_the_text_has_encoding_meaning_caveat_and_source(self):
        text = hwprof("events", "--cpu", "intel/6/143", "flops").stdout
        for word in ["Sapphire Rapids", "16 x r80c7", "512B_PACKED_SINGLE", "masked lanes",
                     "source"]:
            self.assertIn(word, text)

    def test_without_names_all_are_listed(self):
        for cpu in ["intel/6/143", "amd/25/97", "arm/0x41/0xd4f", "apple/0x61/0x22"]:
            names = [line["name"] for line in events("--cpu", cpu)["cores"][0]["events"]]
            self.assertTrue(set(TABLE) < set(names), cpu)
            self.assertEqual(hwprof("events", "--cpu", cpu).returncode, 0)


class Calibrated(CliTest):
    def calibrate(self, folder, *arguments):
        done = hwprof("events", "--calibrate", *arguments, 
                      env=harness.environment(XDG_CACHE_HOME=folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_without_a_pmu_it_says_so_and_keeps_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            report = json.loads(self.calibrate(folder, "--json"))
            self.assertEqual(report["schema"], "hwprof.calibration/1")
            if report["events"]:
                self.skipTest("this machine has a PMU")
            self.assertTrue(report["reason"])
            self.assertIsNone(report["kept_in"])
            text = self.calibrate(folder)
            self.assertIn("nothing was calibrated", text)
            self.assertIn("Nothing was kept", text)
            self.assertEqual(os.listdir(folder), [])

    def test_with_a_pmu_each_event_has_a_verdict_and_the_file_is_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            report = json.loads(self.calibrate(folder, "--json"))
            if not report["events"]:
                self.skipTest(report["reason"])
            for event in report["events"]:
                self.assertIn(event["verdict"], {"absent", "exact", "off"}, event["name"])
                if event["verdict"] == "absent":
                    self.assertTrue(event["reason"], event["name"])
            instructions = [each for each in report["events"] if each["name"] == "instructions"][0]
            self.assertIn(instructions["verdict"], {"absent", "exact"})
            self.assertTrue(os.path.exists(report["kept_in"]))

    def test_it_is_of_this_machine_and_of_all_its_events(self):
        self.assert_refused("events", "--calibrate", "flops", names=["--calibrate", "names"])
        self.assert_refused("events", "--calibrate", "--cpu", "amd/26/2",
                            names=["--calibrate", "--cpu"])


class Refused(CliTest):
    def test_an_unknown_cpu_gets_the_nearest(self):
        self.assert_refused("events", "--cpu", "intel/6/144",
                            names=["intel/6/144", "intel/6/143 (Intel Sapphire Rapids)"])

    def test_an_unknown_vendor_gets_the_list(self):
        self.assert_refused("events", "--cpu", "via/6/15", names=["via/6/15", "AMD Zen 5"])

    def test_a_cpu_that_is_none(self):
        self.assert_refused("events", "--cpu", "xeon", names=["xeon", "vendor/family/model"])

    def test_an_unknown_event_gets_the_nearest_names(self):
        self.assert_refused("events", "flop", names=["flop", "flops"])
        self.assert_refused("events", "--cpu", "amd/26/2", "llc-mis", names=["llc-mis", "llc-miss"])

    def test_options_that_exclude_each_other_or_make_no_sense(self):
        self.assert_refused("events", "--cpu", "amd/26/2", "--pin", "0", names=["--cpu", "--pin"])
        self.assert_refused("events", "--pin", "0-1", names="one CPU")
        self.assert_refused("events", "--pin", "4095", names="4095")
        self.assert_refused("events", "--format", "xml", names=["--format", "xml"])


if __name__ == "__main__":
    harness.main()
