"""A command that must succeed. Standard library only."""

import subprocess


def run(*command, **options):
    """Runs `command`; its output is in the failure."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError("%s: exit %d\n%s%s" % (
            " ".join(command), done.returncode, done.stdout, done.stderr))
    return done.stdout
