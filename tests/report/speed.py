"""A claim of speed that holds on a busy machine: the time that processes computed also counts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

__all__ = ["once_within"]

ATTEMPTS = 5


def once_within(seconds: float, action: Callable[[], object]) -> None:
    """One of a few attempts takes less than so many seconds, of the clock or of computing."""
    taken = []
    for _ in range(ATTEMPTS):
        clock, computed = time.perf_counter(), _computed()
        action()
        taken.append(min(time.perf_counter() - clock, _computed() - computed))
        if taken[-1] < seconds:
            return
    raise AssertionError(f"the fastest of {ATTEMPTS} attempts took {min(taken):.1f} s")


def _computed() -> float:
    """The CPU time of this process and of all below it, of those that ended too."""
    if not Path("/proc/self/stat").exists():
        return time.perf_counter()
    found = {pid: (parent, ticks) for pid, parent, ticks in _processes()}
    family = {os.getpid()}
    while more := {pid for pid, (parent, _) in found.items() if parent in family} - family:
        family |= more
    return sum(found[pid][1] for pid in family if pid in found) / os.sysconf("SC_CLK_TCK")


def _processes() -> Iterator[tuple[int, int, int]]:
    """The id, the parent, and the clock ticks of every process and its ended children."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            fields = path.read_text().rpartition(")")[2].split()
            yield int(path.parent.name), int(fields[1]), sum(map(int, fields[11:15]))
