"""Regions of a Python program, and the layers of a PyTorch one, for hwprof.

    import hwprof
    with hwprof.region("LINEAR PASS"):
        ...
    @hwprof.region
    def step(batch): ...

`hwprof run -- python3 main.py` shows the regions; without it hwprof.report() has them as text.
Standard library only, over the C interface of libhwprof (hwprof.h says what is counted).
"""

import functools

__all__ = ["region", "report", "watch_modules", "load_ipython_extension"]


def region(name):
    """A region of that name, as a context or a decorator; `@hwprof.region` takes the function's."""
    if callable(name):
        return _Region(name.__qualname__)(name)
    return _Region(str(name))


class _Region:
    __slots__ = ("_name", "_open")

    def __init__(self, name):
        self._name = name.replace("\0", "?").encode("utf-8", "replace")
        self._open = []  # tickets, of recursion and of other threads too

    def __enter__(self):
        from hwprof import _library

        self._open.append(_library.enter(self._name))
        return self

    def __exit__(self, *_error):
        from hwprof import _library

        _library.leave(self._open.pop())
        return False

    def __call__(self, function):
        name = self._name.decode()

        @functools.wraps(function)
        def inside(*arguments, **named):
            with _Region(name):
                return function(*arguments, **named)

        return inside


def report():
    """What was recorded up to now, as text."""
    from hwprof import _library

    return _library.report()


def watch_modules():
    """Makes a region of each forward and backward of PyTorch's modules from now on. `hwprof run
    --layers` does it by itself."""
    from hwprof import _modules

    _modules.watch()


def run_cell(line, cell, run):
    """%%hwprof [NAME]: runs the cell in a region, then prints what was recorded."""
    with region(line.strip() or "cell"):
        result = run(cell)
    print(report(), end="")
    return result


def load_ipython_extension(shell):
    """%load_ext hwprof"""
    import sys

    if "torch" in sys.modules:
        watch_modules()

    def hwprof(line, cell):
        run_cell(line, cell, shell.run_cell)

    shell.register_magic_function(hwprof, magic_kind="cell", magic_name="hwprof")
