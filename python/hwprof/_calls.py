"""Tells the audit library (src/observe/audit/table.h) in which module a thread is, so that it can
say which layer a call of a BLAS belongs to."""

import mmap
import os
import struct

_MAGIC = 0x394C4C4143505748
# As struct OpenModules in table.h: a header, a slot a thread, a slot a process.
_HEADER, _THREADS, _PROCESSES = 16, 4096, 256
_SLOT = struct.Struct("=IIII")  # thread, process, module, alone


class _Table:
    def __init__(self, memory, offset):
        self._memory = memory
        self._threads = offset + _HEADER
        self._processes = self._threads + _THREADS * _SLOT.size
        struct.pack_into("=I", memory, offset, 1)

    def set(self, thread, process, module, alone):
        place = self._threads + thread % _THREADS * _SLOT.size
        _SLOT.pack_into(self._memory, place, thread, process, module, alone)

    def set_process(self, process, module, alone):
        place = self._processes + process % _PROCESSES * _SLOT.size
        _SLOT.pack_into(self._memory, place, process, process, module, alone)


class _NoTable:
    def set(self, thread, process, module, alone):
        pass

    def set_process(self, process, module, alone):
        pass


def open_table():
    """The table that hwprof has named; one that forgets where there is none."""
    place, offset = os.environ.get("HWPROF_CALL_TABLE"), os.environ.get("HWPROF_OPEN_MODULES")
    if not place or not offset:
        return _NoTable()
    path, _, nonce = place.rpartition(":")
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        memory = mmap.mmap(file, os.fstat(file).st_size)
    finally:
        os.close(file)
    if struct.unpack_from("=QQ", memory) != (_MAGIC, int(nonce)):
        memory.close()
        raise ValueError("another file has come to the place of the table of calls")
    return _Table(memory, int(offset))
