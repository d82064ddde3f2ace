"""Runs when a Python of `hwprof run --layers` starts: this folder stands first in its PYTHONPATH.

The program must not notice: the folder leaves sys.path at once, the sitecustomize that it would
have had alone runs as always, and a failure of ours is none of the program's.
"""

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _leave_the_path():
    for place, folder in enumerate(sys.path):
        if os.path.abspath(folder) == _FOLDER:
            del sys.path[place]
            return


def _start_hwprof():
    package = os.path.join(os.path.dirname(_FOLDER), "hwprof")
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with open(os.path.join(package, "_start.py")) as file:
            code = compile(file.read(), file.name, "exec")
        names = {"__name__": "_hwprof_start", "__file__": file.name}
        exec(code, names)
        names["start"](package)
    except Exception:
        pass  # hwprof finds that this process told nothing, and says so
    finally:
        sys.dont_write_bytecode = writes


def _run_the_real_one():
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        # As alone: the site module knows this error, and goes on.
        raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_leave_the_path()
if sys.version_info >= (3, 8):
    _start_hwprof()
_run_the_real_one()
