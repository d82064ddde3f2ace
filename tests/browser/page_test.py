"""Every command's page, whole: silent, alone, readable at any width, in the dark, in print, without
JavaScript, and with assistive technology."""

import re
import shutil
import subprocess

import harness
import pages
from browser_harness import PageTest, make, shown

LOOKS = [(390, "dark"), (1440, "light")]
BACKGROUND = """
const back = (e) => getComputedStyle(e).backgroundColor;
return back(document.body) === "rgba(0, 0, 0, 0)" ? back(document.documentElement) : back(document.body);
"""
LOST = """
const scrolls = (e) => { for (e = e.parentElement; e && e !== document.body; e = e.parentElement)
  if (["auto", "scroll"].includes(getComputedStyle(e).overflowX)) return true; return false; };
return [...document.querySelectorAll("main *, header *, footer *")].filter((e) => e.checkVisibility()
  && !e.closest("svg, .tooltip, .skip, .unseen, [aria-hidden=true]") && e.getBoundingClientRect().width > 1
  && e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e))
  .map((e) => `${e.tagName}.${e.className} ${e.textContent.trim().slice(0, 40)}`).slice(0, 5);
"""
# Ratio of WCAG 2 of text to what is behind it; of large text, and of an inactive control, less is needed.
CONTRAST = r"""
const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgba = (text) => {
  context.clearRect(0, 0, 1, 1); context.fillStyle = "#0000"; context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = context.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
};
const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
const light = (c) => [0, 1, 2].map((i) => c[i] / 255)
  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = (e) => {
  const layers = [];
  for (; e; e = e.parentElement) layers.push(rgba(getComputedStyle(e).backgroundColor));
  return layers.reverse().reduce((under, top) => over(top, under), rgba("Canvas"));
};
const found = new Map();
for (const e of document.querySelectorAll("body *")) {
  if (e.closest("svg, script, style, [hidden], [aria-hidden=true], :disabled") || !e.checkVisibility()) continue;
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
  const style = getComputedStyle(e), back = behind(e), front = over(rgba(style.color), back);
  const [high, low] = [light(front), light(back)].sort((a, b) => b - a);
  const ratio = (high + 0.05) / (low + 0.05);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
  if (ratio < (large ? 3 : 4.5)) {
    const key = `${e.tagName}.${e.className}`;
    if (!found.has(key)) found.set(key, `${key} "${e.textContent.trim().slice(0, 40)}" ${ratio.toFixed(2)}`);
  }
}
return [...found.values()];
"""


class EveryPage:
    """What holds of any page; a class is made for each below."""

    name = ""

    def setUp(self):
        super().setUp()
        self.page_here = make(self.name)

    def test_its_policy_allows_its_own_script_alone(self):
        self.visit(self.page_here)
        policy = self.js("return document.querySelector('meta[http-equiv=Content-Security-Policy]').content")
        directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";") if part.strip())
        self.assertEqual(directives["default-src"], "'none'")
        self.assertRegex(directives["script-src"], r"^'sha256-[\w+/=]+'$")
        self.assertNotIn("unsafe", policy)
        self.assertEqual(directives.get("base-uri"), "'none'")
        self.assertEqual(directives.get("form-action"), "'none'")
        # It is in force: a script that is not the page's own does not run.
        self.js("""const s = document.createElement('script'); s.textContent = 'window.foreign = 1';
                   document.head.append(s)""")
        self.assertIsNone(self.js("return window.foreign"))
        self.assertTrue(any(line.startswith("policy: script-src") for line in self.said()))

    def test_it_is_silent_fits_and_can_be_read_by_all(self):
        """At both widths, the one in the light, the other in the dark."""
        backs = {}
        for width, scheme in LOOKS:
            with self.subTest(width=width, scheme=scheme):
                self.visit(self.page_here, width=width, scheme=scheme)
                self.browser.js_async("requestAnimationFrame(() => setTimeout(arguments[0], 50))")
                self.assertEqual(self.said(), [])
                self.assertEqual(self.requests(), [self.page_here.url])
                backs[scheme] = self.js(BACKGROUND)
                self.assertEqual(self.js("return [document.scrollingElement.scrollWidth, innerWidth]"), [width, width])
                self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
                self.assertEqual(self.js("return document.scrollingElement.scrollWidth"), width, "with all unfolded")
                # What is beyond the edge and in no box that scrolls is lost.
                self.assertEqual(self.js(LOST), [], "cannot be seen")
                self.assertEqual(self.js(CONTRAST), [], "cannot be read")
                self.assertEqual(self.violations(), [])
        if len(backs) < 2:
            return  # it has failed above
        light, dark = [sum(map(int, re.findall(r"\d+", backs[scheme])[:3])) for scheme in ("light", "dark")]
        self.assertGreater(light, 600, backs)
        self.assertLess(dark, 200, backs)

    def test_it_has_landmarks_and_headings_in_order(self):
        self.look(self.page_here)
        self.assertEqual(self.js("return ['header', 'nav', 'main', 'footer'].map("
                                 "(n) => document.querySelectorAll('body > ' + n + ', header > ' + n).length)"),
                         [1, 1, 1, 1])
        levels = self.js("return [...document.querySelectorAll('h1, h2, h3, h4')].map((h) => +h.tagName[1])")
        self.assertEqual(levels[0], 1)
        for before, after in zip(levels, levels[1:]):
            self.assertLessEqual(after, before + 1)
        order = ["verdict", "checks", "comparison", "roofline", "layers", "complexity", "hotspots", "regions", "ladder",
                 "counters", "noise", "machine", "other"]
        for article in self.js("return [...document.querySelectorAll('article.report')].map("
                               "(a) => [...a.querySelectorAll('section')].map((s) => s.dataset.section))"):
            self.assertEqual(article, sorted(article, key=order.index))
        # Each link of the navigation leads somewhere.
        self.assertEqual(self.js("return [...document.querySelectorAll('a[href^=\"#\"]')].filter("
                                 "(a) => !document.getElementById(a.hash.slice(1))).map((a) => a.outerHTML)"), [])
        ids = self.js("return [...document.querySelectorAll('[id]')].map((e) => e.id)")
        self.assertEqual(len(ids), len(set(ids)), "an id twice")

    def test_without_javascript_its_verdict_and_tables_are_there(self):
        self.visit(self.page_here)
        with_script = [(table["caption"], table["rows"]) for table in self.tables()]
        self.visit(self.page_here, scripts=False)
        self.assertEqual(self.js("return document.querySelectorAll('.mark').length"), 0, "the script ran")
        self.assertTrue(self.js("return document.querySelector('section[data-section=verdict] .headline')"
                                ".checkVisibility()"))
        self.assertEqual([(table["caption"], table["rows"]) for table in self.tables()], with_script)
        # What is folded opens without a script; all else is shown.
        hidden = self.js("return [...document.querySelectorAll('div.table')].filter((t) => !t.checkVisibility() && "
                         "!t.closest('details')).length")
        self.assertEqual(hidden, 0)
        self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        self.assertEqual(self.js("return [...document.querySelectorAll('div.table')].filter("
                                 "(t) => !t.checkVisibility()).length"), 0)
        empty = self.js("return [...document.querySelectorAll('button')].filter((b) => b.checkVisibility()).length")
        self.assertEqual(empty, 0, "a button that does nothing")

    def test_print_has_all_tables(self):
        self.visit(self.page_here)
        tables = self.tables()
        # The layout, as the printer gets it.
        self.browser.media("print")
        self.js("dispatchEvent(new Event('beforeprint'))")
        hidden = self.js("""
            return [...document.querySelectorAll("div.table, div.table tr, dl.fields, pre.line, .headline")]
              .filter((e) => !e.checkVisibility() || e.getBoundingClientRect().height === 0)
              .map((e) => e.outerHTML.slice(0, 120)).slice(0, 3)""")
        self.assertEqual(hidden, [])
        cut = self.js("""return [...document.querySelectorAll("div.table")].filter((e) =>
            getComputedStyle(e).overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1)
            .map((e) => e.getAttribute("aria-label"))""")
        self.assertEqual(cut, [], "a printer does not scroll")
        self.js("dispatchEvent(new Event('afterprint'))")
        if self.name == "textcnn" or shutil.which("pdftotext"):
            pdf = self.browser.pdf()
            self.assertEqual(pdf[:5], b"%PDF-")
        if shutil.which("pdftotext"):
            text = subprocess.run(["pdftotext", "-layout", "-", "-"], input=pdf, capture_output=True).stdout
            words = re.sub(r"\s+", "", text.decode(errors="replace"))
            for table in tables:
                cells = [cell for row in table["rows"] for cell in row if shown(cell) is not None]
                self.assertEqual([cell for cell in cells if re.sub(r"\s+", "", cell) not in words], [], table["caption"])


for _name in pages.REAL:
    _case = "Page_" + _name
    globals()[_case] = type(_case, (EveryPage, PageTest), {"name": _name, "__module__": __name__})


if __name__ == "__main__":
    harness.main()
