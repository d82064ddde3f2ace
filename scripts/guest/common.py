"""What the steps of scripts/vm share: folders, failures, and child processes that cannot hang."""
import fcntl
import pathlib
import shutil
import subprocess


class Unavailable(Exception):
    """QEMU, the compiler or the packages cannot be had here: the suite is skipped."""


class Failure(Exception):
    """Something that should work does not: the suite fails."""


class Workspace:
    """The folders below the one that --dir names."""

    def __init__(self, root, source):
        self.source = source
        self.root = root
        self.apt = root / "apt"
        self.sysroot = root / "sysroot"
        self.kernel = root / "vmlinuz"
        self.build = root / "cross"
        self.boots = root / "boots"
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._lock = open(root / "lock", "w")
        except OSError as problem:
            raise Failure(f"{problem.filename}: {problem.strerror}") from problem
        fcntl.flock(self._lock, fcntl.LOCK_EX)  # one call at a time; given back at exit


def need_program(name, package):
    if shutil.which(name) is None:
        raise Unavailable(f"{name} is not installed (scripts/setup vm installs {package})")


def call(argv, timeout_s, env=None, cwd=None, error=Failure):
    """Output of a command; `error` with its last lines when it fails or takes too long."""
    argv = [str(word) for word in argv]
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout_s, env=env, cwd=cwd, check=False)
    except subprocess.TimeoutExpired as expired:
        raise error(f"{argv[0]} did not end within {timeout_s} s") from expired
    except OSError as problem:
        raise error(f"{argv[0]}: {problem.strerror}") from problem
    if done.returncode != 0:
        last = "\n".join(done.stdout.splitlines()[-30:])
        raise error(f"{' '.join(argv[:3])} ... failed ({done.returncode}):\n{last}")
    return done.stdout


def write_if_changed(path, text):
    """Leaves an equal file alone, so that nothing is configured or built again for it."""
    path = pathlib.Path(path)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
