"""Builds the programs of the matrix against the unpacked libraries."""
import pathlib
import subprocess

from libraries import library_folder

SOURCES = pathlib.Path(__file__).resolve().parent / "programs"


class Programs:
    """The folders of the libraries, and the programs that were built against them."""

    def __init__(self, root):
        self.root = root
        self.built = root / "programs"
        self.built.mkdir(parents=True, exist_ok=True)
        folder = lambda package, name="libblas.so.3": library_folder(root, package, name)
        self.openblas = {kind: folder("libopenblas0-" + kind)
                         for kind in ("pthread", "serial", "openmp")}
        self.ilp64 = folder("libopenblas64-0-pthread", "libopenblas64.so.0")
        self.static = folder("libopenblas-pthread-dev", "libopenblas.a")
        self.blis = folder("libblis4-pthread", "libblis.so.4")
        self.atlas = folder("libatlas3-base")
        self.reference = folder("libblas3")
        self.mixed = self._mixed()

    def _mixed(self):
        """libblas.so.3 is the reference, liblapack.so.3 that of OpenBLAS."""
        mixed = self.root / "mixed"
        mixed.mkdir(exist_ok=True)
        for name, source in (("libblas.so.3", self.reference),
                             ("liblapack.so.3", self.openblas["pthread"]),
                             ("libopenblas.so.0", self.openblas["pthread"])):
            link = mixed / name
            if not link.is_symlink():
                link.symlink_to(source / name)
        return mixed

    def _compile(self, name, source, *arguments, compiler="gcc"):
        target = self.built / name
        if not target.exists() or target.stat().st_mtime < (SOURCES / source).stat().st_mtime:
            subprocess.run([compiler, "-O2", "-o", str(target), str(SOURCES / source),
                            *map(str, arguments)], check=True)
        return str(target)

    def gemm(self):
        return self._compile("gemm", "gemm.c", self.reference / "libblas.so.3")

    def gemm_ilp64(self):
        return self._compile("gemm_ilp64", "gemm.c", "-DINT=long",
                             self.ilp64 / "libopenblas64.so.0")

    def gemm_blis(self):
        return self._compile("gemm_blis", "gemm.c", self.blis / "libblis.so.4")

    def gemm_static(self):
        return self._compile("gemm_static", "gemm.c", "-static", "-s",
                             self.static / "libopenblas.a", "-lpthread", "-lm")

    def gemm_dlopen(self):
        return self._compile("gemm_dlopen", "gemm.c", '-DOPEN="libblas.so.3"', "-ldl")

    def gemm_lapack(self):
        return self._compile("gemm_lapack", "gemm.c", "-DLAPACK", self.mixed / "libblas.so.3",
                             self.mixed / "liblapack.so.3",
                             "-Wl,-rpath-link," + str(self.mixed))

    def eigen(self):
        return self._compile("eigen", "eigen.cpp", "-I", self.root / "libeigen3-dev/usr/include/eigen3",
                             compiler="g++")

    def idle(self):
        return self._compile("idle", "idle.c")
