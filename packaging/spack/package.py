# A recipe for Spack, to be put into a repository of one's own: REPO/packages/hwprof/package.py.
# The sources are an archive that is made of a clone, in the folder where Spack is called:
#
#   git archive --prefix=hwprof-0.1.0/ -o hwprof-0.1.0.tar.gz HEAD
#   spack install --no-checksum hwprof
#
# No BLAS is among its dependencies: hwprof loads what programs get, and judges that.
import os

from spack.package import *

try:  # Spack 1.0 and later keep build systems apart
    from spack_repo.builtin.build_systems.meson import MesonPackage
except ImportError:
    pass


class Hwprof(MesonPackage):
    """Hardware-counter profiler for numeric code that judges the BLAS under it."""

    manual_download = True
    license("Apache-2.0")

    version("0.1.0")

    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("cmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.8:", type=("build", "run"))
    depends_on("cli11@2.1:", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("tl-expected", type="build")
    depends_on("elfutils")
    depends_on("fmt")
    depends_on("highway@1.0.3:")
    depends_on("hwloc")
    depends_on("icu4c")
    depends_on("libpfm4")
    depends_on("libseccomp")
    depends_on("spdlog")
    depends_on("zlib-api")
    depends_on("zydis@4:", when="target=x86_64:")

    requires("%gcc@12:", "%clang@14:", policy="one_of")

    def url_for_version(self, version):
        return f"file://{os.getcwd()}/hwprof-{version}.tar.gz"

    def meson_args(self):
        return ["-Dtests=false", "-Down_openblas=false", "-Dbuildtype=release"]

    def setup_run_environment(self, env):
        env.prepend_path("PYTHONPATH", self.prefix.share.hwprof.python)
