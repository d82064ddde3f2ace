"""Runs every *_test.py beside it with one browser. Exit code 77, with the reason, when all were skipped.

Arguments are those of unittest: -k PATTERN, names of tests.
"""

import pathlib
import sys
import unittest

import webdriver


def main():
    try:
        webdriver.programs()
    except webdriver.Missing as missing:
        print("skipped: %s" % missing)
        return 77
    here = pathlib.Path(__file__).resolve().parent
    sys.argv[1:] = ["-v", *sys.argv[1:]]
    if not any(not word.startswith("-") for word in sys.argv[1:]) or "-k" in sys.argv:
        sys.argv[1:1] = ["discover", "-s", str(here), "-p", "*_test.py"]
    result = unittest.main(module=None, exit=False).result
    if result.testsRun and len(result.skipped) == result.testsRun and not result.failures and not result.errors:
        print("skipped: %s" % result.skipped[0][1])
        return 77
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
