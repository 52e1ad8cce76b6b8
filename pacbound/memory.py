"""Check the available memory before large allocations, and keep freed memory for reuse."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pacbound.errors import OutOfMemory

__all__ = ["ensure_memory", "keeping_memory", "peak_memory"]

TRIM, MAPPED = -1, -4  # glibc's M_TRIM_THRESHOLD and M_MMAP_MAX
USUAL_TRIM, USUAL_MAPPED = 128 << 10, 65536  # glibc's default values: bytes, blocks
NEVER = (1 << 31) - 1  # bytes: the largest threshold that mallopt accepts

_lock = threading.Lock()
_keepers = 0


def ensure_memory(needed: int, what: str) -> None:
    """Refuse work that needs more memory than the machine has or the process may use."""
    if not hasattr(os, "sysconf"):
        return  # not on Unix
    import resource

    limits = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(soft)
    if needed > min(limits):
        raise OutOfMemory(
            f"{what} would take {needed / 2**30:.1f} GiB of memory, but only "
            f"{min(limits) / 2**30:.1f} GiB are available; give a smaller one"
        )


def peak_memory() -> int | None:
    """The largest resident memory of this process so far, in bytes; None where it is unknown."""
    if os.name != "posix":
        return None
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Keep freed memory for the next tensor of the same size; return it at the end.

    By default the C library maps a large block anew for every tensor and unmaps it afterwards. Each
    new page causes a page fault, which takes up to a third of the time of a training step. Inside
    this context, all blocks come from the heap, and freed blocks are kept. Without glibc, nothing
    happens. When the contexts of several threads overlap, the last one returns the memory.
    """
    global _keepers
    library = ctypes.CDLL(None) if os.name == "posix" else None
    if library is None or not hasattr(library, "gnu_get_libc_version"):
        yield
        return
    with _lock:
        _keepers += 1
        library.mallopt(MAPPED, 0)
        library.mallopt(TRIM, NEVER)
    try:
        yield
    finally:
        with _lock:
            _keepers -= 1
            if not _keepers:
                asked = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
                library.mallopt(MAPPED, USUAL_MAPPED)
                library.mallopt(TRIM, int(asked) if asked.isdecimal() else USUAL_TRIM)
                library.malloc_trim(0)
