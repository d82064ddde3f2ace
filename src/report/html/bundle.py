#!/usr/bin/env python3
"""Bundles the page's style and script into a C++ file (assets.h).

usage: bundle.py OUTPUT LICENCE STYLE... [--script ESBUILD MAIN]
       bundle.py --check ESBUILD MAIN

Without --script the page has no script; --check says whether there can be one. D3's modules are found where Debian puts them
(/usr/share/nodejs) or in NODE_PATH. What is bundled is minified: a page holds it whole.
"""

import base64
import hashlib
import os
import subprocess
import sys

MODULES = "/usr/share/nodejs"


def bundle(esbuild, source, *options):
    """The bundle of a file, in one line of bytes that need no other file."""
    environment = dict(os.environ)
    environment["NODE_PATH"] = os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), MODULES]))
    return subprocess.run(
        [esbuild, source, "--bundle", "--minify", "--legal-comments=none", "--target=es2020",
         "--charset=utf8", "--log-level=warning", *options],
        check=True, stdout=subprocess.PIPE, env=environment).stdout.decode().strip()


def literal(text):
    """A C++ literal: raw, in pieces, since compilers bound the length of one."""
    size = 8000
    pieces = [text[at:at + size] for at in range(0, len(text), size)] or [""]
    return "\n".join('R"hwprof_page(%s)hwprof_page"' % piece for piece in pieces)


def digest(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def main(arguments):
    if arguments[0] == "--check":
        bundle(arguments[1], arguments[2], "--format=iife")
        return
    esbuild = main_js = None
    if "--script" in arguments:
        at = arguments.index("--script")
        esbuild, main_js = arguments[at + 1:at + 3]
        arguments = arguments[:at]
    output, licence, *styles = arguments
    style = ""
    for path in styles:
        with open(path, encoding="utf-8") as file:
            style += bundle(esbuild, path) if esbuild else file.read()
    script = ""
    if esbuild:
        script = bundle(esbuild, main_js, "--format=iife")
        for way_out in ("</script", "<!--"):
            if way_out in script.lower():
                raise SystemExit("the script has %s in it, which would end its element" % way_out)
    with open(licence, encoding="utf-8") as file:
        terms = file.read()
    with open(output, "w", encoding="utf-8") as file:
        file.write("""// Made by src/report/html/bundle.py.
#include "src/report/html/assets.h"

namespace hwprof::report {

const PageAssets kPageAssets = {
    %s,
    %s,
    "%s", "%s",
    %s};

}  // namespace hwprof::report
""" % (literal(style), literal(script), digest(style), digest(script), literal(terms)))


if __name__ == "__main__":
    main(sys.argv[1:])
