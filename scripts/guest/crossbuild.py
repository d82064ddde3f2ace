"""Cross-builds hwprof and its hardware tests against the sysroot, as a release build of meson."""
import os

from .common import call, write_if_changed

# Of meson, what the guest can run; made for every boot, and for those that name them.
PROGRAMS = ["src/hwprof", "tests/hardware/hardware_test", "tests/hardware/known_count",
            "tests/hardware/as_user"]
KERNEL_TESTS = ["tests/kernels_tests"]

CROSS_FILE = """\
# Written by scripts/vm.
[binaries]
c = 'aarch64-linux-gnu-gcc'
cpp = 'aarch64-linux-gnu-g++'
ar = 'aarch64-linux-gnu-gcc-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
cmake = 'cmake'

[properties]
sys_root = '{sysroot}'
pkg_config_libdir = ['{sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig', '{sysroot}/usr/share/pkgconfig']

[built-in options]
c_args = ['--sysroot={sysroot}']
c_link_args = ['--sysroot={sysroot}']
cpp_args = ['--sysroot={sysroot}']
cpp_link_args = ['--sysroot={sysroot}']

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
"""


def build(space):
    cross_file = space.root / "arm64.ini"
    write_if_changed(cross_file, CROSS_FILE.format(sysroot=space.sysroot))
    # Flags for the machine that builds do not suit the guest.
    env = {name: value for name, value in os.environ.items()
           if name not in ("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS",
                           "PKG_CONFIG_PATH", "MESON_TESTTHREADS")}
    if not (space.build / "build.ninja").exists():
        print("configuring the cross-build ...", flush=True)
        call(["meson", "setup", "--cross-file", cross_file, "-Dbuildtype=release",
              "-Dunity=on", "-Dunity_size=10",
              space.build, space.source], 300, env=env)
    print("cross-building ...", flush=True)
    call(["ninja", "-C", space.build] + PROGRAMS + KERNEL_TESTS, 1800, env=env)
