"""The roofline's points by what rows executed (--exact): where their counts put them, and none without a count."""

import math

import harness
import pages
import webdriver
from browser_harness import PageTest, make

LOADED, STORED = 3000000, 1000000
# Of each row of the golden profile: executed FLOP by those of its model; None: it was not counted.
OVER_MODEL = [1, 1.25, None, 2, 0, 0, 1.5, 1]
WHY = "a thread was started"


def counted(row, flops):
    time = row["cpu_time_ns"] or row["time_ns"]
    low, high = time["ci95"]
    return {"intensity": flops / (LOADED + STORED) if flops else None, "gflops": flops / time["median"] if flops else None,
            "gflops_ci95": [flops / high, flops / low] if flops and low else None,
            "gflops_reason": None if flops else "it executed no FLOP",
            "instructions": 5000, "flops": flops, "flops_by_precision": {"single": flops},
            "flops_by_width": {"256": flops}, "operations": {"fma": flops // 2}, "bytes_loaded": LOADED,
            "bytes_stored": STORED, "masked_lanes_off": 0, "system_calls": 0, "by_function": [], "excess": [],
            "to_model": None, "reason": None}


def profile(exact=True):
    """The golden profile; each row with a count, or with the reason why it has none."""
    report = pages.golden("profile")
    for row, over in zip(report["rows"], OVER_MODEL):
        if exact:
            row["exact"] = {"to_model": None, "excess": [], "reason": WHY, "intensity": None, "gflops": None,
                            "gflops_ci95": None, "gflops_reason": WHY} if over is None else \
                counted(row, round(over * row["model"]["flops"]))
    return report


def place(row):
    """(intensity, rate) of what a row executed, from its count and its time alone."""
    flops = row["exact"]["flops"]
    return flops / (LOADED + STORED), flops / (row["cpu_time_ns"] or row["time_ns"])["median"]


class Executed(PageTest):
    def show(self, name="executed", exact=True, **how):
        self.wanted = profile(exact)
        self.visit(make.of_json(name, self.wanted), **how)
        self.assertEqual(self.said(), [])
        return {mark["of"]: mark for mark in self.marks("roofline")}

    def in_chart(self, script, *arguments):
        return self.js("const chart = document.querySelector('figure[data-chart=roofline]'); " + script, *arguments)

    def test_points_are_where_counts_and_times_put_them(self):
        for width in [1440, 390]:
            marks = self.show(width=width)
            wanted = {"/rows/%d/exact" % i: place(row) for i, row in enumerate(self.wanted["rows"])
                      if row.get("exact", {}).get("flops")}
            self.assertEqual(len(wanted), 5)
            self.assertEqual({of for of in marks if of.endswith("/exact")}, set(wanted))
            # The axes, by the points of the model.
            rows = [(marks["/rows/%d" % i], row) for i, row in enumerate(self.wanted["rows"])
                    if "/rows/%d" % i in marks]
            across = scale([(row["intensity"], mark["x"]) for mark, row in rows])
            up = scale([(row["gflops"], mark["y"]) for mark, row in rows])
            for of, (intensity, gflops) in wanted.items():
                self.assertAlmostEqual(marks[of]["value"], gflops, delta=1e-9 * gflops, msg=of)
                self.assertAlmostEqual(marks[of]["x"], across(intensity), delta=0.5, msg=of)
                self.assertAlmostEqual(marks[of]["y"], up(gflops), delta=0.5, msg=of)
            ends = self.in_chart("return [...chart.querySelectorAll('.executed')].map((m) => [m.dataset.of, "
                                 "m.querySelector('.link').getAttribute('d')])")
            for of, path in ends:
                mark = marks[of.rpartition("/")[0]]
                begin = [float(number) for number in path[1:].partition("L")[0].split(",")]
                self.assertAlmostEqual(begin[0], mark["x"], delta=0.01)
                self.assertAlmostEqual(begin[1], mark["y"], delta=0.01)

    def test_a_row_without_a_count_has_no_point_and_the_reason(self):
        marks = self.show()
        self.assertIn("/rows/2", marks)
        self.assertNotIn("/rows/2/exact", marks)
        note = self.in_chart("return chart.querySelector('.chart-note').textContent")
        self.assertIn("conv1d blas-im2col as executed (%s)" % WHY, note)
        self.assertNotIn("maxpool simd as executed", note)  # it has no point of either kind, for one reason
        self.assertIn("maxpool simd", note)

    def test_a_profile_without_exact_counts_has_no_such_points(self):
        marks = self.show("not-executed", exact=False)
        self.assertTrue(marks)
        self.assertEqual([of for of in marks if "exact" in of], [])
        self.assertEqual(self.in_chart("return chart.querySelectorAll('.executed, .executed-entry, .link').length"), 0)
        self.assertNotIn("executed", self.in_chart("return chart.textContent"))

    def test_the_entry_hides_them_and_brings_them_back(self):
        marks = self.show()
        box = self.browser.find('figure[data-chart="roofline"] .executed-entry input')
        self.browser.click(box)
        without = {mark["of"] for mark in self.marks("roofline")}
        self.assertEqual(without, {of for of in marks if not of.endswith("/exact")})
        self.assertEqual(self.in_chart("return chart.querySelectorAll('.link').length"), 0)
        self.browser.size(1000)  # drawn anew, it stays so
        self.browser.js_async("setTimeout(arguments[0], 300)")
        self.assertEqual({mark["of"] for mark in self.marks("roofline")}, without)
        self.browser.size(1440)
        self.browser.js_async("setTimeout(arguments[0], 300)")
        self.browser.click(box)
        again = {mark["of"]: mark for mark in self.marks("roofline")}
        self.assertEqual({of: (m["x"], m["y"]) for of, m in again.items()},
                         {of: (m["x"], m["y"]) for of, m in marks.items()})
        self.assertEqual(len(self.in_chart("return [...chart.querySelectorAll('.mark[tabindex=\"0\"]')]")), 1)

    def test_a_point_says_how_it_was_obtained_and_finds_its_count(self):
        self.show()
        self.in_chart("chart.querySelector('[data-of=\"/rows/1/exact\"]').focus()")
        text = self.in_chart("return chart.querySelector('.tooltip').innerText")
        for words in ["conv1d simd, executed", "3.00 MB loaded and 1.00 MB stored by instructions", "most from L1",
                      "apart from the count"]:
            self.assertIn(words, text)
        self.browser.keys(webdriver.ENTER)
        found = self.js("return [...document.querySelectorAll('tr[aria-selected=true]')].map((r) => "
                        "[r.dataset.of, Object.fromEntries([...r.closest('table').tHead.rows[0].cells]"
                        ".map((c, i) => [c.textContent.trim(), r.cells[i].textContent]))])")
        self.assertEqual([of for of, _ in found], ["/rows/1/exact"])
        intensity, gflops = place(self.wanted["rows"][1])
        self.assertAlmostEqual(float(found[0][1]["FLOP/byte"]), intensity, delta=0.006 * intensity)
        self.assertAlmostEqual(float(found[0][1]["GFLOP/s"]), gflops, delta=0.006 * gflops)


def scale(pairs):
    """The logarithmic scale that maps the numbers of these pairs to their places."""
    (low, first), (high, last) = min(pairs), max(pairs)
    return lambda number: first + math.log(number / low) / math.log(high / low) * (last - first)


if __name__ == "__main__":
    harness.main()
