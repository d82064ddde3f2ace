"""A run with 100,000 calls and 5,000 regions opens and sorts within 2 s, and draws no more than can be seen."""

import os
import random

import harness
import pages
from browser_harness import PageTest, make

CALLS, REGIONS, SITES, STACKS = 100000, 5000, 250, 5000
SPANS = 3000  # as many as a report keeps of a trace: the longest
BAR_MS = 2000
# Since the navigation began until the page stands there, drawn.
OPENED = """
addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => { window.__opened = performance.now(); })));
"""
SORT = """
const [table, done] = arguments;
const begin = performance.now();
table.tHead.rows[0].cells[0].querySelector("button").click();
table.getBoundingClientRect();
requestAnimationFrame(() => setTimeout(() => done(performance.now() - begin)));
"""


def large_report():
    """The golden run, grown: the same words, many more of them."""
    draw = random.Random(0)
    report = pages.golden("run")
    regions, first = report["regions"], report["regions"]["rows"][0]
    regions.update(group_by="path", sort=None, top=None, hidden=0)
    rows = [dict(first, name="epoch", path=["epoch"], total_ns=5e9, self_ns=1e6)]
    while len(rows) < REGIONS:
        parent = rows[0] if len(rows) < 50 or draw.random() < 0.1 else rows[draw.randrange(1, min(len(rows), 400))]
        name = "layer_%d" % len(rows)
        rows.append(dict(first, name=name, path=parent["path"] + [name], depth=len(parent["path"]),
                         total_ns=draw.uniform(1e3, 1e6), self_ns=draw.uniform(1, 1e3), calls=draw.randrange(1, 100)))
    # Depth first, as hwprof writes them.
    rows.sort(key=lambda row: row["path"])
    regions["rows"] = rows
    start, spans = 0, []
    for number in range(SPANS):
        length = draw.uniform(1e5, 1e6)
        spans.append({"name": "layer_%d" % (number % 400), "thread": "worker %d" % (number % 8), "depth": number % 3,
                      "start_ns": round(start), "duration_ns": round(length)})
        start += 40 * length
    regions["trace"].update(calls=CALLS, dropped=0, spans=spans, spans_note="the longest 3,000 of 100,000 calls")
    evidence = report["blas"]["evidence"]
    site = evidence["called"]["calls"][0]
    evidence["called"]["calls"] = [
        dict(site, symbol="sgemm_", caller="/opt/app/lib/module_%d.so" % number, count=CALLS // SITES,
             time_ns=draw.uniform(1e6, 1e9), flops=draw.uniform(1e6, 1e9), calls_of_other_shapes=0,
             shapes=[{"m": 8 * (i + 1), "n": 64, "k": 8 * (number + 1), "form": None,
                      "count": CALLS // SITES // 8} for i in range(8)]) for number in range(SITES)]
    evidence["executed"]["symbols"] = [
        {"name": "kernel_%d" % number, "library": "/opt/app/lib/module_%d.so" % (number % 50), "samples": 2,
         "fraction": 2 / STACKS} for number in range(STACKS // 2)]
    evidence["executed"]["stacks"] = [
        {"frames": ["app", "main"] + ["f%d" % draw.randrange(8 * (depth + 1)) for depth in range(draw.randrange(3, 30))],
         "samples": draw.randrange(1, 5)} for _ in range(STACKS)]
    return report


class Large(PageTest):
    def setUp(self):
        super().setUp()
        if "large" not in make.made:
            make.made["large"] = make.of_json("large", large_report())
        self.page_here = make.made["large"]

    def open_timed(self):
        self.visit(self.page_here, before=OPENED)
        return self.browser.js_async("""const done = arguments[0];
            (function look() { window.__opened ? done(window.__opened) : setTimeout(look, 5); })()""")

    def longest_table(self):
        return self.js("return [...document.querySelectorAll('div.table table')].reduce("
                       "(a, b) => a.rows.length > b.rows.length ? a : b)")

    def test_it_opens_and_sorts_within_two_seconds(self):
        opened, sorted_in = [], []
        for _ in range(5):  # the best of them: others may have the CPUs meanwhile
            opened.append(self.open_timed())
            table = self.longest_table()
            self.assertGreaterEqual(self.js("return arguments[0].rows.length", table), REGIONS)
            sorted_in.append(self.browser.js_async(SORT, table))
            if opened[-1] < BAR_MS and sorted_in[-1] < BAR_MS:
                break
        print("large page: %.1f MB, opens in %.0f ms, sorts %d rows in %.0f ms" % (
            os.path.getsize(self.page_here.html) / 1e6, min(opened), REGIONS, min(sorted_in)))
        self.assertLess(min(opened), BAR_MS)
        self.assertLess(min(sorted_in), BAR_MS)
        self.assertEqual(self.said(), [])

    def test_no_chart_draws_more_than_a_few_thousand_marks(self):
        self.visit(self.page_here)
        for chart in self.charts():
            count = len(self.marks(chart))
            self.assertTrue(0 < count <= 4000, "%s: %d" % (chart, count))
        self.assertLess(self.js("return document.querySelectorAll('*').length"), 150000)

    def test_the_filter_finds_a_row_that_is_not_shown_at_first(self):
        self.visit(self.page_here)
        table = self.longest_table()
        field = self.js("return arguments[0].closest('div.table').parentElement.querySelector('input[type=search]')", table)
        name = "layer_%d" % (REGIONS - 1)
        self.browser.type(field, name)
        self.assertEqual(self.js("return [...arguments[0].querySelectorAll('tbody tr')].filter((r) => r.checkVisibility())"
                                 ".map((r) => r.cells[0].textContent.includes(arguments[1]))", table, name), [True])


class Sizes(PageTest):
    def test_a_page_is_at_most_600_kb_without_its_data(self):
        for name in pages.REAL:
            page = make(name)
            with open(page.html, "rb") as file:
                whole = len(file.read())
            self.visit(page, before=OPENED)
            opened = self.browser.js_async("""const done = arguments[0];
                (function look() { window.__opened ? done(window.__opened) : setTimeout(look, 5); })()""")
            data = self.js("return [...document.querySelectorAll('script[type=\"application/json\"]')].reduce("
                           "(n, s) => n + new Blob([s.textContent]).size, 0)")
            code = self.js("return [...document.querySelectorAll('style, script:not([type])')].reduce("
                           "(n, s) => n + new Blob([s.textContent]).size, 0)")
            print("page %s: %.0f kB, of these %.0f kB JSON, %.0f kB style and script; opens in %.0f ms" % (
                name, whole / 1e3, data / 1e3, code / 1e3, opened))
            with self.subTest(name):
                self.assertLessEqual(code, 600e3)
                self.assertLessEqual(whole - data, 600e3 * max(1, self.js("return document.querySelectorAll('article').length")))


if __name__ == "__main__":
    harness.main()
