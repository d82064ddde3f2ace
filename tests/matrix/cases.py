"""The matrix as a table: what is run, and what hwprof must say of it on the CPU at hand."""
import dataclasses
import typing


@dataclasses.dataclass
class Cpu:
    """What of the CPU decides a verdict."""

    flags: frozenset
    family: int = 0
    model: int = 0
    amd: bool = False

    @classmethod
    def here(cls):
        values = {}
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, value = line.partition(":")
                values.setdefault(name.strip(), value.strip())
        return cls(frozenset(values.get("flags", "").split()), int(values.get("cpu family", 0)),
                   int(values.get("model", 0)), values.get("vendor_id") == "AuthenticAMD")

    @property
    def widest(self):
        if "avx512f" in self.flags:
            return 512
        return 256 if {"avx2", "fma"} <= self.flags else 128

    @property
    def openblas_picks(self):
        """Vector bits of the kernels that OpenBLAS 0.3.21 takes by itself: not all that there are
        on Emerald Rapids, which it does not know and takes for a Prescott."""
        emerald_rapids = not self.amd and (self.family, self.model) == (6, 207)
        return 128 if emerald_rapids else self.widest

    def verdict_of(self, kernels):
        """Of kernels "512", "256", "256-no-fma", "128" or "scalar"."""
        if kernels in ("128", "scalar"):
            return "unoptimised" if self.widest > 128 else "optimal"
        if kernels == "256-no-fma":
            return "suboptimal" if self.widest >= 256 else "optimal"
        return "optimal" if int(kernels) >= self.widest else "suboptimal"


@dataclasses.dataclass
class Case:
    name: str
    command: typing.List[str]
    verdict: str
    provider: typing.Optional[str]
    cores: typing.Optional[typing.Set[str]] = None  # None: not asserted; {None}: there is none
    width: typing.Optional[str] = None  # of the hot loop; None: not asserted
    fma: typing.Optional[bool] = None
    folders: typing.Sequence = ()  # of LD_LIBRARY_PATH
    env: typing.Dict[str, str] = dataclasses.field(default_factory=dict)
    finding: str = ""  # a part of a sentence that must be there


PYTHON = "/usr/bin/python3"

NUMPY = """
import time, numpy
a = numpy.ones(({n}, {n}), dtype=numpy.{type})
end = time.monotonic() + 1
while time.monotonic() < end: a @ a
"""
PROCESSES = """
import multiprocessing, time, numpy
def work(seconds):
    a = numpy.ones((256, 256), dtype=numpy.float32)
    end = time.monotonic() + seconds
    while time.monotonic() < end: a @ a
if __name__ == "__main__":
    with multiprocessing.Pool(2) as pool: pool.map(work, [1.0, 1.0])
"""
TORCH = """
import time, torch
{setup}
end = time.monotonic() + 2
while time.monotonic() < end: {work}
"""
TORCH_CASES = {
    "mm": ("a = torch.ones(512, 512)", "torch.mm(a, a)"),
    "Linear": ("f = torch.nn.Linear(512, 512); a = torch.ones(512, 512)", "f(a)"),
    "Conv1d": ("f = torch.nn.Conv1d(256, 128, 3); a = torch.ones(16, 256, 128)", "f(a)"),
    "Conv1d, mkldnn off": (
        "torch.backends.mkldnn.enabled = False\n"
        "f = torch.nn.Conv1d(256, 128, 3); a = torch.ones(16, 256, 128)", "f(a)"),
    "training step": (
        "f = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(),"
        " torch.nn.Linear(512, 10))\n"
        "o = torch.optim.SGD(f.parameters(), lr=0.01); a = torch.ones(512, 512)\n"
        "def step():\n"
        "    o.zero_grad(); f(a).square().mean().backward(); o.step()", "step()"),
}


def openblas_cases(cpu, programs):
    gemm = [programs.gemm(), "512", "1"]
    auto = {512: {"SkylakeX", "Cooperlake", "SapphireRapids"}, 256: {"Haswell", "Zen"},
            128: {"Prescott"}}
    widest, fma = str(cpu.openblas_picks), cpu.openblas_picks > 128
    for kind, folder in programs.openblas.items():
        def case(name, kernels, cores, env, program=gemm, at=folder):
            return Case("OpenBLAS " + name, program, cpu.verdict_of(kernels), "openblas", cores,
                        kernels.split("-")[0], "no-fma" not in kernels and kernels != "128",
                        [at], env)
        yield case(kind + ", auto", widest, auto.get(cpu.openblas_picks), {})
        forced = [("Haswell", "256", {"avx2", "fma"}), ("Sandybridge", "256-no-fma", {"avx"}),
                  ("Prescott", "128", set()), ("SkylakeX", "512", {"avx512f"})]
        for core, kernels, needs in forced:
            if needs <= cpu.flags:
                yield case("%s, %s" % (kind, core), kernels, {core}, {"OPENBLAS_CORETYPE": core})
    folder = programs.openblas["pthread"]
    yield Case("OpenBLAS pthread, float64", gemm + ["d"], cpu.verdict_of(widest), "openblas",
               auto.get(cpu.openblas_picks), widest, fma, [folder])
    yield Case("OpenBLAS ILP64", [programs.gemm_ilp64(), "512", "1"], cpu.verdict_of(widest),
               "openblas", auto.get(cpu.openblas_picks), widest, fma, [programs.ilp64])
    yield Case("OpenBLAS static, stripped", [programs.gemm_static(), "512", "1"],
               cpu.verdict_of(widest), "openblas", {None}, widest, fma)
    yield Case("OpenBLAS by dlopen", [programs.gemm_dlopen(), "512", "1"], cpu.verdict_of(widest),
               "openblas", auto.get(cpu.openblas_picks), widest, fma, [folder])


def other_library_cases(cpu, programs):
    gemm = [programs.gemm(), "256", "1"]
    blis = [programs.gemm_blis(), "512", "1"]
    # BLIS 0.9 knows Zen 3 and no later one.
    if cpu.amd and cpu.family == 25 and cpu.model < 16:
        yield Case("BLIS, auto", blis, cpu.verdict_of("256"), "blis", {"zen3"}, "256", True,
                   [programs.blis])
    if {"avx2", "fma"} <= cpu.flags:
        yield Case("BLIS, haswell", blis, cpu.verdict_of("256"), "blis", {"haswell"}, "256", True,
                   [programs.blis], {"BLIS_ARCH_TYPE": "3"})
    yield Case("BLIS, penryn", blis, cpu.verdict_of("128"), "blis", {"penryn"}, "128", False,
               [programs.blis], {"BLIS_ARCH_TYPE": "5"})
    yield Case("ATLAS", gemm, cpu.verdict_of("128"), "atlas", {None}, "128", False,
               [programs.atlas, programs.atlas.parent])
    yield Case("reference", gemm, cpu.verdict_of("scalar"), "reference", {None}, None, None,
               [programs.reference])
    yield Case("reference, OpenBLAS mapped by LAPACK", [programs.gemm_lapack(), "256", "1"],
               cpu.verdict_of("scalar"), "reference", {None}, None, None, [programs.mixed])


def cases_without_blas(programs):
    yield Case("no BLAS", [programs.idle()], "not-called", None, finding="No BLAS call")
    yield Case("Eigen", [programs.eigen()], "not-called", None, finding="No BLAS call")
    yield Case("numpy, imported only",
               [PYTHON, "-c", "import numpy\nfor i in range(10**7): pass"], "not-called", None,
               folders=[programs.openblas["pthread"]])


def python_cases(cpu, programs):
    folders = [programs.openblas["pthread"]]
    best = cpu.verdict_of(str(cpu.openblas_picks))
    for name, n, kind, verdict in (("matmul", 512, "float32", best),
                                   ("small matrices", 16, "float32", "overhead-bound"),
                                   ("float64", 512, "float64", best)):
        yield Case("numpy, " + name, [PYTHON, "-c", NUMPY.format(n=n, type=kind)], verdict,
                   "openblas", folders=folders)
    yield Case("numpy, several processes", [PYTHON, "-c", PROCESSES], best, "openblas",
               folders=folders)
    for name, (setup, work) in TORCH_CASES.items():
        onednn = name == "Conv1d"
        yield Case("torch, " + name, [PYTHON, "-c", TORCH.format(setup=setup, work=work)],
                   "other-library" if onednn else best, "onednn" if onednn else "openblas",
                   folders=folders, finding="oneDNN" if onednn else "")


def all_cases(cpu, programs):
    yield from openblas_cases(cpu, programs)
    yield from other_library_cases(cpu, programs)
    yield from cases_without_blas(programs)
    yield from python_cases(cpu, programs)
