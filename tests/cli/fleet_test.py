"""hwprof fleet merge: records of hwprof check, and what else lies in the folder, against a list."""

import csv
import io
import json
import os
import shutil

import harness
from harness import CliTest, hwprof


class Fleet(CliTest):
    def setUp(self):
        super().setUp()
        self.records = self.path("records")
        os.mkdir(self.records)
        # A record by the tool itself; what it says of this machine is set to what a test needs.
        hwprof("check", "--quick", "--out", self.records, "--run-id", "r0", "--host", "template")
        with open(os.path.join(self.records, "template@r0.json")) as file:
            self.template = json.load(file)
        os.remove(os.path.join(self.records, "template@r0.json"))

    def record(self, host, run="r1", outcome="pass", name=None, **changes):
        record = {**self.template, "host": host, "run_id": run, "outcome": outcome,
                  "gflops": 100.0, "reason": None if outcome == "pass" else "because", **changes}
        self.write(name or "%s@%s.json" % (host, run), json.dumps(record))

    def write(self, name, text):
        with open(os.path.join(self.records, name), "w") as file:
            file.write(text)

    def merge(self, expected, *options, code):
        done = hwprof("fleet", "merge", "--expected", expected, *options, self.records)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def test_a_record_of_check_is_read(self):
        done = hwprof("check", "--quick", "--out", self.records, "--run-id", "r1", "--host", "n1")
        merged = json.loads(self.merge("n[1]", "--json", code=done.returncode))
        host = merged["hosts"][0]
        self.assertEqual(host["state"], {0: "pass", 1: "fail", 3: "unknown"}[done.returncode])
        self.assertIn("verdict=%s " % host["verdict"], done.stdout)
        self.assertEqual(merged["exit"], done.returncode)

    def test_each_fault_has_its_word_and_none_is_lost_or_counted_twice(self):
        self.record("n1")
        self.record("n2", outcome="fail")
        self.record("n3", run="r0")
        self.write("n4@r1.json", json.dumps(self.template)[:300])
        self.write("n5@r1.json", "")
        self.write("n6@r1.json", json.dumps({**self.template, "schema": "hwprof.check/2"}))
        os.mkfifo(os.path.join(self.records, "n7@r1.json"))
        os.symlink("/etc/passwd", os.path.join(self.records, "n8@r1.json"))
        self.record("n9", ended_utc="2999-01-01T00:00:00Z")
        self.record("n10", hwprof={"version": "0.0.1"})
        self.record("n1", name="copy.json")
        self.record("stranger")
        self.write("notes.txt", "hello")
        self.write("other.json", '{"schema": "hwprof.blas/1"}')
        self.write("deep.json", "[" * 100000)
        os.mkdir(os.path.join(self.records, "folder"))
        self.write(".hwprof-0123456789abcdef", '{"schema"')  # one that is being written
        hosts = self.path("hosts", "n[1-11]|idle|none\nn12|down*|Not responding\n")
        merged = json.loads(self.merge(hosts, "--run-id", "r1", "--json", code=1))
        states = {host["host"]: host["state"] for host in merged["hosts"]}
        self.assertEqual(states, {
            "n1": "pass", "n2": "fail", "n3": "stale", "n4": "unreadable", "n5": "unreadable",
            "n6": "unreadable", "n7": "unreadable", "n8": "unreadable", "n9": "pass", "n10": "pass",
            "n11": "no_record", "n12": "unavailable"})
        self.assertEqual(sum(merged["counts"].values()), 12)
        self.assertEqual(merged["unexpected"], ["stranger"])
        self.assertEqual(merged["foreign"], ["deep.json", "folder", "notes.txt", "other.json"])
        by_name = {host["host"]: host for host in merged["hosts"]}
        self.assertIn("hwprof.check/2", by_name["n6"]["reason"])
        self.assertIn("Not responding", by_name["n12"]["reason"])
        self.assertIn("yet to come", by_name["n9"]["notes"][0])
        self.assertIn("0.0.1", by_name["n10"]["notes"][0])
        self.assertIn("2 records", by_name["n1"]["notes"][0])

    def test_times_are_compared_as_times(self):
        self.record("n1", outcome="fail", ended_utc="2026-11-27T03:30:00+01:00")
        self.record("n1", name="again.json", ended_utc="2026-11-27T03:00:00Z")
        self.record("n2", outcome="fail", ended_utc="2026-11-27T03:00:00Z")
        self.record("n2", name="later.json", ended_utc="2026-11-27T03:00:00.5Z")
        merged = json.loads(self.merge("n[1-2]", "--json", code=0))
        self.assertEqual([host["file"] for host in merged["hosts"]], ["again.json", "later.json"])

    def test_a_time_that_is_none_makes_a_record_unreadable(self):
        self.record("n1")
        bad = {"n2": ("ended_utc", "yesterday"), "n3": ("started_utc", "2026-11-27"), "n4": ("ended_utc", ""),
               "n5": ("ended_utc", "2026-02-30T00:00:00Z"), "n6": ("ended_utc", None), "n7": ("ended_utc", 1795752000),
               "n8": ("ended_utc", "9" * 10000)}
        for host, (key, text) in bad.items():
            self.record(host, **{key: text})
        merged = json.loads(self.merge("n[1-8]", "--json", code=3))
        self.assertEqual(merged["hosts"][0]["state"], "pass")
        for host in merged["hosts"][1:]:
            key, _ = bad[host["host"]]
            self.assertEqual(host["state"], "unreadable", host)
            self.assertIn(key, host["reason"])
            self.assertLess(len(host["reason"]), 200)

    def test_the_page_has_the_fix_and_the_reasons_of_each_host(self):
        self.record("n1", outcome="fail", gflops=None, gflops_reason="it hung",
                    blas={**self.template["blas"], "fix": "unset OPENBLAS_CORETYPE"})
        host = json.loads(self.merge("n[1]", "--json", code=1))["hosts"][0]
        self.assertEqual((host["fix"], host["gflops_reason"]), ("unset OPENBLAS_CORETYPE", "it hung"))
        page = self.merge("n[1]", "--format", "html", code=1)
        self.assertIn('data-chart="hosts"', page)
        self.assertIn("unset OPENBLAS_CORETYPE", page)

    def test_all_formats_have_each_host(self):
        for i in range(1, 4):
            self.record("n%d" % i)
        text = self.merge("n[1-3]", code=0)
        self.assertRegex(text, r"^exit=0 run_id=r1 hosts=3 pass=3 fail=0 ")
        rows = list(csv.DictReader(io.StringIO(self.merge("n[1-3]", "--format", "csv", code=0))))
        self.assertEqual([row["host"] for row in rows], ["n1", "n2", "n3"])
        self.assertEqual({row["state"] for row in rows}, {"pass"})
        self.merge("n[1-3]", "-o", self.path("fleet.html"), code=0)
        with open(self.path("fleet.html")) as file:
            page = file.read()
        self.assertIn("hwprof fleet: run r1", page)
        for host in ("n1", "n2", "n3"):
            self.assertIn(host, page)

    def test_a_saved_merge_says_again_what_it_said(self):
        self.record("n1")
        self.record("n2", outcome="fail")
        saved = self.path("fleet.json", self.merge("n[1-3]", "--json", code=1))
        done = hwprof("report", saved)
        self.assertEqual((done.returncode, done.stdout), (0, self.merge("n[1-3]", code=1)), done.stderr)
        done = hwprof("report", saved, "-o", self.path("fleet.html"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("fleet.html")) as file:
            self.assertIn("hwprof fleet: run r1", file.read())

    def test_a_folder_of_foreign_files(self):
        for name, text in (("a.json", "{}"), ("b.json", "[1, 2"), ("c.txt", "n1"), ("n1@r1.json.part", "{"),
                           ("d.json", '{"schema": "hwprof.run/1"}'), ("e@r1.json", "\0\x01\xff")):
            self.write(name, text)
        self.assert_refused("fleet", "merge", "--expected", "n[1]", self.records, names="no record of any run")
        merged = json.loads(self.merge("n[1],e", "--run-id", "r1", "--json", code=3))
        self.assertEqual([host["state"] for host in merged["hosts"]], ["no_record", "unreadable"])
        self.assertEqual(merged["foreign"], ["a.json", "b.json", "c.txt", "d.json", "n1@r1.json.part"])

    def test_a_record_from_the_future_of_the_schema_does_not_pass(self):
        self.record("n1", schema="hwprof.check/2")
        self.record("n2", schema="hwprof.check/1000000000000000000000")
        self.record("n3", schema=1)
        merged = json.loads(self.merge("n[1-3]", "--run-id", "r1", "--json", code=3))
        self.assertEqual({host["state"] for host in merged["hosts"]}, {"unreadable"})

    def test_a_list_of_hosts_that_is_wrong_names_its_line(self):
        self.record("n1")
        for text, names in (("n1\nn2\nn1\n", ["line 1", "line 3"]), ("n1\nn[1-\n", "line 2"),
                            ("n1|idle|none\nn1|drained|disk\n", "line 2"), ("n1\n../etc\n", ["line 2", "../etc"]),
                            ("n[1-999999999]\n", "more than"), ("\n# no one\n", "names no host"),
                            ("\x7fELF\0\1\n", "line 1")):
            self.assert_refused("fleet", "merge", "--expected", self.path("hosts", text), self.records, names=names)

    def test_a_report_that_cannot_be_written_is_no_report(self):
        self.record("n1")
        self.assert_refused("fleet", "merge", "--expected", "n[1]", "-o", self.path("no/report.html"), self.records,
                            code=3, names="no/report.html")

    def test_a_record_adds_no_words_to_the_line(self):
        """Whoever may write into the folder may write any record; a script reads the line."""
        self.record("n1", run="r1 hosts=2 pass=2 fail=0", name="n1@r1.json")
        self.record("n2 pass=2", name="n2@r1.json")
        self.record("n3")
        line = self.merge("n[1-3]", code=3).splitlines()[0]
        self.assertRegex(line, r"^exit=3 run_id=r1 hosts=3 pass=1 fail=0 unknown=0 stale=0 "
                               r"unreadable=2 ")

    def test_a_host_that_is_slower_than_its_kind_is_named(self):
        for i in range(1, 41):
            self.record("n%02d" % i, gflops=100.0 / 1.3 if i == 7 else 100.0 + i % 5)
        text = self.merge("n[01-40]", code=0)
        self.assertIn("n07 is 1.3 times slower", text)
        self.assertIn("outliers=1", text.split("\n")[0])

    def test_other_bits_are_named(self):
        for i in range(1, 6):
            self.record("n%d" % i)
        blas = {**self.template["blas"], "core": "Odd",
                "results": {"right": True, "wrong": None, "bits": "0123456789abcdef"}}
        self.record("n6", blas=blas)
        if not self.template["blas"]["results"]["bits"]:
            self.skipTest("no BLAS here whose results could be compared")
        self.assertIn("n6", self.merge("n[1-6]", code=0))
        merged = json.loads(self.merge("n[1-6]", "--json", code=0))
        self.assertEqual([same["hosts"] for same in merged["bits"]],
                         [["n1", "n2", "n3", "n4", "n5"], ["n6"]])

    def test_what_is_asked_wrongly_is_refused_in_a_sentence(self):
        self.record("n1")
        self.record("n1", run="r2")
        for arguments, names in [
                (["fleet"], "merge"), (["fleet", "split", self.records], "split"),
                (["fleet", "merge", "--expected", "n[1]"], "folder"),
                (["fleet", "merge", self.records], "--expected"),
                (["fleet", "merge", "--expected", "n[2-1]", self.records], "2-1"),
                (["fleet", "merge", "--expected", "n[1-2],n1", self.records], "n1 stands twice"),
                (["fleet", "merge", "--expected", self.path("no"), self.records], "no"),
                (["fleet", "merge", "--expected", "n[1]", self.path("missing")], "missing"),
                (["fleet", "merge", "--expected", "n[1]", self.records], "r1, r2"),
                (["fleet", "merge", "--expected", "n[1]", "--run-id", "a/b", self.records], "a/b")]:
            self.assert_refused(*arguments, names=names)
        shutil.rmtree(self.records)
        os.mkdir(self.records)
        self.assert_refused("fleet", "merge", "--expected", "n[1]", self.records, names="no record")
        self.merge("n[1]", "--run-id", "r1", code=3)


if __name__ == "__main__":
    harness.main()
