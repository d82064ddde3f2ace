"""Charts answer: what is pointed at says its numbers, what is clicked finds its row, flame graphs zoom."""

import re

import harness
import pages
import webdriver
from browser_harness import PageTest, make

BUSY_STACKS = [(["prog", "main", "work", "cblas_dgemm (libopenblas.so.0)", "dgemm_kernel (libopenblas.so.0)"], 60),
               (["prog", "main", "work", "rest"], 25), (["prog", "main", "setup"], 10), (["prog", "start"], 5)]


def stacks_page():
    report = dict(make("run").report)
    report["blas"] = dict(report["blas"])
    report["blas"]["evidence"] = dict(report["blas"]["evidence"])
    report["blas"]["evidence"]["executed"] = dict(
        report["blas"]["evidence"]["executed"], samples=100,
        stacks=[{"frames": frames, "samples": samples} for frames, samples in BUSY_STACKS])
    return make.made.setdefault("stacks", make.of_json("stacks", report))


class Charts(PageTest):
    def figure(self, chart):
        return self.browser.find('figure[data-chart="%s"]' % chart)

    def mark(self, chart, pointer=None, number=0):
        return self.js("""return [...arguments[0].querySelectorAll(".mark")]
            .filter((m) => arguments[1] === null || m.dataset.of === arguments[1])[arguments[2]]""",
                       self.figure(chart), pointer, number)

    def tip(self, chart):
        return self.js("""const t = arguments[0].querySelector(".tooltip");
                          return t && t.checkVisibility() ? t.innerText : null""", self.figure(chart))

    def selected(self):
        return self.js("return [...document.querySelectorAll('tr[aria-selected=true]')].map((r) => r.dataset.of)")

    def a_rated_row(self):
        return next((i, row) for i, row in enumerate(self.page.report["rows"]) if row["gflops"] and row["intensity"])

    def test_a_point_of_the_roofline_says_its_numbers_and_finds_its_row(self):
        self.visit(make("textcnn"))
        index, row = self.a_rated_row()
        point = self.mark("roofline", "/rows/%d" % index)
        self.js("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", point)
        self.browser.hover(point)
        text = self.tip("roofline")
        self.assertIsNotNone(text)
        self.assertIn(row["variant"], text)
        gflops = float(re.search(r"([\d.]+) ?GFLOP/s", text).group(1))
        self.assertAlmostEqual(gflops, row["gflops"], delta=0.006 * row["gflops"])
        self.browser.click(point)
        self.assertEqual(set(self.selected()), {"/rows/%d" % index})
        where = self.js("""const r = document.querySelector("tr[aria-selected=true]").getBoundingClientRect();
            return r.top >= 0 && r.bottom <= innerHeight""")
        for _ in range(20):  # smooth scrolling
            if where:
                break
            self.browser.js_async("setTimeout(arguments[0], 100)")
            where = self.js("""const r = document.querySelector("tr[aria-selected=true]").getBoundingClientRect();
                return r.top >= 0 && r.bottom <= innerHeight""")
        self.assertTrue(where, "its row is not in sight")

    def test_a_peer_on_the_roofline_says_its_numbers_and_finds_its_row(self):
        for width in [390, 1440]:
            self.visit(make("peers"), width=width)
            peers = self.page.report["peers"]["points"]
            self.assertGreater(len(peers), 1)
            peer = peers[-1]
            point = self.mark("roofline", "/peers/points/%d" % (len(peers) - 1))
            self.js("arguments[0].focus()", point)
            text = self.tip("roofline")
            self.assertIn(peer["name"], text)
            self.assertIn(peer["op"], text)
            gflops, low, high = map(float, re.search(r"([\d.]+) ?GFLOP/s \[([\d.]+), ([\d.]+)\]", text).groups())
            for said, value in zip([gflops, low, high], [peer["gflops"], *peer["gflops_ci95"]]):
                self.assertAlmostEqual(said, value, delta=0.006 * value)
            self.browser.keys(webdriver.ENTER)
            self.assertEqual(self.selected(), ["/peers/points/%d" % (len(peers) - 1)])
            # A mark of its own, which the legend names.
            shape = "return arguments[0].querySelector('.symbol').getAttribute('d')"
            own = {self.js(shape, self.mark("roofline", mark["of"])) for mark in self.marks("roofline")
                   if not mark["of"].startswith("/peers/")}
            self.assertNotIn(self.js(shape, point), own)
            legend = self.js("return [...arguments[0].querySelectorAll('.peer-legend')].map((l) => [l.textContent, "
                             "l.querySelector('.symbol').getAttribute('d')])", self.figure("roofline"))
            self.assertEqual(legend, [["peer (scripts/bench)", self.js(shape, point)]])

    def test_a_profile_without_peers_has_no_legend_of_them(self):
        self.visit(make("textcnn"))
        self.assertEqual(self.js("return document.querySelectorAll('.peer-legend, .peer').length"), 0)

    def test_calls_of_a_blas_stand_in_the_lanes_of_regions(self):
        def span(name, thread, depth, start, length):
            return {"name": name, "thread": thread, "depth": depth, "start_ns": start, "duration_ns": length}
        report = pages.golden("run")
        report["regions"]["trace"].update(spans_begin_ns=5000, spans=[
            span("forward", "main 7", 0, 0, 1000), span("conv1d", "main 7", 1, 100, 400)])
        called = report["blas"]["evidence"]["called"]
        called["spans"] = [span("sgemm_ 4 x 4 x 4", "7", 0, 0, 200), span("sgemv_", "7", 0, 550, 100),
                           span("ddot_", "9", 0, 600, 100), span("saxpy_", "7", 0, 1000, 100)]
        called["spans"][0].update(process=7, region="forward/conv1d", stack=["step (net.py:3)", "main (net.py:9)"],
                                  line={"file": "/home/me/net.py", "line": 3, "function": "step"})
        pointer = "/blas/evidence/called/spans/%d"
        for begin in [5150, None]:
            called["spans_begin_ns"] = begin
            self.visit(make.of_json("calls", report))
            self.assertEqual(self.said(), [])
            if begin is None:  # nobody knows how they lie to each other
                self.assertEqual({mark["of"] for mark in self.marks("calls")}, {pointer % i for i in range(4)})
                self.assertEqual(len(self.marks("timeline")), 2)
                continue
            self.assertNotIn("calls", self.charts())
            marks = {mark["of"]: mark for mark in self.marks("timeline")}
            self.assertEqual(len(marks), 6)
            place = """const m = arguments[0]; return [m.parentElement.ariaLabel, parseFloat(m.style.top) / 20]"""
            found = [self.js(place, self.mark("timeline", pointer % i)) for i in range(4)]
            self.assertEqual(found, [["main 7", 2], ["main 7", 1], ["9", 0], ["main 7", 0]])
            labels = [self.js("return arguments[0].ariaLabel", self.mark("timeline", pointer % i)) for i in range(2)]
            self.assertIn("in forward/conv1d, line /home/me/net.py:3, called from step (net.py:3), in main (net.py:9)",
                          labels[0])
            self.assertNotIn("line ", labels[1])
            for i, start in enumerate([150, 700, 750, 1150]):
                self.assertAlmostEqual(marks[pointer % i]["x"], 100 * start / 1250, delta=0.1)

    def test_arrow_keys_move_through_a_chart_and_enter_does_what_a_click_does(self):
        self.visit(make("textcnn"))
        figure = self.figure("roofline")
        stop = self.js("return [...arguments[0].querySelectorAll('.mark[tabindex=\"0\"]')]", figure)
        self.assertEqual(len(stop), 1, "one tab stop a chart")
        self.browser.type(stop[0], webdriver.HOME)
        seen = []
        for _ in self.marks("roofline"):
            seen.append(self.js("return [document.activeElement.dataset.of, document.activeElement.ariaLabel]"))
            self.assertIsNotNone(self.tip("roofline"))
            self.browser.keys(webdriver.RIGHT)
        self.assertEqual(len({label for _, label in seen}), len(seen), "each mark has words of its own")
        index, _ = self.a_rated_row()
        self.browser.keys(webdriver.HOME)
        while self.js("return document.activeElement.dataset.of") != "/rows/%d" % index:
            self.browser.keys(webdriver.RIGHT)
        self.browser.keys(webdriver.ENTER)
        self.assertEqual(set(self.selected()), {"/rows/%d" % index})
        self.browser.keys(webdriver.ESCAPE)
        self.assertIsNone(self.tip("roofline"))

    def names(self):
        return self.js("return [...arguments[0].querySelectorAll('.mark')].map((m) => m.ariaLabel.split(',')[0])",
                       self.figure("stacks"))

    def frame(self, name):
        return self.js("""return [...arguments[0].querySelectorAll(".mark")]
            .find((m) => m.ariaLabel.startsWith(arguments[1]))""", self.figure("stacks"), name)

    def width(self, name):
        return self.js("""const f = arguments[0].querySelector(".boxes").getBoundingClientRect().width;
            return arguments[1].getBoundingClientRect().width / f""", self.figure("stacks"), self.frame(name))

    def test_the_flame_graph_has_every_sample_and_zooms_there_and_back(self):
        self.visit(stacks_page())
        before = self.names()
        values = self.js("return Object.fromEntries([...arguments[0].querySelectorAll('.mark')].map("
                         "(m) => [m.ariaLabel.split(/[ ,]/)[0], +m.dataset.value]))", self.figure("stacks"))
        self.assertEqual((values["all"], values["main"], values["work"], values["cblas_dgemm"], values["setup"]),
                         (100, 95, 85, 60, 10))
        self.assertAlmostEqual(self.width("work"), 0.85, delta=0.01)
        self.browser.click(self.frame("work"))
        self.assertAlmostEqual(self.width("work"), 1, delta=0.01)
        self.assertIsNone(self.frame("setup"))
        self.assertAlmostEqual(self.width("rest"), 25 / 85, delta=0.01)
        back = self.js("return [...arguments[0].querySelectorAll('button')].find((b) => /reset/i.test(b.textContent)"
                       " && b.checkVisibility())", self.figure("stacks"))
        self.browser.click(back)
        self.assertEqual(self.names(), before)
        self.assertAlmostEqual(self.width("work"), 0.85, delta=0.01)
        self.assertEqual(self.said(), [])

    def test_the_flame_graph_of_a_profile_has_every_sample_of_its_record(self):
        page = make("textcnn")
        self.visit(page)
        samples = sum(stack["samples"] for stack in page.report["executed"]["stacks"])
        whole = self.js("return [...arguments[0].querySelectorAll('.mark')].map((m) => m.ariaLabel)"
                        ".find((label) => label.startsWith('all'))", self.figure("stacks"))
        self.assertIn("{:,} samples".format(samples), whole)

    def test_the_flame_graph_zooms_by_keyboard_and_searches(self):
        self.visit(stacks_page())
        before = self.names()
        stop = self.js("return arguments[0].querySelector('.mark[tabindex=\"0\"]')", self.figure("stacks"))
        self.browser.type(stop, webdriver.HOME)
        for _ in range(10):
            if self.js("return document.activeElement.ariaLabel").startswith("work"):
                break
            inward = self.js("""const [f, s] = ["all", "prog"].map((n) => [...arguments[0].querySelectorAll(".mark")]
                .find((m) => m.ariaLabel.startsWith(n)).getBoundingClientRect().top); return s < f""",
                             self.figure("stacks"))
            self.browser.keys(webdriver.UP if inward else webdriver.DOWN)
        self.browser.keys(webdriver.ENTER)
        self.assertAlmostEqual(self.width("work"), 1, delta=0.01)
        for _ in range(6):
            self.browser.keys(webdriver.ESCAPE)
        self.assertEqual(self.names(), before)
        field = self.js("return arguments[0].querySelector('input[type=search]')", self.figure("stacks"))
        self.browser.type(field, "dgemm")
        self.browser.js_async("setTimeout(arguments[0], 400)")
        text = self.js("return arguments[0].innerText", self.figure("stacks"))
        self.assertRegex(text, r"60(\.0)? ?%|60 of 100|60 samples", "what the search found is not said")

    def test_charts_fit_anew_when_the_window_changes(self):
        self.visit(make("textcnn"), width=1440)
        before = [(mark["of"], mark["value"]) for mark in self.marks("roofline")]
        self.browser.size(390)
        self.browser.js_async("setTimeout(arguments[0], 300)")
        self.assertEqual([(mark["of"], mark["value"]) for mark in self.marks("roofline")], before)
        self.assertEqual(self.js("return document.scrollingElement.scrollWidth"), 390)
        self.assertEqual(self.said(), [])

    def test_text_in_charts_lies_within_them(self):
        for name in ["textcnn", "peers", "resnet20", "sweep", "run"]:
            for width in [390, 1440]:
                self.visit(make(name), width=width)
                cut = self.js("""
                    return [...document.querySelectorAll("figure.chart svg text")].filter((t) => t.checkVisibility()
                      && t.textContent).filter((t) => { const a = t.getBoundingClientRect(),
                        b = t.ownerSVGElement.getBoundingClientRect();
                        return a.left < b.left - 2 || a.right > b.right + 2 || a.top < b.top - 2 ||
                          a.bottom > b.bottom + 2; })
                      .map((t) => t.closest("figure").dataset.chart + ": " + t.textContent).slice(0, 8)""")
                with self.subTest(page=name, width=width):
                    self.assertEqual(cut, [])


if __name__ == "__main__":
    harness.main()
