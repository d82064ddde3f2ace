"""The grid of a fleet: a cell a host, which has its word by sign and colour, and opens the host's record."""

import collections
import re

import harness
import webdriver
from browser_harness import PageTest, make
from page_test import CONTRAST
from pages import fleet

CELLS = """
return [...document.querySelectorAll("figure[data-chart=hosts] .mark")].map((m) => ({
  of: m.dataset.of, says: m.ariaLabel, sign: m.querySelector(".sign-of").textContent,
  slow: m.querySelector(".slow") !== null, kind: m.parentElement.previousElementSibling.textContent,
  colour: getComputedStyle(m).backgroundColor, named: m.querySelector(".name").checkVisibility()}))
"""
# The record that is open: its words, and the rows of its list.
RECORD = """
const d = document.querySelector("dialog[open]");
return d && {label: d.ariaLabel, title: d.querySelector("h3").textContent, word: d.querySelector(".word").textContent,
  command: d.querySelector("pre.command")?.textContent ?? null, copy: d.querySelector(".copies button") !== null,
  rows: [...d.querySelectorAll("dl > div")].map((r) => [r.children[0].textContent, r.children[1].textContent])}
"""
FOCUS = "return [document.activeElement.dataset.of ?? null, document.activeElement.tagName]"


class Hosts(PageTest):
    def open(self, count, **how):
        name = "fleet" if count == 13 else "fleet-%d" % count
        if name not in make.made:
            make.made[name] = fleet(make, name, count)
        self.visit(make(name), **how)
        return self.page.report

    def cell(self, index):
        return self.browser.find('figure[data-chart=hosts] [data-of="/hosts/%d"]' % index)

    def of_state(self, report, state):
        return next(i for i, host in enumerate(report["hosts"]) if host["state"] == state)

    def test_each_host_is_one_cell_with_its_word(self):
        for count in [4, 13, 400, 1000]:
            with self.subTest(count):
                report = self.open(count)
                cells = self.js(CELLS)
                self.assertEqual(sorted(int(cell["of"].rpartition("/")[2]) for cell in cells), list(range(count)))
                looks = collections.defaultdict(set)
                for cell in cells:
                    host = report["hosts"][int(cell["of"].rpartition("/")[2])]
                    self.assertTrue(cell["says"].startswith(
                        "%s, %s" % (host["host"], host["state"].replace("_", " "))), cell["says"])
                    self.assertEqual(cell["slow"], host["times_slower"] is not None)
                    self.assertEqual("slower" in cell["says"], cell["slow"])
                    looks[host["state"]].add((cell["sign"], cell["colour"]))
                # One look a word, and neither the sign nor the colour of another.
                self.assertEqual({len(look) for look in looks.values()}, {1})
                for part in range(2):
                    self.assertEqual(len({look[part] for looks_of in looks.values() for look in looks_of}), len(looks))
                self.assertEqual(self.said(), [])

    def test_the_legend_counts_them(self):
        report = self.open(400)
        words = self.js("return [...document.querySelectorAll('figure[data-chart=hosts] .words li')]"
                        ".map((li) => li.lastChild.textContent)")
        wanted = ["%d %s" % (count, word.replace("_", " ")) for word, count in report["counts"].items()]
        slow = sum(host["times_slower"] is not None for host in report["hosts"])
        self.assertEqual(words, [*wanted, "%d slower than their kind" % slow])
        self.assertTrue(all(report["counts"].values()) and slow, report["counts"])

    def test_hosts_stand_in_the_order_of_the_list_among_their_kind(self):
        report = self.open(400)
        kinds = {}
        for cell in self.js(CELLS):
            kinds.setdefault(cell["kind"], []).append(int(cell["of"].rpartition("/")[2]))
        self.assertEqual(len(kinds), len(report["groups"]) + 1)
        for group, (title, indices) in zip(report["groups"], kinds.items()):
            self.assertIn("%s, %s" % (group["cpu"], group["library"].replace("none", "no BLAS")), title)
            self.assertIn("(%d host" % group["hosts"], title)
            wanted = [i for i, host in enumerate(report["hosts"]) if (host["cpu"], host["library"]) ==
                      (group["cpu"], group["library"])]
            self.assertEqual(indices, wanted, title)
        title, indices = list(kinds.items())[-1]
        self.assertIn("No record", title)
        self.assertEqual(indices, sorted(indices))

    def test_a_click_opens_the_record_of_that_host(self):
        report = self.open(13)
        for state in report["counts"]:
            index = self.of_state(report, state)
            host = report["hosts"][index]
            with self.subTest(state):
                self.browser.click(self.cell(index))
                record = self.js(RECORD)
                self.assertEqual(record["title"], host["host"])
                self.assertEqual(record["label"], "%s: %s" % (host["host"], state.replace("_", " ")))
                self.assertIn(state.replace("_", " "), record["word"])
                self.assertIn(host["reason"] or "", record["word"])
                self.assertEqual(record["command"], host["fix"])
                # What is pasted is one line, and all of it was seen.
                self.assertEqual(record["copy"], bool(host["fix"]) and "\n" not in host["fix"])
                rows = dict(record["rows"])
                if host["gflops"] is not None:
                    shown = float(re.match(r"([\d.]+) GFLOP/s", rows["sgemm"]).group(1))
                    self.assertAlmostEqual(shown, host["gflops"], delta=0.006 * host["gflops"])
                    self.assertRegex(rows["Of the peak"], r"^[\d.]+ % of the FMA peak$")
                elif host["verdict"]:
                    self.assertEqual(rows["sgemm"], "- (%s)" % host["gflops_reason"])
                else:
                    self.assertIn("no record of this run", rows["Numbers, CPU, library"])
                for key, label in [("cpu", "CPU"), ("kernel", "Kernel"), ("file", "Record"), ("bits", "Bits of results")]:
                    if host[key]:
                        self.assertEqual(rows[label], host[key])
                # What is absent says why.
                for label, text in record["rows"]:
                    self.assertTrue(text and (not text.startswith("-") or re.match(r"^- \(.+\)$", text)), (label, text))
                for note in host["notes"]:
                    self.assertIn(["Note", note], record["rows"])
                self.browser.keys(webdriver.ESCAPE)
                self.assertIsNone(self.js(RECORD))
        self.assertEqual(self.said(), [])

    def test_the_record_of_an_outlier_says_what_it_is_held_against(self):
        report = self.open(13)
        index = next(i for i, h in enumerate(report["hosts"]) if h["times_slower"] and h["state"] == "pass")
        self.browser.click(self.cell(index))
        kind = dict(self.js(RECORD)["rows"])["Its kind"]
        factor, median = map(float, re.match(r"▼ ([\d.]+) times slower than the median ([\d.]+) GFLOP/s", kind).groups())
        self.assertAlmostEqual(factor, report["hosts"][index]["times_slower"], delta=0.01)
        self.assertAlmostEqual(median, report["groups"][0]["gflops"], delta=0.6)

    def test_by_keyboard_alone(self):
        report = self.open(13)
        stops = self.js("return [...document.querySelectorAll('.hosts [tabindex=\"0\"]')].map((e) => e.dataset.of)")
        self.assertEqual(len(stops), 1, "one tab stop")
        for _ in range(40):
            self.browser.keys(webdriver.TAB)
            if self.js(FOCUS)[0] == stops[0]:
                break
        order = [cell["of"] for cell in self.js(CELLS)]
        self.assertEqual(self.js(FOCUS)[0], order[0], "Tab never reached it")
        for of in order[1:]:
            self.browser.keys(webdriver.RIGHT)
            self.assertEqual(self.js(FOCUS)[0], of)
        self.browser.keys(webdriver.RIGHT)
        self.assertEqual(self.js(FOCUS)[0], order[-1])
        self.browser.keys(webdriver.LEFT)
        self.assertEqual(self.js(FOCUS)[0], order[-2])
        self.browser.keys(webdriver.HOME)
        self.assertEqual(self.js(FOCUS)[0], order[0])
        self.assertIsNotNone(self.js("const t = document.querySelector('figure[data-chart=hosts] .tooltip');"
                                     "return t.checkVisibility() ? t.textContent : null"))
        self.browser.keys(webdriver.RIGHT)
        self.browser.keys(webdriver.ENTER)
        host = report["hosts"][int(order[1].rpartition("/")[2])]
        self.assertEqual(self.js(RECORD)["title"], host["host"])
        self.assertTrue(self.js("return document.querySelector('dialog').contains(document.activeElement)"))
        self.browser.keys(webdriver.ESCAPE)
        self.assertEqual((self.js(RECORD), self.js(FOCUS)[0]), (None, order[1]))
        self.browser.keys(" ")
        self.assertEqual(self.js(RECORD)["title"], host["host"])
        self.assertEqual(self.said(), [])

    def test_up_and_down_lead_to_the_row_above_and_below(self):
        self.open(400)
        place = "const r = document.activeElement.getBoundingClientRect(); return [r.left, r.top + scrollY]"
        self.js("document.querySelector('.hosts .mark').focus()")
        self.browser.keys(webdriver.RIGHT * 3)
        left, top = self.js(place)
        self.browser.keys(webdriver.DOWN)
        below = self.js(place)
        self.assertAlmostEqual(below[0], left, delta=1)
        self.assertGreater(below[1], top + 20)
        self.browser.keys(webdriver.UP)
        self.assertEqual(self.js(place), [left, top])
        for _ in range(80):
            self.browser.keys(webdriver.DOWN)
        last = self.js(CELLS)[-1]
        self.assertIn("No record", last["kind"])
        self.assertEqual(self.js("return document.activeElement.parentElement.previousElementSibling.textContent"),
                         last["kind"])

    def test_the_table_has_the_host_that_the_record_is_of(self):
        report = self.open(13)
        index = self.of_state(report, "fail")
        self.browser.click(self.cell(index))
        self.browser.click(self.js("return [...document.querySelectorAll('dialog button')]"
                                   ".find((b) => b.textContent === 'Find in the table')"))
        self.assertIsNone(self.js(RECORD))
        selected = self.js("return [...document.querySelectorAll('tr[aria-selected=true]')].map((r) => r.dataset.of)")
        self.assertEqual(set(selected), {"/hosts/%d" % index})

    def test_cells_can_be_hit_at_any_number_and_width(self):
        for count in [4, 13, 400, 1000]:
            for width in [390, 1440]:
                with self.subTest(count=count, width=width):
                    self.open(count, width=width)
                    small = self.js("""const f = document.querySelector("figure[data-chart=hosts]").getBoundingClientRect();
                        return [...document.querySelectorAll(".hosts .mark")].filter((m) => { const r =
                          m.getBoundingClientRect(); return r.width < 24 || r.height < 24 || r.left < f.left - 1 ||
                          r.right > f.right + 1; }).length""")
                    self.assertEqual(small, 0)
                    self.assertEqual(self.js("return document.scrollingElement.scrollWidth"), width)
                    self.assertEqual({cell["named"] for cell in self.js(CELLS)}, {count <= 200})
                    height = self.js("return document.querySelector('.hosts').getBoundingClientRect().height")
                    self.assertLess(height, 1500 if width == 1440 else 5000)

    def test_of_very_many_those_that_pass_are_left_out_and_said_to_be(self):
        report = self.open(4200)
        cells = self.js(CELLS)
        self.assertEqual(len(cells), sum(h["state"] != "pass" or h["times_slower"] is not None for h in report["hosts"]))
        self.assertIn("%d of 4200 hosts are drawn" % len(cells), self.js(
            "return document.querySelector('figure[data-chart=hosts] .chart-note').textContent"))

    def test_the_open_record_is_readable_in_both_schemes_and_on_a_phone(self):
        for width, scheme in [(390, "dark"), (1440, "light"), (1440, "dark")]:
            with self.subTest(width=width, scheme=scheme):
                report = self.open(13, width=width, scheme=scheme)
                self.browser.click(self.cell(self.of_state(report, "fail")))
                self.assertEqual(self.js(CONTRAST), [])
                self.assertEqual(self.violations(), [])
                box = self.js("const r = document.querySelector('dialog').getBoundingClientRect();"
                              "return [r.left, r.top, innerWidth - r.right, innerHeight - r.bottom]")
                self.assertTrue(min(box) >= 0, box)

    def test_paper_has_the_signs_and_no_open_record(self):
        report = self.open(400)
        self.browser.click(self.cell(self.of_state(report, "fail")))
        self.browser.media("print")
        self.assertFalse(self.js("return document.querySelector('dialog').checkVisibility()"))
        self.assertEqual(self.js("return [...document.querySelectorAll('.hosts .sign-of')]"
                                 ".filter((s) => !s.checkVisibility()).length"), 0)


if __name__ == "__main__":
    harness.main()
