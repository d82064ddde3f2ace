"""What the browser's tests share: one Chromium, the pages, and how to read a page back.

HWPROF is the binary, as for tests/cli. A number that a chart or a table shows is held against the
JSON that the same run printed, read by Python, not against what the page's script thinks of it.
"""

import atexit
import json
import re
import unittest

import axe
import pages
import webdriver

make = pages.Maker()
_browser = None


def browser():
    """The Chromium of this process; the test is skipped where there is none."""
    global _browser
    if _browser is None:
        try:
            webdriver.programs()
        except webdriver.Missing as missing:
            raise unittest.SkipTest(str(missing))
        with open(make("doctor").html, encoding="utf-8") as page:
            if "<script>" not in page.read():
                raise unittest.SkipTest("this hwprof was built without charts: esbuild or D3 was not there")
        _browser = webdriver.Browser()
        _browser.standing = None
        atexit.register(_browser.close)
    return _browser


def resolve(report, pointer):
    """What a JSON pointer of the page means."""
    value = report
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value


def at_key(value, key):
    """The number behind the words of a mark's data-key: time_ns.median."""
    for step in key.split("."):
        value = value[step]
    return value


def numbers(value):
    """Every number inside a JSON value."""
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class PageTest(unittest.TestCase):
    """A test that opens pages."""

    def setUp(self):
        self.browser = browser()

    def look(self, page, width=1440, scheme="light"):
        """As `visit`, but the page may stand there already: for a test that changes nothing in it."""
        wanted = (page.url, width, scheme)
        if self.browser.standing != wanted:
            self.visit(page, width=width, scheme=scheme)
            self.browser.standing = wanted
        self.page = page
        return self.browser

    def visit(self, page, width=1440, height=900, scheme="light", medium="", scripts=True, before=""):
        """Opens a page anew, and waits until its script has drawn. `before` runs first in the page."""
        self.page = page
        b = self.browser
        b.standing = None
        b.go("about:blank")
        b.scripts(scripts)
        b.size(width, height, phone=width < 600)
        b.media(medium, prefers_color_scheme=scheme)
        early = b.cdp("Page.addScriptToEvaluateOnNewDocument", source=WATCH + before)["identifier"]
        b.logs("browser"), b.logs("performance")
        try:
            b.go(page.url)
        finally:
            b.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=early)
            if not scripts:
                b.scripts(True)
        return b

    def js(self, script, *arguments):
        return self.browser.js(script, *arguments)

    def said(self):
        """Everything the browser had to say since the page was opened, or this was asked."""
        texts = [entry["message"] for entry in self.browser.logs("browser")]
        return texts + (self.js("return window.__said || []"))

    def requests(self):
        """URLs that the page asked for, but for those that hold their own bytes."""
        found = []
        for entry in self.browser.logs("performance"):
            event = json.loads(entry["message"])["message"]
            if event["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                parameters = event["params"]
                url = parameters.get("url") or parameters["request"]["url"]
                if not url.startswith(("data:", "blob:", "chrome:", "about:")):
                    found.append(url)
        return found

    def embedded(self, article=1):
        """The JSON inside the page."""
        text = self.js("return document.getElementById(arguments[0]).textContent", "r%d-json" % article)
        return json.loads(text)

    def marks(self, chart, article=1):
        """The marks of a chart: what each says it stands for, and where it is drawn (in its svg, or in percent)."""
        return self.js("""
            const figure = document.querySelector(`#r${arguments[1]} figure[data-chart="${arguments[0]}"]`);
            const place = (mark) => {
              const symbol = mark.querySelector(".symbol"), bar = mark.querySelector(".bar");
              const at = symbol && /translate\\(([-\\d.e]+),([-\\d.e]+)\\)/.exec(symbol.getAttribute("transform") || "");
              return {x: at ? +at[1] : mark.style.left ? parseFloat(mark.style.left) : null, y: at ? +at[2] : null,
                      width: bar ? +bar.getAttribute("width") : mark.style.width ? parseFloat(mark.style.width) : null};
            };
            return [...figure.querySelectorAll(".mark")].map((m) => ({of: m.dataset.of ?? null, key: m.dataset.key ?? null,
              value: m.dataset.value === undefined ? null : +m.dataset.value, says: m.ariaLabel, ...place(m)}))""",
                       chart, article)

    def charts(self, article=1):
        return self.js("""return [...document.querySelectorAll(`#r${arguments[0]} figure[data-chart]`)]
            .map((f) => f.dataset.chart)""", article)

    def tables(self):
        """Every table as it is read: [{caption, visible, head: [...], rows: [[...]], of: [...]}]."""
        return self.js("""
            return [...document.querySelectorAll("div.table table")].map((t) => ({
              caption: t.caption ? t.caption.textContent.trim() : "",
              head: [...t.tHead.rows[0].cells].map((c) => c.textContent.trim()),
              rows: [...t.querySelectorAll("tbody tr:not(.group)")].map((r) => [...r.cells].map(
                (c) => c.textContent.trim())),
              of: [...t.querySelectorAll("tbody tr:not(.group)")].map((r) => r.dataset.of || null),
              groups: [...t.querySelectorAll("tbody tr:not(.group)")].map((r) => {
                const g = r.parentNode.querySelector("tr.group"); return g ? g.textContent.trim() : null; }),
            }))""")

    def violations(self, *rules_off):
        """axe-core's serious and critical findings, a line each."""
        try:
            source = axe.source()
        except axe.Missing as missing:
            self.skipTest(str(missing))
        self.js(source)
        found = self.browser.js_async("""
            const done = arguments[arguments.length - 1];
            axe.run(document, {resultTypes: ["violations"]}).then((r) => done(r.violations
              .filter((v) => v.impact === "serious" || v.impact === "critical")
              .map((v) => `${v.id} (${v.impact}): ` + v.nodes.slice(0, 4).map((n) => n.html.slice(0, 160) + " " +
                (n.any[0] ? n.any[0].message : "")).join(" | ") + ` (${v.nodes.length} in all)`)),
              (error) => done(["axe-core: " + error]))""")
        return [line for line in found if not line.startswith(tuple(rules_off) or ("\0",))]


# What a page does wrong without a word in the log.
WATCH = """
window.__said = [];
addEventListener("error", (e) => __said.push("error: " + (e.message || e.target.outerHTML || e)), true);
addEventListener("unhandledrejection", (e) => __said.push("rejected: " + e.reason));
addEventListener("securitypolicyviolation", (e) => __said.push("policy: " + e.violatedDirective + " " +
  e.blockedURI + " " + e.sample));
"""

UNITS = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9,
         "B": 1, "KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30,
         "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1}
SHOWN = re.compile(r"^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: ?±[\d.e+-]+)?(?: ?(ns|µs|us|ms|s|min|B|KiB|MiB|GiB|k|M|G|T))?(?![\w])")


def shown(text):
    """(value, half a unit of its last digit) of a number in a cell; None: it holds none."""
    match = SHOWN.match(text)
    if not match:
        return None
    digits, unit = match.group(1), UNITS[match.group(2) or ""]
    mantissa, _, exponent = digits.partition("e")
    last = -len(mantissa.partition(".")[2]) + int(exponent or 0)
    return float(digits) * unit, 0.5 * 10.0 ** last * unit
