"""Runs the boots of tests/hardware and turns what the guests printed into pass or fail per case."""
import concurrent.futures
import importlib.util
import re
import sys
import time
import traceback

from . import qemu
from .common import Failure

BOOTS_AT_ONCE = 2


def run(space, only):
    boots = [boot for boot in _load(space).BOOTS if only in (None, boot.name)]
    if not boots:
        raise Failure(f"the suite has no boot called '{only}'")
    started = time.monotonic()
    results, cases = {}, []
    with concurrent.futures.ThreadPoolExecutor(BOOTS_AT_ONCE) as pool:
        futures = {boot.name: pool.submit(_boot, space, boot) for boot in boots}
        for boot in boots:
            try:
                results[boot.name] = futures[boot.name].result()
            except Failure as what:
                cases.append((boot.name, "boots and ends", str(what), []))
    for boot in boots:
        if boot.name in results:
            cases += _judge(boot, results)
    if only is None:
        cases += _forgotten(results, cases)
    return _report(cases, len(boots), time.monotonic() - started)


def _load(space):
    folder = space.source / "tests" / "hardware"
    sys.path.insert(0, str(folder))
    specification = importlib.util.spec_from_file_location("boots", folder / "boots.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _boot(space, boot):
    return qemu.boot(space, boot.name, boot.machine, boot.steps, boot.timeout_s)


def _judge(boot, results):
    """(boot, case, problem or "", lines to show) of every case of a boot."""
    cases = []
    for step in boot.steps:
        result = results[boot.name][step.name]
        if step.argv[0].endswith("_test") and step.name != "list":
            cases += [(boot.name, *case) for case in parse_gtest(step.name, result)]
    for check in boot.checks:
        name = check.__name__.replace("_", " ")
        try:
            lines = check(results) or []
            cases.append((boot.name, name, "", lines))
        except KeyError as missing:
            cases.append((boot.name, name, f"nothing to check: {missing} is missing", []))
        except Exception as what:  # a check that stumbles over bad output has found something
            where = traceback.extract_tb(what.__traceback__)[-1]
            cases.append((boot.name, name, f"{what or where.line}", []))
    return cases


def parse_gtest(step, result):
    """(case, problem or "", printed lines) of a GoogleTest program's output; pure."""
    cases, name, lines = [], None, []
    for line in result.output.splitlines():
        start = re.match(r"\[ RUN      \] (\S+)", line)
        end = re.match(r"\[ +(OK|FAILED|SKIPPED) +\] ([\w/.]+)", line)
        if start:
            name, lines = start[1], []
        elif end and end[2] == name:
            problem = {"OK": "", "FAILED": "failed"}.get(end[1], "skipped in the guest")
            cases.append((name, problem, lines))
            name = None
        elif name is not None:
            lines.append(line)
    if name is not None:
        cases.append((name, f"the program ended in it (status {result.status})", lines))
    elif not cases:
        cases.append((step, f"no test ran (status {result.status})",
                      result.output.splitlines()[-10:]))
    elif result.status != 0 and not any(problem for _, problem, _ in cases):
        cases.append((step, f"the program ended with status {result.status}", []))
    return cases


def listed_cases(text):
    """Names of all cases from --gtest_list_tests; pure."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].rstrip()
        if word.endswith(".") and not word.startswith(" "):
            suite = word
        elif word.startswith("  ") and suite:
            names.append(suite + word.strip())
    return names


def _forgotten(results, cases):
    """A case of hardware_test that no boot runs proves nothing: that is a failure."""
    listed = [name for steps in results.values() if "list" in steps
              for name in listed_cases(steps["list"].output)]
    if not listed:
        return [("-", "all cases are run", "no boot lists the cases", [])]
    ran = {case for _, case, _, _ in cases}
    return [("-", name, "no boot runs it", []) for name in listed if name not in ran]


def _report(cases, boots, seconds):
    for boot, name, problem, lines in cases:
        print(f"{'FAIL' if problem else 'ok  '} {boot:8} {name}")
        for line in ([problem] if problem else []) + lines:
            print(f"       {line}")
    failed = sum(1 for case in cases if case[2])
    print(f"\nhardware: {len(cases) - failed} passed, {failed} failed "
          f"({boots} boots, {seconds:.0f} s)")
    return 1 if failed else 0
