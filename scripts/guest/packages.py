"""arm64 packages without `dpkg --add-architecture`: apt with a state of its own (APT_CONFIG).

An empty dpkg status makes apt resolve the whole closure of what is asked for, and --download-only
leaves the machine as it is. The sources are the machine's own. apt.conf(5).
"""
import hashlib
import os
import re
import shutil

from .common import Unavailable, call

# Both builds of OpenBLAS, a shell for /init, and `perf stat` as the oracle.
GUEST = ["libopenblas0-serial", "libopenblas0-pthread", "busybox-static", "linux-perf"]
KERNEL = "linux-image-cloud-arm64"  # a metapackage: it names the kernel of the day

# What tests on the machine itself watch.
NOT_IN_GUEST = ["libdnnl-dev", "libfftw3-dev"]

# The compiler brings its own libstdc++-dev and libgcc-dev; the C library must be the guest's.
C_LIBRARY = "libc6-dev"

CONFIGURATION = """\
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Dir::State "{apt}";
Dir::State::status "{apt}/status";
Dir::State::lists "{apt}/lists";
Dir::Cache "{apt}";
"""


def wanted_packages(space):
    """What the guest has, and what hwprof and its tests are built with: as scripts/packages says."""
    listed = [line.split() for line in (space.source / "scripts/packages").read_text().splitlines()]
    build = [words[1] for words in listed if words and words[0] in ("build", "test")]
    return GUEST + [C_LIBRARY] + [name for name in build
                                   if name.endswith("-dev") and name not in NOT_IN_GUEST]


def stamp_text(packages):
    wanted = "\n".join(packages + [KERNEL, CONFIGURATION])
    return hashlib.sha256(wanted.encode()).hexdigest() + "\n"


def fetch(space):
    stamp = space.root / "fetched"
    wanted = wanted_packages(space)
    if stamp.exists() and stamp.read_text() == stamp_text(wanted):
        return
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            raise Unavailable(f"the guest's packages come through {program}, which is not here")
    print("fetching arm64 packages ...", flush=True)
    stamp.unlink(missing_ok=True)
    archives = download(space, wanted)
    shutil.rmtree(space.sysroot, ignore_errors=True)
    space.sysroot.mkdir()
    for archive in archives:
        call(["dpkg-deb", "-x", archive, space.sysroot], 120)
    kernels = sorted((space.sysroot / "boot").glob("vmlinuz-*"))
    if not kernels:
        raise Unavailable(f"{KERNEL} brought no kernel")
    shutil.copyfile(kernels[-1], space.kernel)
    shutil.rmtree(space.apt / "archives")
    stamp.write_text(stamp_text(wanted))


def download(space, wanted):
    """Paths of the archives: the closure of what is wanted, and the kernel alone."""
    shutil.rmtree(space.apt / "archives", ignore_errors=True)
    for folder in ("lists/partial", "archives/partial"):
        (space.apt / folder).mkdir(parents=True, exist_ok=True)
    (space.apt / "status").touch()
    configuration = space.apt / "apt.conf"
    configuration.write_text(CONFIGURATION.format(apt=space.apt))
    env = dict(os.environ, APT_CONFIG=str(configuration), LC_ALL="C",
               DEBIAN_FRONTEND="noninteractive")
    archives = space.apt / "archives"
    try:
        call(["apt-get", "update"], 180, env=env, error=Unavailable)
    except Unavailable as why:  # one source of many may be out of order; it shows below
        print(f"scripts/vm: {why}", flush=True)
    depends = call(["apt-cache", "depends", KERNEL], 60, env=env, error=Unavailable)
    kernel = re.search(r"Depends: (linux-image-\S+)", depends)
    if kernel is None:
        raise Unavailable(f"the package sources have no {KERNEL}")
    call(["apt-get", "-y", "--download-only", "install"] + wanted, 600, env=env, error=Unavailable)
    # Without its dependencies: they make an initramfs, and ours is made by image.py.
    call(["apt-get", "download", kernel[1]], 300, env=env, cwd=archives, error=Unavailable)
    return sorted(archives.glob("*.deb"))
