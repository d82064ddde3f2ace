"""Names from outside: a program, a symbol, a region called `</script><img src=x onerror=...>` runs nothing,
breaks nothing, and is read as it is."""

import os
import subprocess
import unittest

import harness
import pages
from browser_harness import PageTest, make
from pages import HOSTILE

PROGRAM_C = r"""
#include <time.h>
#ifdef REGIONS
#include "counters/regions/hwprof.h"
#endif
volatile double x[64];
__attribute__((noinline)) void hot(void) __asm__("\"%s\"");
void hot(void) { for (int i = 0; i < 1000000; ++i) x[i & 63] += 0.5 * i; }
int main(void) {
  while (clock() < CLOCKS_PER_SEC / 2) {
#ifdef REGIONS
    hwprof_region region = hwprof_enter("%s");
#endif
    hot();
#ifdef REGIONS
    hwprof_leave(region);
#endif
  }
  return 0;
}
"""
# What a reader takes for a word of a list that it knows, not for a name.
WORDS = {"schema", "status", "verdict", "state", "bound", "padding", "vector_class", "factor_of", "how", "mode",
         "group_by", "unit", "started_utc", "isa", "version", "sort", "width", "bits", "quantity", "blas_share_of",
         "bandwidth_level", "level", "code", "hypervisor", "arch", "language", "outcome"}
NAMED = {"by_library", "by_symbol", "environment", "at"}


def poisoned(value, key=""):
    """The report with the name behind each of its words."""
    if isinstance(value, dict):
        return {(k + HOSTILE if key in NAMED else k): poisoned(v, "" if key in NAMED else k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(item, key) for item in value]
    if isinstance(value, str) and key not in WORDS:
        return value + HOSTILE
    return value


class Hostile(PageTest):
    def check(self, page):
        """The page with that name in it is whole; returns the text that can be read."""
        for scripts in [True, False]:
            self.visit(page, scripts=scripts)
            if scripts:
                self.browser.js_async("setTimeout(arguments[0], 100)")
                self.assertEqual(self.said(), [])
                self.assertIsNone(self.js("return window.hostile"))
                self.assertEqual(self.requests(), [page.url])
            self.assertEqual(self.js("return document.querySelectorAll("
                                     "'img, iframe, object, embed, base, [onerror]').length"), 0)
            kinds = self.js("return [...document.scripts].map((s) => s.type)")
            self.assertEqual(kinds, ["application/json", ""])
            self.assertEqual(self.js("return [...document.body.children].at(-1).tagName"), "SCRIPT")
            self.assertEqual(self.js("return document.querySelectorAll('style, link').length"), 1)
        self.visit(page)
        return self.js("return document.querySelector('main').textContent + document.title")

    def test_a_real_program_with_such_names(self):
        folder = make.path("hostile")
        # A name has no slash: the path has it.
        above, _, name = HOSTILE.partition("/")
        os.makedirs(os.path.join(folder, above), exist_ok=True)
        program = os.path.join(folder, above, name)
        source = os.path.join(folder, "hostile.c")
        with open(source, "w") as file:
            file.write(PROGRAM_C % (HOSTILE, HOSTILE))
        command = [os.environ.get("CC_FOR_TESTS", "cc"), "-O1", "-g", source, "-o", os.path.join(folder, "made")]
        library = os.environ.get("HWPROF_LIBRARY")
        if library:
            command += ["-DREGIONS", "-I" + os.environ["HWPROF_HEADERS"], "-Wl,--no-as-needed", library,
                        "-Wl,-rpath," + os.path.dirname(library), "-pthread"]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise unittest.SkipTest("cannot compile: %s" % getattr(error, "stderr", error))
        os.replace(os.path.join(folder, "made"), program)
        page = make.of_command("hostile", "run", "--no-ladder", "--trace", make.path("hostile.trace.json"),
                               "--", program, HOSTILE)
        text = self.check(page)
        self.assertIn(HOSTILE, text)
        self.assertEqual(self.embedded(), page.report)
        if library:
            self.assertEqual(page.report["regions"]["rows"][0]["name"], HOSTILE)
            self.assertIn(HOSTILE, " ".join(" ".join(row) for table in self.tables() for row in table["rows"]))
        if page.report["blas"]["evidence"]["executed"]["samples"] > 50:
            executed = page.report["blas"]["evidence"]["executed"]
            self.assertIn(HOSTILE, [symbol["name"] for symbol in executed["symbols"]])
        self.js("document.querySelectorAll('.mark').forEach((m) => m.dispatchEvent("
                "new PointerEvent('pointermove', {bubbles: true})))")
        self.assertEqual((self.said(), self.js("return window.hostile")), ([], None))

    def test_every_word_of_every_report_may_be_such_a_name(self):
        for name in ["run", "profile", "profile_layers", "profile_training", "sweep", "compare", "blas", "doctor",
                     "run_attached", "profile_regions_scaling", "check_bad", "fleet"]:
            with self.subTest(name):
                report = poisoned(pages.golden(name))
                page = make.of_json("poisoned-" + name, report)
                text = self.check(page)
                self.assertGreaterEqual(text.count(HOSTILE), 2)
                self.assertEqual(self.embedded(), report)
                # Each mark is pointed at: what a tooltip says is text too.
                self.js("""for (const m of document.querySelectorAll(".mark")) for (const kind of
                    ["pointerenter", "pointermove"]) m.dispatchEvent(new PointerEvent(kind, {bubbles: true}))""")
                self.assertEqual(self.js("return document.querySelectorAll('img').length"), 0)
                self.assertEqual((self.said(), self.js("return window.hostile")), ([], None))

    def test_names_that_are_no_text(self):
        report = pages.golden("run")
        names = ["\0", "\x1b[31m", "\u202eevil", "<!--", "]]>", "${1}", "'\"`", "\\", "a" * 5000, "\n\n", "&lt;b&gt;"]
        report["regions"]["rows"] = [dict(report["regions"]["rows"][0], name=name, path=[name]) for name in names]
        page = make.of_json("odd", report)
        text = self.check(page)
        self.assertIn("&lt;b&gt;", text)
        self.assertIn("<!--", text)
        self.assertLessEqual(self.js("return document.scrollingElement.scrollWidth"), 1440)


if __name__ == "__main__":
    harness.main()
