"""What oneDNN computes with at most, by its own word. Asked at the end, since the question may
settle the answer."""

import ctypes

# Bits of dnnl_cpu_isa_t that stand for a width, as versions 2 and 3 have them.
_WIDTHS = ((0x20, "avx512"), (0x4, "avx2"), (0x2, "avx"), (0x1, "sse"))


def _libraries():
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
        return {line.split(None, 5)[5].rstrip("\n") for line in file if "/libdnnl.so" in line}


def vectors():
    """"avx512"; None: no oneDNN of its own file was loaded, or it does not tell."""
    for path in sorted(_libraries()):
        try:
            isa = ctypes.CDLL(path).dnnl_get_effective_cpu_isa()
        except (OSError, AttributeError):
            continue
        for bit, name in _WIDTHS:
            if isa & bit:
                return name
    return None
