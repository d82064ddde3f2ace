"""The guest's root: an initramfs (cpio, "newc") of programs and the libraries that they need.

Both formats are read and written here in a few lines, so that neither cpio nor root is needed and
the same files give the same bytes. Linux: Documentation/driver-api/early-userspace/buffer-format.
"""
import os
import pathlib
import stat
import struct

LIBRARY_FOLDERS = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu")


def elf_needs(path):
    """(names of DT_NEEDED, path of the interpreter or None) of a 64-bit little-endian ELF file."""
    data = pathlib.Path(path).read_bytes()
    if data[:6] != b"\x7fELF\x02\x01":
        return [], None
    offset, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    loads = [(vaddr, at, filesz) for kind, _, at, vaddr, _, filesz in headers if kind == 1]

    def file_offset(address):
        return next(at + address - vaddr for vaddr, at, filesz in loads
                    if vaddr <= address < vaddr + filesz)

    def text(at):
        return data[at:data.index(b"\0", at)].decode()

    interpreter, entries = None, []
    for kind, _, at, _, _, filesz in headers:
        if kind == 3:  # PT_INTERP
            interpreter = text(at)
        if kind == 2:  # PT_DYNAMIC
            entries = list(struct.iter_unpack("<QQ", data[at:at + filesz // 16 * 16]))
    strings = next((file_offset(value) for tag, value in entries if tag == 5), None)  # DT_STRTAB
    return [text(strings + value) for tag, value in entries if tag == 1], interpreter


class Image:
    def __init__(self, sysroot):
        self.sysroot = pathlib.Path(sysroot)
        self.entries = {}  # path in the guest, without the first slash -> (mode, content)

    def folder(self, path):
        if path and path not in self.entries:
            self.folder(os.path.dirname(path))
            self.entries[path] = (stat.S_IFDIR | 0o755, b"")

    def text(self, path, content, mode=0o644):
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | mode, content.encode())

    def link(self, path, target):
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFLNK | 0o777, target.encode())

    def program(self, path, source):
        """A program or library with everything that it needs."""
        if path in self.entries:
            return
        source = pathlib.Path(source)
        if source.is_symlink():  # libpfm.so.4: what it points to names the version
            real = source.resolve()
            self.link(path, real.name)
            self.program(os.path.join(os.path.dirname(path), real.name), real)
            return
        self.folder(os.path.dirname(path))
        self.entries[path] = (stat.S_IFREG | 0o755, source.read_bytes())
        needed, interpreter = elf_needs(source)
        if interpreter is not None:
            self.program(interpreter.lstrip("/"), self.find(os.path.basename(interpreter)))
        for name in needed:
            self.program(f"lib/aarch64-linux-gnu/{name}", self.find(name))

    def find(self, name):
        for folder in LIBRARY_FOLDERS + ("lib",):
            candidate = self.sysroot / folder / name
            if candidate.exists():
                return candidate
        raise FileNotFoundError(f"no package of the guest has {name}")

    def write(self, path):
        with open(path, "wb") as out:
            for number, name in enumerate(sorted(self.entries), start=1):
                mode, content = self.entries[name]
                out.write(_record(name, number, mode, content))
            out.write(_record("TRAILER!!!", 0, 0, b""))


def _record(name, number, mode, content):
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(header) + _padded(content)


def _padded(data):
    return data + b"\0" * (-len(data) % 4)
