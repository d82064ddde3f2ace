"""Tables sort, filter and copy, by mouse and by keyboard."""

import csv
import io
import json

import harness
import pages
import webdriver
from browser_harness import PageTest, make, shown

COPY_HOOK = """
Object.defineProperty(navigator, "clipboard", {value: {writeText: async (text) => {
  if (window.__refuse) throw new Error("no permission"); window.__copied = text; }}});
document.addEventListener("copy", () => { window.__copied = document.activeElement.value; });
"""
# Presses the button of a column so often; after each the order of the rows, and what the header says.
PRESS = """
const [table, column, times] = arguments;
const states = [];
const header = [...table.tHead.rows[0].cells].filter((c) => !c.classList.contains("of-group"))[column];
for (let i = 0; i < times; ++i) {
  header.querySelector("button").click();
  states.push({
    sort: header.getAttribute("aria-sort"),
    others: [...table.tHead.rows[0].cells].filter((c) => c !== header && c.hasAttribute("aria-sort")).length,
    groups: table.querySelectorAll("tr.group").length,
    rows: [...table.querySelectorAll("tbody tr:not(.group)")].map((r) => [...r.cells]
      .filter((c) => !c.classList.contains("of-group")).map((c) => c.textContent.trim())),
  });
}
return states;
"""
READ = """
return [...arguments[0].querySelectorAll("tbody tr:not(.group)")].map((r) => [...r.cells].map((c) => c.textContent.trim()))
"""


def key(cell):
    """What a cell sorts by: those without a value come last."""
    number = shown(cell)
    return None if cell in ("", "-") else number[0] if number else cell


class Tables(PageTest):
    def table_of(self, caption):
        return self.js("return [...document.querySelectorAll('div.table table')].find("
                       "(t) => t.caption.textContent.includes(arguments[0]))", caption)

    def assert_ordered(self, values, descending):
        known = [value for value in values if value is not None]
        self.assertEqual(values[:len(known)], known, "rows without a value are not last")
        if all(isinstance(value, float) for value in known):
            self.assertEqual(known, sorted(known, reverse=descending))

    def check_every_column(self, name):
        """Ascending, descending, and on the third press as it was."""
        self.visit(make(name))
        checked = 0
        for table in self.browser.find_all("div.table table"):
            before = self.js(READ, table)
            heads = self.js("return [...arguments[0].tHead.rows[0].cells].map((c) => c.textContent)", table)
            for column, title in enumerate(heads):
                with self.subTest(page=name, table=self.js("return arguments[0].caption.textContent", table), column=title):
                    up, down, back = self.js(PRESS, table, column, 3)
                    self.assertEqual((up["sort"], down["sort"], back["sort"]), ("ascending", "descending", None))
                    self.assertEqual(up["others"] + down["others"] + back["others"], 0)
                    self.assertEqual(back["rows"], before)
                    for state in (up, down):
                        self.assertEqual(sorted(state["rows"]), sorted(before), "rows were lost")
                        self.assert_ordered([key(row[column]) for row in state["rows"]], state is down)
                    checked += 1
        self.assertGreater(checked, 0)
        self.assertEqual(self.said(), [])

    def test_every_column_of_real_reports_sorts_and_goes_back(self):
        for name in ["textcnn", "run", "sweep", "compare", "mlp"]:
            self.check_every_column(name)

    def test_a_sorted_table_says_what_its_groups_are(self):
        for name, group, title in [("textcnn", "operation", "Operations"), ("mlp", "variant", "Training"),
                                   ("resnet20", "form", "Layers by type, an inference")]:
            self.visit(make(name))
            table = self.table_of(title)
            self.js(PRESS, table, 1, 1)
            with self.subTest(title):
                self.assertEqual(self.js("return arguments[0].querySelector('th.of-group').textContent", table), group)

    def test_a_click_and_the_keyboard_sort(self):
        self.visit(make("textcnn"))
        table = self.table_of("Operations")
        column = self.js("return [...arguments[0].tHead.rows[0].cells].findIndex("
                         "(c) => c.textContent.startsWith('time'))", table)
        button = self.js("return arguments[0].tHead.rows[0].cells[arguments[1]].querySelector('button')", table, column)
        before = self.js(READ, table)
        self.browser.click(button)
        clicked = self.js(READ, table)
        self.assertEqual(self.js("return arguments[0].closest('th').ariaSort", button), "ascending")
        self.assertNotEqual(clicked, before)
        self.browser.type(button, webdriver.ENTER)
        self.assertEqual(self.js("return arguments[0].closest('th').ariaSort", button), "descending")
        self.browser.type(button, webdriver.SPACE)
        self.assertEqual(self.js("return arguments[0].closest('th').ariaSort", button), None)
        self.assertEqual(self.js(READ, table), before)
        self.assertTrue(self.js("return document.activeElement === arguments[0]", button), "the focus was lost")

    def filter_of(self, caption):
        table = self.table_of(caption)
        tools = self.js("return arguments[0].closest('div.table').parentElement", table)
        return table, self.js("return arguments[0].querySelector('input[type=search]')", tools), tools

    def shown_rows(self, table):
        return self.js("return [...arguments[0].querySelectorAll('tbody tr:not(.group)')].filter("
                       "(r) => r.checkVisibility()).map((r) => [...r.cells].map((c) => c.textContent.trim()))", table)

    def test_the_filter_leaves_what_has_the_words_and_counts(self):
        self.visit(make("textcnn"))
        table, field, tools = self.filter_of("Operations")
        every = self.shown_rows(table)
        wanted = [row for row in every if any("blas" in cell for cell in row)]
        self.assertTrue(0 < len(wanted) < len(every))
        self.browser.click(field)
        self.browser.type(field, "BLAS")
        self.assertEqual(self.shown_rows(table), wanted)
        status = "return arguments[0].querySelector('[role=status]').textContent"
        self.assertEqual(self.js(status, tools), "%d of %d rows" % (len(wanted), len(every)))
        # A group without a row is not there either; the filter stays while it is sorted.
        self.assertEqual(self.js("return [...arguments[0].querySelectorAll('tr.group')].filter((g) => "
                                 "g.checkVisibility() && /maxpool/.test(g.textContent)).length", table), 0)
        self.js(PRESS, table, 1, 1)
        self.assertEqual(len(self.shown_rows(table)), len(wanted))
        self.js(PRESS, table, 1, 2)
        self.browser.type(field, webdriver.ESCAPE)
        self.js("""arguments[0].value = ""; arguments[0].dispatchEvent(new Event("input", {bubbles: true}))""", field)
        self.assertEqual(self.shown_rows(table), every)
        self.browser.type(field, "no such thing")
        self.assertEqual(self.shown_rows(table), [])
        self.assertEqual(self.js(status, tools), "0 of %d rows" % len(every))

    def copied(self, table):
        """What the button of a table copies, as rows of CSV."""
        button = self.js("""return [...arguments[0].closest("div.table").parentElement.querySelectorAll("button")]
                            .find((b) => /CSV/.test(b.textContent))""", table)
        self.js("window.__copied = null")
        self.browser.click(button)
        text = self.browser.js_async("""
            const done = arguments[0], end = Date.now() + 2000;
            (function look() { window.__copied !== null || Date.now() > end ? done(window.__copied)
                               : setTimeout(look, 10); })()""")
        self.assertIsNotNone(text, "nothing was copied")
        return list(csv.reader(io.StringIO(text, newline="")))

    def test_every_table_copies_as_csv_with_all_rows(self):
        for name in ["textcnn", "run", "compare", "doctor", "blas"]:
            self.visit(make(name), before=COPY_HOOK)
            self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            for table in self.browser.find_all("div.table table"):
                with self.subTest(page=name, table=self.js("return arguments[0].caption.textContent", table)):
                    lines = self.copied(table)
                    head = self.js("return [...arguments[0].tHead.rows[0].cells].map((c) => c.textContent.trim())", table)
                    rows = self.js(READ, table)
                    self.assertEqual(lines[0][-len(head):], head)
                    self.assertEqual([line[-len(head):] for line in lines[1:]], rows)
                    self.assertEqual({len(line) for line in lines}, {len(lines[0])})
                    if self.js("return arguments[0].querySelector('tr.group') !== null", table):
                        self.assertEqual(len(lines[0]), len(head) + 1)
                        self.assertTrue(all(line[0] for line in lines[1:]), "a row without its group")

    def test_it_copies_without_permission_too_and_what_the_filter_leaves(self):
        self.visit(make("textcnn"), before=COPY_HOOK + "window.__refuse = true;")
        table, field, _ = self.filter_of("Operations")
        self.browser.type(field, "simd")
        lines = self.copied(table)
        self.assertEqual(len(lines) - 1, len(self.shown_rows(table)))
        self.assertGreater(len(lines), 1)

    def test_the_fix_copies(self):
        report = pages.golden("run")
        report["blas"]["fix"] = "export \"X\"='1 <2>' && true"
        report["threads"] = None  # whose fixes may stand before it
        self.visit(make.of_json("fix", report), before=COPY_HOOK)
        command = self.browser.find("pre.command")
        text = self.js("return arguments[0].textContent.trim()", command)
        self.assertIn(report["blas"]["fix"], text)
        button = self.js("return arguments[0].parentElement.querySelector('button')", command)
        self.browser.click(button)
        self.browser.js_async("setTimeout(arguments[0], 50)")
        self.assertEqual(self.js("return window.__copied"), text)

    def test_the_json_downloads(self):
        self.visit(make("run"), before="""
            window.__blobs = []; const make = URL.createObjectURL;
            URL.createObjectURL = (blob) => { __blobs.push(blob); return make.call(URL, blob); };
            addEventListener("click", (e) => { const a = e.target.closest("a[download]");
              if (a) { window.__name = a.download; e.preventDefault(); } }, true);""")
        button = self.js("return [...document.querySelectorAll('button, a')].find((b) => /JSON/.test(b.textContent))")
        self.assertIsNotNone(button)
        self.browser.click(button)
        text = self.browser.js_async("""const done = arguments[0];
            __blobs.length ? __blobs[0].text().then(done) : done(null)""")
        self.assertIsNotNone(text)
        self.assertEqual(json.loads(text), self.page.report)
        self.assertRegex(self.js("return window.__name"), r"\.json$")


if __name__ == "__main__":
    harness.main()
