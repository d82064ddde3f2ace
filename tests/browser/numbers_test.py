"""The numbers of a page, read back from it: those of the JSON, in tables and in charts, and all of them."""

import collections
import difflib
import math

import harness
import pages
from browser_harness import PageTest, at_key, make, numbers, resolve, shown


def work(row):
    """Of what rates are made: CPU time, of several threads wall time."""
    return (row["cpu_time_ns"] or row["time_ns"] or {}).get("median")


def share(value):
    return None if value is None else 100 * value


# Column of a table whose rows say which object of the JSON they show: that object's number.
COLUMNS = {
    "time (median)": work,
    "wall time": lambda row: (row["time_ns"] or {}).get("median"),
    "GFLOP/s": lambda row: row["gflops"],
    "sgemm GFLOP/s": lambda row: row["sgemm_gflops" if "sgemm_gflops" in row else "gflops"],
    "median GFLOP/s": lambda row: row["gflops"],
    "outlier below": lambda row: row["limit_gflops"],
    "% of FMA peak": lambda row: share(row["peak_fraction"]),
    "% of pass": lambda row: share(row["forward_share"]),
    "roofline time": lambda row: row["roofline_ns"],
    "FLOP/byte": lambda row: row["intensity"],
    "% of time in calls": lambda row: share(row["time_share"]),
    "% of peak": lambda row: share(row["peak_fraction"]),
    "timed calls": lambda row: row["calls"],
    "time/model": lambda row: row["time_to_model"],
    "model time": lambda row: row["model_ns"],
    "% of inference": lambda row: share(row["share"]),
    "time ratio": lambda row: row["ratio"],
    "baseline (median)": lambda row: row["baseline_ns"],
    "other (median)": lambda row: row["ns"],
    "self %": lambda row: share(row["self_share"]),
    "total %": lambda row: share(row["total_share"]),
    "self": lambda row: row["self_ns"],
    "total": lambda row: row["total_ns"],
    "calls": lambda row: row.get("calls", row.get("count")),
    "samples/s": lambda row: row["samples_per_s"],
    "loss": lambda row: row["loss"],
}


def medians(rows, prefix):
    return [("%s/%d" % (prefix, i), row["time_ns"]["median"]) for i, row in enumerate(rows) if row["time_ns"]]


def rated(rows, prefix):
    """On paper with two logarithmic axes, a row without FLOP or without bytes has no place."""
    return [("%s/%d" % (prefix, i), row["gflops"]) for i, row in enumerate(rows)
            if row["gflops"] and row["intensity"]]


def rated_executed(report):
    """What rows executed (--exact) is beside what their models have."""
    key = "layers" if report.get("layers") else "rows"
    return [("/%s/%d/exact" % (key, i), row["exact"]["gflops"]) for i, row in enumerate(report[key])
            if row.get("exact", {}).get("gflops")]


def executed_of(report):
    """Samples of a program that was run, or of the passes of a profile."""
    return report["executed"] if "executed" in report else report["blas"]["evidence"]["executed"]


def rungs(report):
    at, ladder = ("/blas/ladder", report["blas"]["ladder"]) if "blas" in report and report["blas"] \
        else ("/ladder", report.get("ladder", []))
    return [("%s/%d" % (at, i), rung["peak_fraction"]) for i, rung in enumerate(ladder)
            if rung["peak_fraction"] is not None]


# What each chart has to show: (pointer, number) of each of its marks, which may have more of other things.
CHARTS = {
    "roofline": lambda r: rated(*((r["layers"], "/layers") if r.get("layers") else (r["rows"], "/rows")))
                          + rated_executed(r) + rated(r.get("peers", {"points": []})["points"], "/peers/points"),
    "operations": lambda r: [("/rows/%d" % i, work(row)) for i, row in enumerate(r["rows"]) if work(row)],
    "layers": lambda r: medians(r["layers"], "/layers"),
    "layer-types": lambda r: [("/layer_types/%d" % i, t["elapsed_ns"]) for i, t in enumerate(r["layer_types"])],
    "complexity": lambda r: [("/complexity/rows/%d" % i, row[key]) for i, row in enumerate(r["complexity"]["rows"])
                             for key in ("model_share", "roofline_share", "time_share") if row[key] is not None],
    "sweep": lambda r: medians(r["points"], "/points"),
    "scaling": lambda r: [("/scaling/rows/%d/points/%d" % (i, j), point["speedup"])
                          for i, row in enumerate(r["scaling"]["rows"])
                          for j, point in enumerate(row["points"]) if point["speedup"] is not None],
    "training": lambda r: [("/training/runs/%d/epochs/%d" % (i, j), epoch[key])
                           for i, run in enumerate(r["training"]["runs"])
                           for j, epoch in enumerate(run["epochs"]) for key in ("loss", "accuracy")],
    "ladder": rungs,
    "comparison": lambda r: [("/files/%d/rows/%d" % (i, j), row["ratio"]) for i, file in enumerate(r["files"])
                             for j, row in enumerate(file["rows"]) if row["ratio"] is not None],
    "regions": lambda r: [("/regions/rows/%d" % i, row["total_ns"]) for i, row in enumerate(r["regions"]["rows"])
                          if row["total_ns"]],
    "hosts": lambda r: [("/hosts/%d" % i, host["gflops"]) for i, host in enumerate(r["hosts"]) if host["gflops"]],
    "repeats": lambda r: [("/repeats/wall_s/samples/%d" % i, s) for i, s in enumerate(r["repeats"]["wall_s"]["samples"])],
}
# Charts that each page must have.
EXPECTED = {
    "exact": ["roofline", "operations"],
    "peers": ["roofline"],
    "textcnn": ["roofline", "operations", "complexity", "stacks", "ladder", "noise", "regions", "timeline"],
    "threads": ["roofline", "operations", "scaling", "noise"],
    "resnet20": ["roofline", "layers", "layer-types"],
    "mlp": ["roofline", "training"],
    "run": ["stacks", "ladder"],
    "repeats": ["repeats"],
    "regions": ["regions", "timeline"],
    "attach": ["stacks"],
    "sweep": ["sweep"],
    "sweep2": ["sweep"],
    "compare": ["comparison"],
    "blas": ["ladder"],
    "peak": [],
    "doctor": [],
    "check": ["ladder"],
    "fleet": ["hosts"],
}

# Lists of which each record is a row of a table.
RECORDS = {
    "exact": ["/rows"],
    "peers": ["/rows", "/peers/points"],
    "textcnn": ["/rows", "/regions/rows"],
    "threads": ["/rows"],
    "resnet20": ["/layers"],
    "mlp": ["/rows"],
    "run": ["/blas/ladder"],
    "regions": ["/regions/rows"],
    "sweep": ["/points"],
    "sweep2": ["/points"],
    "compare": ["/files/0/rows"],
    "blas": ["/ladder", "/libraries"],
    "check": ["/blas/ladder"],
    "fleet": ["/hosts", "/groups"],
}


class EveryPage:
    name = ""

    def setUp(self):
        super().setUp()
        self.look(make(self.name))
        self.report = self.page.report

    def test_the_json_inside_is_that_of_the_run(self):
        self.assertEqual(self.embedded(), self.report)

    def test_its_tables_show_the_numbers_of_the_json(self):
        checked, wrong = 0, []
        for table in self.tables():
            for cells, pointer in zip(table["rows"], table["of"]):
                if pointer is None:
                    continue
                row = resolve(self.report, pointer)
                for title, cell in zip(table["head"], cells):
                    try:
                        value = COLUMNS[title](row)
                    except (KeyError, TypeError, AttributeError):
                        continue  # a column that no one number stands behind
                    number = shown(cell)
                    checked += 1
                    if value is None or number is None:
                        right = value is None and number is None
                    else:
                        right = abs(number[0] - value) <= 1.01 * number[1]
                    if not right:
                        wrong.append("%s, %s, %s: %s, not %s" % (table["caption"], pointer, title, cell, value))
        self.assertEqual(wrong[:10], [], "%d of %d" % (len(wrong), checked))
        if self.name not in ("doctor", "peak", "repeats"):  # these have words, and times of the whole
            self.assertGreater(checked, 0, [table["head"] for table in self.tables()])

    def test_its_tables_have_every_record(self):
        shown_rows = {pointer for table in self.tables() for pointer in table["of"] if pointer}
        for pointer in RECORDS.get(self.name, []):
            with self.subTest(pointer):
                wanted = {"%s/%d" % (pointer, i) for i in range(len(resolve(self.report, pointer)))}
                self.assertEqual(wanted - shown_rows, set())

    def test_it_has_the_charts_that_its_command_has_numbers_for(self):
        charts = self.charts()
        for chart in EXPECTED[self.name]:
            if chart == "stacks" and not executed_of(self.report)["samples"]:
                continue
            if chart == "ladder" and not rungs(self.report):
                continue
            self.assertIn(chart, charts)
        for chart in charts:
            marks = self.marks(chart)
            self.assertGreater(len(marks), 0, chart + " is empty")
            self.assertLessEqual(len(marks), 4000, chart)

    def test_each_mark_stands_for_a_number_of_the_json(self):
        for chart in self.charts():
            wrong = [mark for mark in self.marks(chart) if not is_true(mark, self.report)]
            self.assertEqual(wrong[:5], [], chart)

    def test_its_charts_show_all_that_they_are_of(self):
        for chart in self.charts():
            if chart not in CHARTS:
                continue
            with self.subTest(chart):
                wanted = collections.Counter(CHARTS[chart](self.report))
                found = collections.Counter((mark["of"], mark["value"]) for mark in self.marks(chart)
                                            if mark["of"] is not None and mark["value"] is not None)
                self.assertEqual(wanted - found, collections.Counter(), "missing, of %s" % found)
                # Of each such thing one mark, and no other of its kind.
                kinds = {pointer.rpartition("/")[0] for pointer, _ in wanted}
                more = [p for p, _ in (found - wanted).elements() if p.rpartition("/")[0] in kinds]
                if chart in ("roofline", "ladder", "comparison", "operations", "layers"):
                    self.assertEqual(more, [])

    def test_marks_are_drawn_where_their_numbers_put_them(self):
        for chart in self.charts():
            marks = [dict(mark, row=resolve(self.report, mark["of"]) if mark["of"] else None)
                     for mark in self.marks(chart)]
            with self.subTest(chart):
                for group, of in by(PLACES[chart], marks) if chart in PLACES else []:
                    self.assert_on_a_line([(number, place) for number, place in of], "%s %s" % (chart, group))

    def assert_on_a_line(self, pairs, message):
        """Whether one scale maps all these numbers to their places, to a pixel: nothing is thinner."""
        pairs = sorted(pairs)
        if len(pairs) < 2 or pairs[0][0] == pairs[-1][0]:
            return
        (low, first), (high, last) = pairs[0], pairs[-1]
        self.assertGreater(abs(last - first), 0.5 if abs(high - low) > 0.05 * abs(high) else 0, message)
        for number, place in pairs:
            self.assertAlmostEqual(place, first + (number - low) / (high - low) * (last - first), delta=1.1, msg=message)


def is_true(mark, report):
    """Whether a mark's number is the one in the JSON that it names."""
    if mark["value"] is None or mark["of"] is None:
        return True
    thing = resolve(report, mark["of"])
    return mark["value"] == at_key(thing, mark["key"]) if mark["key"] else mark["value"] in numbers(thing)


def same_work(row):
    return (row["op"], str(row["shape"]), row["threads"])


def start_and_end(mark):
    """Both on the axis of time: lengths alone would say nothing where all are shorter than a pixel. Regions and calls of
    a BLAS count from the first of their own."""
    start, duration = mark["row"]["start_ns"], mark["row"]["duration_ns"]
    origin = mark["of"].rpartition("/")[0]
    return [(origin, start, mark["x"]), (origin, start + duration, mark["x"] + mark["width"])]


# Of each scale of a chart: (group, number, place) of a mark; marks of one group share a scale.
PLACES = {
    "roofline": lambda m: [("time", math.log(m["value"]), m["y"]), ("intensity", math.log(m["row"]["intensity"]), m["x"])],
    "operations": lambda m: [(same_work(m["row"]), m["value"], m["width"]), (same_work(m["row"]), 0, 0)],
    "layers": lambda m: [("", m["value"], m["width"]), ("", 0, 0)],
    "layer-types": lambda m: [("", m["value"], m["width"]), ("", 0, 0)],
    "complexity": lambda m: [("", m["value"], m["width"]), ("", 0, 0)],
    "ladder": lambda m: [("", m["value"], m["width"]), ("", 0, 0)],
    "sweep": lambda m: [("time", math.log(m["value"]), m["y"])] if m["key"] == "time_ns.median" else [],
    "scaling": lambda m: [("", m["value"], m["y"])],
    "training": lambda m: [(m["key"], m["value"], m["y"])] if m["key"] in ("loss", "accuracy") else [],
    "repeats": lambda m: [("", m["value"], m["y"])],
    "noise": lambda m: [("", m["value"], m["y"])] if "/time_ns/slices/" in (m["of"] or "") else [],
    "stacks": lambda m: [("", m["value"], m["width"]), ("", 0, 0)],
    "calls": lambda m: start_and_end(m),
    "timeline": lambda m: start_and_end(m),
}


def by(places, marks):
    """The pairs (number, place) of each scale, by its group."""
    groups = {}
    for mark in marks:
        for group, number, place in places(mark) if mark["value"] is not None else []:
            if place is not None:
                groups.setdefault(group, []).append((number, place))
    return groups.items()


class SeveralReports(PageTest):
    def test_each_has_its_article_its_json_and_its_charts(self):
        names = ["textcnn", "run", "sweep", "doctor"]
        self.visit(make("several"))
        for number, name in enumerate(names, 1):
            self.assertEqual(self.embedded(number), make(name).report)
            schema = self.js("return document.getElementById('r%d').dataset.schema" % number)
            self.assertEqual(schema, make(name).report["schema"])
        tables = [(table["caption"], table["rows"]) for table in self.tables()]
        charts = [self.charts(number) for number in range(1, 5)]
        apart, apart_charts = [], []
        for name in names:
            self.visit(make(name))
            apart += [(table["caption"], table["rows"]) for table in self.tables()]
            apart_charts.append(self.charts())
        self.assertEqual(tables, apart)
        self.assertEqual(charts, apart_charts)


class LittleInThem(PageTest):
    """Reports of what could not be measured have pages too."""

    def test_reports_without_rows(self):
        bare = [{"schema": "hwprof.%s/1" % name} for name in ("profile", "run", "sweep", "compare", "blas", "doctor",
                                                             "check", "fleet")]
        empty = [pages.golden("profile_empty"), pages.golden("sweep_empty")]
        for number, report in enumerate(bare + empty):
            with self.subTest(report["schema"], number=number):
                self.visit(make.of_json("little%d" % number, report))
                self.assertEqual(self.said(), [])
                self.assertTrue(self.js("return document.querySelector('main').innerText.trim() !== ''"))
                self.assertEqual(self.js("return [...document.querySelectorAll('figure.chart')].filter("
                                         "(f) => !f.querySelector('.mark')).map((f) => f.dataset.chart)"), [])


class SavedReports(PageTest):
    """The page that hwprof report makes of saved JSON, later and elsewhere."""

    def test_it_is_the_one_of_the_run(self):
        for name in EXPECTED:
            made = make(name)
            again = make.of_reports("again-" + name, made.report_path)
            words = []
            for page in [made, again]:
                with open(page.html, encoding="utf-8") as file:
                    html = file.read()
                words.append(html[html.index("<body>"):html.index("<script")].splitlines())
            with self.subTest(name):
                differs = difflib.unified_diff(*words, "by the run", "by the report", "", "", 0, "")
                self.assertEqual([line[:200] for line in differs][:8], [])

    def test_the_golden_reports_have_their_numbers_too(self):
        for name in ["profile", "profile_layers", "profile_training", "profile_regions_scaling", "run",
                     "run_attached", "sweep", "compare", "blas", "doctor", "check", "check_bad", "check_missing",
                     "fleet"]:
            with self.subTest(name):
                self.visit(make.of_reports("golden-" + name, pages.GOLDEN / (name + ".json")))
                self.assertEqual(self.said(), [])
                self.assertEqual(self.embedded(), pages.golden(name))
                report = pages.golden(name)
                for chart in self.charts():
                    wrong = [mark for mark in self.marks(chart) if not is_true(mark, report)]
                    self.assertEqual(wrong[:5], [], chart)


for _name in EXPECTED:
    _case = "Numbers_" + _name
    globals()[_case] = type(_case, (EveryPage, PageTest), {"name": _name, "__module__": __name__})


if __name__ == "__main__":
    harness.main()
