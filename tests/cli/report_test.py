"""hwprof report: saved JSON becomes a page, or one sentence says why not. What the page looks like, the
suite `browser` holds; here only what is a matter of files."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import CliTest, environment, hwprof

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
NAMES = ["profile", "profile_layers", "profile_training", "run", "run_attached", "sweep", "compare", "blas", "doctor",
         "fleet", "check", "check_bad", "check_missing"]
SHORT = ["--time-budget", "1", "--shape", "d_e=16,d_c=24,l=11,batch=4", "--no-ladder", "--variant", "simd"]


def golden(name):
    return str(GOLDEN / (name + ".json"))


def embedded(page):
    """The reports inside a page, as its script would read them."""
    return [json.loads(text) for text in
            re.findall(r'<script type="application/json" id="r\d+-json">(.*?)</script>', page, re.DOTALL)]


class Pages(CliTest):
    def page(self, *paths):
        out = self.path("page.html")
        done = hwprof("report", *paths, "-o", out)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        with open(out, encoding="utf-8") as file:
            return file.read()

    def test_every_report_becomes_a_page_that_holds_it(self):
        for name in NAMES:
            with self.subTest(name):
                page = self.page(golden(name))
                self.assertTrue(page.startswith("<!doctype html>"))
                self.assertTrue(page.endswith("</html>\n"))
                with open(golden(name), encoding="ascii") as file:
                    self.assertEqual(embedded(page), [json.load(file)])
                self.assertNotRegex(page, r"(?i)(src|href)=[\"']?(https?:|//)")

    def test_several_reports_are_one_page_in_the_order_given(self):
        page = self.page(*map(golden, NAMES))
        self.assertEqual([report["schema"].split("/")[0] for report in embedded(page)],
                         ["hwprof." + name.split("_")[0] for name in NAMES])
        self.assertEqual(page.count("<article "), len(NAMES))
        ids = re.findall(r' id="([^"]*)"', re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))
        self.assertEqual(len(ids), len(set(ids)))

    def test_as_text_it_says_what_it_said(self):
        for name in ["profile", "run", "compare", "blas", "doctor", "fleet", "check", "check_bad", "check_missing"]:
            with self.subTest(name):
                done = hwprof("report", golden(name), "--full", env=environment(COLUMNS="120"))
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(GOLDEN / (name + ".120.txt"), encoding="utf-8") as file:
                    self.assertEqual(done.stdout, file.read())

    def test_a_record_of_check_is_a_report_in_each_format(self):
        """What json.md says of it is its own test's; here that none of it is lost on the way through a file."""
        for name in ["check", "check_bad", "check_missing"]:
            with open(GOLDEN / (name + ".md"), encoding="utf-8") as file:
                self.assertEqual(hwprof("report", golden(name), "--format", "markdown").stdout, file.read())
            with open(golden(name), encoding="ascii") as file:
                self.assertEqual(json.loads(hwprof("report", golden(name), "--json").stdout), json.load(file))

    def test_a_record_of_check_that_is_none_is_refused_in_a_sentence(self):
        with open(golden("check"), encoding="ascii") as file:
            text = file.read()
        for changed, names in [
                ({"schema": "hwprof.check/2"}, "'hwprof.check/2', and this hwprof reads 'hwprof.check/1'"), ({"gflops": "fast"}, "gflops"),
                ({"outcome": "splendid"}, "outcome"), ({"blas": []}, "blas"), ({"isa": 3}, "isa")]:
            path = self.path("bad.json", json.dumps({**json.loads(text), **changed}))
            self.assert_refused("report", path, names=names)
        self.assert_refused("report", self.path("cut.json", text[:1000]), names="cut")

    def test_a_record_of_check_that_lacks_much_says_what_it_has(self):
        done = hwprof("report", self.path("bare.json", '{"schema": "hwprof.check/1", "host": "n1"}'))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("n1", done.stdout)
        self.assertNotIn("nan", done.stdout.lower())

    def test_of_several_there_is_text_and_no_json(self):
        both = hwprof("report", golden("blas"), golden("doctor"))
        self.assertEqual(both.returncode, 0, both.stderr)
        self.assertIn(hwprof("report", golden("doctor")).stdout, both.stdout)
        self.assertEqual(hwprof("report", golden("blas"), golden("doctor"), "--json").returncode, 2)

    def test_the_same_report_gives_the_same_bytes(self):
        self.assertEqual(self.page(golden("run")), self.page(golden("run")))

    def test_each_way_to_ask_for_a_page_gives_one(self):
        for number, words in enumerate([["--report", "a.html", "-o", os.devnull], ["-o", "b.html"],
                                        ["--format", "html", "-o", "c"]]):
            words = [self.path(word) if word[0] in "abc" else word for word in words]
            done = hwprof("profile", *SHORT, *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(self.path("abc"[number] + ("" if number == 2 else ".html")), encoding="utf-8") as file:
                self.assertEqual([report["schema"] for report in embedded(file.read())], ["hwprof.profile/1"])
        done = hwprof("profile", *SHORT, "--format", "html")
        self.assertTrue(done.stdout.startswith("<!doctype html>"))

    def test_a_profile_is_sampled_for_a_page_and_a_flame_graph_alone(self):
        done = hwprof("profile", *SHORT, "--json")
        self.assertFalse("executed" in json.loads(done.stdout), "sampled without being asked")
        for words in [["--report", self.path("page.html")], ["--flame", self.path("flame.svg")]]:
            done = hwprof("profile", *SHORT, "--json", *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            executed = json.loads(done.stdout)["executed"]
            self.assertTrue(executed["reason"] or executed["stacks"])
            if executed["stacks"]:
                self.assertLessEqual(sum(stack["samples"] for stack in executed["stacks"]), executed["samples"])
                self.assertIn("after all else was measured", executed["notes"][0])
                own = [loops["provider"] for loops in executed["loops"] if loops["library"].endswith("/hwprof")]
                self.assertNotIn("openblas", own, "hwprof's own kernels are no BLAS")

    def test_a_page_beside_another_format_is_of_the_same_run(self):
        done = hwprof("profile", *SHORT, "--json", "--report", self.path("page.html"))
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("page.html"), encoding="utf-8") as file:
            self.assertEqual(embedded(file.read()), [json.loads(done.stdout)])


def bench_of(profile):
    """The JSON of kernels_bench: one case for each operation of a profile, and one that is none of its."""
    def case(op, shape, model):
        return {"name": op + "/made/iterations:1/manual_time", "run_type": "iteration", "threads": 1, "flops": model["flops"],
                "bytes": model["bytes"], **{"size:" + size: float(value) for size, value in shape.items()},
                "fused:ns": 1e6, "onednn:ns": 2e6, "onednn:ns_low": 1.9e6, "onednn:ns_high": 2.2e6, "onednn:ours": 2.0}
    rows = {row["op"]: row for row in profile["rows"] if row["gflops"] and row["threads"] == 1}
    cases = [case(op, row["shape"], row["model"]) for op, row in rows.items()]
    cases.append(case("gemm", {"m": 3}, {"flops": 1e6, "bytes": 1e3}))
    return {"context": {"hwprof_bench": "1", "cpu": profile["machine"]["cpu"]}, "benchmarks": cases}


class Peers(CliTest):
    def setUp(self):
        super().setUp()
        with open(golden("profile"), encoding="ascii") as file:
            self.profile = json.load(file)
        self.bench = bench_of(self.profile)

    def report(self, *words, codes=(0,)):
        done = hwprof("report", golden("profile"), self.path("bench.json", json.dumps(self.bench)), *words)
        self.assertIn(done.returncode, codes, done.stderr)
        return done

    def test_those_of_bench_stand_beside_the_rows_in_each_format(self):
        merged = json.loads(self.report("--format", "json").stdout)
        peers = merged.pop("peers")
        self.assertEqual(merged, self.profile, "the rest of the profile is as it was")
        self.assertEqual(len(peers["points"]), len(self.bench["benchmarks"]) - 1)
        for peer, case in zip(peers["points"], self.bench["benchmarks"]):
            self.assertEqual((peer["name"], peer["time_ns"]), ("onednn", 2e6))
            self.assertAlmostEqual(peer["gflops"], case["flops"] / 2e6)
            self.assertAlmostEqual(peer["gflops_ci95"][0], case["flops"] / 2.2e6)
        text = self.report("--full").stdout
        self.assertIn("no point for 1 case of gemm (no row is of that operation).", " ".join(text.split()))
        self.assertEqual(text.count("onednn "), len(peers["points"]))
        page = self.path("page.html")
        self.report("-o", page)
        with open(page, encoding="utf-8") as file:
            html = file.read()
        self.assertEqual(embedded(html), [dict(merged, peers=peers)])
        self.assertIn('data-of="/peers/points/0"', html)

    def test_saved_with_the_profile_they_are_there_again(self):
        saved = self.path("saved.json")
        self.report("-o", saved, "--format", "json")
        self.assertEqual(hwprof("report", saved, "--full").stdout, self.report("--full").stdout)

    def test_of_another_cpu_none_is_shown(self):
        self.bench["context"]["cpu"] = "another CPU"
        text = " ".join(self.report("--full").stdout.split())
        self.assertIn("no point, since it was measured on another CPU (another CPU, not ", text)
        self.assertNotIn("onednn", text)

    def test_without_a_profile_they_are_refused(self):
        for others in [[], [golden("run")]]:
            done = hwprof("report", *others, self.path("bench.json", json.dumps(self.bench)))
            self.assertEqual(done.returncode, 2)
            self.assertIn("no profile is named", done.stderr)

    def test_a_bad_file_is_refused_in_a_sentence_and_nothing_is_written(self):
        whole = json.dumps(self.bench)
        case = '"onednn:ns": 2000000.0'
        self.assertIn(case, whole)
        for number, (text, name) in enumerate([
                (whole[:len(whole) // 2], "cut"), (whole.replace(case, '"onednn:ns": NaN'), "not JSON"),
                (whole.replace(case, '"onednn:ns": 1e999'), "too large"),
                (whole.replace(case, '"onednn:ns": "fast"'), "benchmarks[0].onednn:ns"),
                (whole.replace(case, '"onednn:ns": -1'), "benchmarks[0].onednn:ns"),
                (whole.replace('"hwprof_bench": "1"', '"hwprof_bench": "7"'), "version 7"),
                (whole.replace('"hwprof_bench": "1"', '"library": "x"'), "not of hwprof's bench"),
                (whole.replace('"threads": 1', '"threads": [1]'), "benchmarks[0].threads")]):
            bad = self.path("bad%d.json" % number, text)
            done = self.assert_refused("report", golden("profile"), bad, "-o", self.path("page.html"), names=[bad, name])
            self.assertLessEqual(len(done.stderr), 600)
            self.assertFalse(os.path.exists(self.path("page.html")))


class BadInput(CliTest):
    def refused(self, path, *names, **more):
        done = self.assert_refused("report", path, "-o", self.path("page.html"), names=[path, *names], timeout=30, **more)
        message = done.stderr.split("hwprof: error: ", 1)[1]
        self.assertLessEqual(len(message), 400)
        self.assertNotIn("terminate", message)
        self.assertNotIn("exception", message)

    def test_what_is_no_json(self):
        self.refused(self.path("text", "no JSON at all\n"))
        self.refused(self.path("page", "<!doctype html><html></html>"))
        self.refused(self.path("binary", bytes(range(256)) * 16))

    def test_json_that_is_not_hwprofs(self):
        for number, text in enumerate(["{}", "[]", "3", "null", '"hwprof.run/1"', '{"schema": 1}', '{"schema": null}',
                                       '{"schema": "perf.run/1"}', '{"schema": "hwprof.nothing/1"}', '{"schema": "hwprof.run"}']):
            self.refused(self.path("other%d.json" % number, text))

    def test_a_newer_schema_is_named(self):
        with open(golden("run"), encoding="ascii") as file:
            newer = file.read().replace("hwprof.run/1", "hwprof.run/2", 1)
        self.refused(self.path("newer.json", newer), "hwprof.run/2")

    def test_what_is_cut(self):
        with open(golden("profile"), "rb") as file:
            whole = file.read()
        for size in [1, 20, 1000, len(whole) // 2, len(whole) - 3]:
            self.refused(self.path("cut%d.json" % size, whole[:size]))

    def test_an_empty_file(self):
        self.refused(self.path("empty.json", ""), "empty")

    def test_values_of_another_kind(self):
        for name, change in [("rows", 3), ("rows", [[]]), ("rows", [None]), ("machine", []), ("warnings", "x"), ("threads", "x"),
                             ("threads", 1e300), ("peak", 7)]:
            with open(golden("profile"), encoding="ascii") as file:
                report = json.load(file)
            report[name] = change
            self.refused(self.path("kind.json", json.dumps(report)))

    def test_depth_without_end(self):
        self.refused(self.path("deep.json", '{"schema": "hwprof.run/1", "x": ' + "[" * 200000))

    def test_a_pipe_is_not_waited_for(self):
        os.mkfifo(self.path("pipe"))
        self.refused(self.path("pipe"))
        os.symlink("pipe", self.path("link"))
        self.refused(self.path("link"))

    @unittest.skipUnless(os.access("/dev/shm", os.W_OK), "no /dev/shm")
    def test_a_pipe_in_a_folder_below_dev(self):
        folder = tempfile.mkdtemp(dir="/dev/shm")
        self.addCleanup(shutil.rmtree, folder)
        os.mkfifo(os.path.join(folder, "x.json"))
        self.refused(os.path.join(folder, "x.json"), "is a pipe")

    def test_a_link_leads_to_no_device(self):
        os.symlink("/dev/zero", self.path("link"))
        self.refused(self.path("link"), "is a device")

    def test_a_folder_and_a_device(self):
        os.mkdir(self.path("folder.json"))
        self.refused(self.path("folder.json"))
        self.refused("/dev/zero")

    def test_two_gigabytes(self):
        with open(self.path("large.json"), "wb") as file:
            file.truncate(2 << 30)
        self.refused(self.path("large.json"))

    def test_a_file_that_is_not_there(self):
        self.refused(self.path("missing.json"))

    def test_one_bad_file_of_several_spoils_the_page(self):
        bad = self.path("bad.json", "{")
        self.assert_refused("report", golden("run"), bad, golden("sweep"), "-o", self.path("page.html"), names=bad)

    def test_no_file(self):
        self.assert_refused("report", "-o", self.path("page.html"), names="")


class BadOutput(CliTest):
    def test_an_output_that_cannot_be_written(self):
        self.assert_refused("report", golden("run"), "-o", self.path("missing/page.html"), names="missing", code=3)
        self.assert_refused("report", golden("run"), "-o", self.folder, names="", code=3)

    def test_it_is_known_before_the_work(self):
        marker = self.path("ran")
        # Of run, 3 is the command's own.
        self.assert_refused("run", "--report", self.path("missing/page.html"), "--", "touch", marker, names="missing")
        self.assertFalse(os.path.exists(marker))
        self.assert_refused("profile", "--report", self.path("missing/page.html"), names="missing", code=3, timeout=5)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_a_full_disk_leaves_nothing(self):
        before = sorted(os.listdir(self.folder))
        with open("/dev/full", "w") as full:
            done = subprocess.run([harness.BINARY, "report", golden("run")], stdout=full,
                                          stderr=subprocess.PIPE, text=True, env=harness.environment())
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_two_outputs_of_one_name(self):
        page = self.path("page.html")
        for command in [["profile", *SHORT], ["run", "--no-ladder", "--", "true"], ["doctor"]]:
            at = command.index("--") if "--" in command else len(command)
            self.assert_refused(*command[:at], "-o", page, "--report", page, *command[at:], names="page.html")

    def test_an_old_page_stays_when_the_new_one_cannot_be_made(self):
        old = self.path("page.html", "an old page")
        self.assert_refused("report", self.path("bad.json", "{"), "-o", old, names="bad.json")
        with open(old) as file:
            self.assertEqual(file.read(), "an old page")


if __name__ == "__main__":
    harness.main()
