"""The keyboard alone reaches everything, in the order of the page, without a trap, and shows where it is."""

import unittest

import harness
import pages
import webdriver
from browser_harness import PageTest, make

# Marks what can be reached, then notes each stop and whether it can be seen.
WATCH_FOCUS = """
const look = (s) => [
  s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0 ? s.outline : "", s.boxShadow, s.stroke, s.strokeWidth,
  s.backgroundColor, s.borderColor, s.position === "static" ? "" : s.clipPath].join("|");
// Of a mark of a chart, what is in it may show the focus.
const looks = (e) => [e, ...(e.closest("svg") ? e.querySelectorAll("*") : [])].slice(0, 12)
  .map((one) => look(getComputedStyle(one))).join("|");
const reachable = [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) => e.tabIndex >= 0 && !e.disabled &&
  !e.matches("input[type=radio]:not(:checked)") &&  // arrow keys lead to the others of a group
  (e.checkVisibility({visibilityProperty: true}) || e.classList.contains("skip")));
window.__name = (e) => `${e.tagName.toLowerCase()}.${e.getAttribute("class") || ""} ` +
  (e.getAttribute("aria-label") || e.textContent).trim().slice(0, 50);
window.__reachable = new Map(reachable.map((e) => [e, looks(e)]));
window.__stops = []; window.__unseen = []; window.__small = [];
document.addEventListener("focusin", (event) => {
  const e = event.target;
  __stops.push(e);
  if (__reachable.has(e) && looks(e) === __reachable.get(e)) __unseen.push(__name(e));
  const r = e.getBoundingClientRect();
  if (r.right < 0 || r.left > innerWidth || r.bottom < -1 || r.top > innerHeight + 1) __small.push(__name(e));
});
document.activeElement.blur();
getSelection().removeAllRanges();
scrollTo(0, 0);
return reachable.length;
"""
NAMELESS = """
return [...document.querySelectorAll("button, input, a[href], summary, .mark, figure.chart, [role=region]")]
  .filter((e) => e.checkVisibility() && !(e.getAttribute("aria-label") || e.textContent.trim() ||
    e.getAttribute("aria-labelledby") || [...(e.labels || [])].some((l) => l.textContent.trim())))
  .map((e) => e.outerHTML.slice(0, 100)).slice(0, 5);
"""


class Keyboard(PageTest):
    def walk(self, name, width=1440):
        self.visit(make(name), width=width)
        # Smooth scrolling would let the page lag behind the keys.
        self.browser.media("", prefers_color_scheme="light", prefers_reduced_motion="reduce")
        self.js("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        self.browser.js_async("requestAnimationFrame(() => setTimeout(arguments[0], 100))")
        count = self.js(WATCH_FOCUS)
        self.assertGreater(count, 3)
        self.browser.keys(webdriver.TAB * (count + 2))
        with self.subTest(page=name, width=width):
            self.assertEqual(self.js(NAMELESS), [], "have no name")
            missed = self.js("return [...__reachable.keys()].filter((e) => !__stops.includes(e)).map(__name)")
            self.assertEqual(missed, [], "never reached")
            self.assertEqual(self.js("return [...new Set(__unseen)]"), [], "the focus cannot be seen")
            self.assertEqual(self.js("return [...new Set(__small)]"), [], "out of sight")
            # In the order of the page, and round again: no trap.
            order = self.js("""
                const first = __stops.slice(0, __reachable.size), all = [...__reachable.keys()];
                return [first.every((e, i) => e === all[i]), first.length,
                        first.map(__name).filter((n, i) => n !== __name(all[i])).slice(0, 3)]""")
            self.assertEqual(order, [True, count, []])
        return count

    def test_every_page_can_be_walked_through(self):
        for name in pages.REAL:
            self.walk(name)

    def test_on_a_phone_too(self):
        for name in ["textcnn", "run"]:
            self.walk(name, width=390)

    def test_the_skip_link_leads_to_the_report(self):
        self.visit(make("textcnn"))
        self.browser.keys(webdriver.TAB)
        self.assertEqual(self.js("return document.activeElement.className"), "skip")
        self.assertTrue(self.js("const r = document.activeElement.getBoundingClientRect();"
                                "return r.width > 20 && r.top >= 0"), "it cannot be seen")
        self.browser.keys(webdriver.ENTER)
        self.browser.keys(webdriver.TAB)
        self.assertTrue(self.js("return document.querySelector('main').contains(document.activeElement)"))

    def test_what_is_folded_opens_by_keyboard(self):
        self.visit(make("textcnn"))
        summary = self.browser.find("main details summary")
        if summary is None:
            raise unittest.SkipTest("nothing is folded")
        self.browser.type(summary, webdriver.ENTER)
        self.assertTrue(self.js("return arguments[0].parentElement.open", summary))


if __name__ == "__main__":
    harness.main()
