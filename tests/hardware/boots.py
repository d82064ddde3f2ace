"""The boots of the hardware suite: which guest runs which cases (scripts/vm test)."""
import dataclasses
import re
from typing import Callable, List

import main_job
from guest.qemu import Machine, Step


KERNEL_TESTS = ("kernels_tests",)


@dataclasses.dataclass(frozen=True)
class Boot:
    name: str
    machine: Machine
    steps: List[Step]
    checks: List[Callable] = dataclasses.field(default_factory=list)
    timeout_s: int = 400  # of the host's clock; each takes 3 to 20 on an idle machine, kernels 60


def cases(*suites, user=False):
    """GoogleTest suites of hardware_test, as root or as an ordinary user."""
    name = "-".join(suites).lower().replace("/", "-") + ("-user" if user else "")
    argv = ["hardware_test", "--gtest_filter=" + ":".join(f"{suite}.*" for suite in suites),
            "--gtest_color=no", "--gtest_print_time=0"]
    return Step(name, argv, as_user=user)


def kernels(program):
    """All of a GoogleTest program of tests/, on Neon."""
    return Step(program, [program, "--gtest_color=no", "--gtest_print_time=0"], timeout_s=800)


def neon_and_nothing_else_was_tested(results):
    lines = []
    for name in KERNEL_TESTS:
        sets = re.findall(r"^instruction set: (.*)$", results["kernels"][name].output, re.MULTILINE)
        assert sets == ["NEON"], f"{name}: {sets}"
        lines.append(f"{name}: {sets[0]}")
    return lines


# All cases that there are: one that no boot runs is found out.
LIST = Step("list", ["hardware_test", "--gtest_list_tests"])

BOOTS = [
    # The longest goes first. Kernels know nothing of counters: -icount would only slow them down.
    Boot("kernels", Machine(icount=False), [kernels(name) for name in KERNEL_TESTS],
         [neon_and_nothing_else_was_tested], timeout_s=1000),
    Boot("job", Machine(), main_job.STEPS, main_job.CHECKS),
    Boot("again", Machine(), main_job.STEPS, main_job.REPEAT_CHECKS),
    Boot("exact", Machine(), [main_job.PARANOID_2, cases("Loops", "Planner", user=True),
                              cases("Gemm", "Oracle", "Trouble")]),
    Boot("access", Machine(), [cases("Level/Access", "Seccomp", "Descriptors")]),
    Boot("threads", Machine(cpus=2), [cases("Threads", "TwoCpus", "Cpus")]),
    Boot("regions", Machine(), [cases("AnyPmu/Regions")]),
    # PMUv3p5: event counters of 64 bits, so that user space may read them.
    Boot("long", Machine(cpu="max,pauth-impdef=on"), [cases("LongCounters/Regions", "TwoUserEvents")]),
    Boot("no-pmu", Machine(cpu="neoverse-n1,pmu=off"), [cases("NoPmu")]),
    Boot("no-ins", Machine(icount=False), [cases("NoInstructions")]),
    Boot("a72", Machine(cpu="cortex-a72"), [cases("UnknownToLibpfm"), LIST]),
]
