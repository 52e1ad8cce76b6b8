"""The C library's allocator, told to keep what is freed for the next tensor of the same size.

Workers of Dask are started so that freed memory goes back to the system at once
(`MALLOC_TRIM_THRESHOLD_=65536`), and every tensor of more than 128 KiB then begins with a page
fault for each of its pages: a fifth of the time of certification.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["keeping_memory"]

TRIM, MMAP = -1, -3  # parameters of glibc's mallopt
KEPT = 1 << 30  # bytes that are not given back
LARGEST = 32 << 20  # bytes: the largest block that can be kept
USUAL = 128 << 10  # bytes: glibc's own value of both
VARIABLE = "MALLOC_TRIM_THRESHOLD_"


@contextmanager
def keeping_memory() -> Iterator[None]:
    """Keep freed memory for a while, then give it back; without glibc, do nothing."""
    library = ctypes.CDLL(None)
    value = os.environ.get(VARIABLE, "")
    if not value.isdecimal() or not hasattr(library, "mallopt"):  # nobody changed it
        yield
        return
    library.mallopt(TRIM, KEPT)
    library.mallopt(MMAP, LARGEST)
    try:
        yield
    finally:
        library.mallopt(TRIM, int(value))
        library.mallopt(MMAP, USUAL)
        library.malloc_trim(0)
