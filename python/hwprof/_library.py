"""The C interface of libhwprof (hwprof.h), by ctypes."""

import ctypes
import glob
import os

_SONAME = "libhwprof.so.0"


def _candidates():
    given = os.environ.get("HWPROF_LIBRARY")
    if given:
        yield given
    package = os.path.dirname(os.path.abspath(__file__))
    # As it was built, then as it is installed: PREFIX/share/hwprof/python/hwprof.
    yield os.path.join(package, "..", "..", "counters", "regions", _SONAME)
    prefix = os.path.join(package, "..", "..", "..", "..")
    yield from glob.glob(os.path.join(prefix, "lib*", _SONAME))
    yield from glob.glob(os.path.join(prefix, "lib*", "*", _SONAME))
    yield _SONAME


def _load():
    for path in _candidates():
        if path != _SONAME and not os.path.exists(path):
            continue
        try:
            # An edge is too short to give the interpreter's lock away for it.
            return ctypes.PyDLL(path)
        except OSError:
            continue
    raise ImportError(f"{_SONAME} is not there: it belongs to hwprof, which meson install installs "
                      "whole; HWPROF_LIBRARY names another place")


_LIBRARY = _load()


def _function(name, result, *arguments):
    function = getattr(_LIBRARY, name)
    function.restype, function.argtypes = result, arguments
    return function


enter = _function("hwprof_enter", ctypes.c_uint64, ctypes.c_char_p)
leave = _function("hwprof_leave", None, ctypes.c_uint64)
declare = _function("hwprof_declare", None, ctypes.c_uint64, ctypes.c_double, ctypes.c_double)
describe = _function("hwprof_describe", None, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_char_p)
write = _function("hwprof_write", ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int)
_report = _function("hwprof_report", ctypes.c_void_p, ctypes.c_int)
_free = _function("hwprof_free", None, ctypes.c_void_p)

TEXT, JSON = 0, 1


def report():
    text = _report(TEXT)
    if not text:
        raise MemoryError("no memory for the report of regions")
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        _free(text)
