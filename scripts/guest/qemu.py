"""Boots the guest with a list of commands and returns what each printed and how it ended.

There is no exit-code channel out of the guest, and it can hang or panic: /init frames every
command with marker lines on the serial console, and QEMU is ended after a time limit.
With -icount the guest's clock is the number of instructions, so a boot repeats to the byte.
"""
import dataclasses
import os
import re
import shlex
import subprocess

from . import crossbuild
from .common import Failure
from .image import Image

APPLETS = ["sh", "mount", "poweroff", "timeout", "echo", "cat", "ls", "stty"]
OPENBLAS = "usr/lib/aarch64-linux-gnu/openblas-{}/{}"

INIT = """\
#!/bin/sh
export PATH=/bin HOME=/ LC_ALL=C.UTF-8
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
exec </dev/null >/dev/console 2>&1
stty -onlcr </dev/console
. /etc/steps
poweroff -f
"""


@dataclasses.dataclass(frozen=True)
class Machine:
    cpu: str = "neoverse-n1"
    cpus: int = 1
    icount: bool = True
    # Virtual nanoseconds an instruction: 2^shift. One cycle is 1 ns, so IPC is 1 / 2^shift.
    shift: int = 1


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    argv: list
    timeout_s: int = 60  # on the guest's own clock
    quiet: bool = False  # without standard error
    as_user: bool = False  # as an ordinary user, uid 1000


@dataclasses.dataclass(frozen=True)
class Result:
    output: str
    status: int


def make_image(space, steps, path):
    sysroot = space.sysroot
    image = Image(sysroot)
    for folder in ("dev", "proc", "sys", "tmp"):
        image.folder(folder)
    image.text("init", INIT, 0o755)
    image.program("bin/busybox", sysroot / "bin/busybox")
    for applet in APPLETS:
        image.link(f"bin/{applet}", "busybox")
    named = {step.argv[0] for step in steps}
    for program in crossbuild.PROGRAMS + crossbuild.KERNEL_TESTS:
        name = os.path.basename(program)
        # Every boot unpacks its image: tests of 10 MB only where they run.
        if program in crossbuild.PROGRAMS or name in named:
            image.program(f"bin/{name}", space.build / program)
    image.program("bin/perf", sysroot / "usr/bin/perf")
    for build in ("serial", "pthread"):
        image.program(OPENBLAS.format(build, "libopenblas.so.0"),
                      sysroot / OPENBLAS.format(build, "libopenblas.so.0"))
    # As Debian's alternatives do it where only the serial build is installed.
    for name in ("libblas.so.3", "libopenblas.so.0"):
        image.link(f"usr/lib/aarch64-linux-gnu/{name}", "openblas-serial/libopenblas.so.0")
    lines = []
    for step in steps:
        command = " ".join(shlex.quote(str(word)) for word in step.argv)
        errors = " 2>/dev/null" if step.quiet else ""
        command = f"as_user {command}" if step.as_user else command
        lines += [f"echo '@@begin {step.name}'",
                  f"timeout -s KILL {step.timeout_s} {command}{errors}",
                  f"s=$?; echo; echo \"@@end {step.name} $s\""]
    image.text("etc/steps", "\n".join(lines) + "\n")
    image.write(path)


def command_line(machine, kernel, image):
    return ["qemu-system-aarch64", "-M", "virt,dtb-randomness=off", "-cpu", machine.cpu,
            "-smp", str(machine.cpus), "-m", "768", "-nographic", "-nic", "none", "-no-reboot",
            "-rtc", "base=2026-01-01T00:00:00,clock=vm",
            *(["-icount", f"shift={machine.shift},sleep=off"] if machine.icount else []),
            "-kernel", str(kernel), "-initrd", str(image),
            "-append", "console=ttyAMA0 panic=-1 quiet loglevel=1"]


def parse_console(text):
    """Results by step, of those that came to their end; pure."""
    return {match[1]: Result(match[2], int(match[3])) for match in re.finditer(
        r"^@@begin (\S+)\n(.*?)\n@@end \1 (\d+)$", text.replace("\r", ""),
        re.MULTILINE | re.DOTALL)}


def boot(space, name, machine, steps, timeout_s):
    """Results by the name of the step. Failure when the guest does not come to its end."""
    space.boots.mkdir(exist_ok=True)
    image = space.boots / f"{name}.cpio"
    make_image(space, steps, image)
    console = space.boots / f"{name}.log"
    argv = command_line(machine, space.kernel, image)
    ended = True
    with open(console, "wb") as out:
        try:
            subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                           timeout=timeout_s, check=False)
        except subprocess.TimeoutExpired:
            ended = False
    image.unlink()
    text = console.read_bytes().decode(errors="replace")
    results = parse_console(text)
    missing = [step.name for step in steps if step.name not in results]
    if missing:
        how = "panicked or ended" if ended else f"did not end within {timeout_s} s"
        last = "\n".join(text.splitlines()[-25:])
        raise Failure(f"the guest of boot '{name}' {how} before '{missing[0]}' was done; its last "
                      f"lines:\n{last}")
    return results
