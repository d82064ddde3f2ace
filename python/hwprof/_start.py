"""What `hwprof run --layers` puts into a Python process: `import hwprof` works, and PyTorch's
modules are watched from the moment when torch has been imported.

By finders in sys.meta_path, not by sys.path: a program that replaces its path keeps them.
"""

import os
import sys


class _Finder:
    """Finds the package hwprof, and takes part in the import of torch."""

    def __init__(self, package):
        self._package = package
        self._busy = False

    def find_spec(self, name, path=None, target=None):
        if name == "hwprof":
            return self._own_spec()
        if name != "torch" or self._busy:
            return None
        self._busy = True  # the other finders are asked, not this one again
        try:
            return self._torch_spec(name, path, target)
        finally:
            self._busy = False

    def _own_spec(self):
        from importlib.util import spec_from_file_location

        return spec_from_file_location("hwprof", os.path.join(self._package, "__init__.py"),
                                       submodule_search_locations=[self._package])

    def _torch_spec(self, name, path, target):
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find is not None else None
            if spec is not None:
                _watch_after(spec.loader)
                return spec
        return None


def _watch_after(loader):
    """The loader stays itself, and runs the module; it is ours until that is done."""
    run = getattr(loader, "exec_module", None)
    if run is None:
        return

    def exec_module(module):
        del loader.exec_module
        try:
            run(module)
        except BaseException as error:
            _tell_failure(error)
            raise
        _watch_modules()

    try:
        loader.exec_module = exec_module
    except AttributeError:
        pass


def _watch_modules():
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        import hwprof._modules as modules

        modules.watch()
    except Exception as error:
        _tell("PyTorch's modules could not be watched: %s: %s" % (type(error).__name__, error))
    finally:
        sys.dont_write_bytecode = writes


def _tell_failure(error):
    _tell("torch was not imported: %s: %s" % (type(error).__name__, error))


def _tell(problem):
    try:
        from hwprof import _record

        _record.write({"problem": problem})
    except Exception:
        pass


def start(package):
    sys.meta_path.insert(0, _Finder(package))
    from hwprof import _record

    _record.write({"python": sys.version.split()[0]})
