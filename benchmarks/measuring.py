"""What the benchmarks share: `--quick`, and timing in turns.

This file is not a benchmark: it has no `main`. It imports the standard library alone, for a
benchmark whose parent process must stay small (`vgg_epoch.py`).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

__all__ = ["Work", "medians", "options_of"]

Name = TypeVar("Name", bound=Hashable)
Work = Callable[[], object]


def options_of(
    parser: argparse.ArgumentParser, quick: Mapping[str, object] | None = None
) -> argparse.Namespace:
    """The options of the command line, with `--quick` among them.

    Arguments:
        quick: The defaults that `--quick` sets, by option.
    """
    words = "tiny sizes and made data, to see that it runs; the figures mean nothing"
    parser.add_argument("--quick", action="store_true", help=words)
    if parser.parse_known_args()[0].quick:
        parser.set_defaults(**(quick or {}))
    return parser.parse_args()


def medians(
    works: Mapping[Name, Work], rounds: int, clock: Callable[[], float] = time.process_time
) -> dict[Name, float]:
    """The median seconds of each work, where every round does all of them in turn.

    Whatever else the machine does falls on all alike. One more round at the start is not counted:
    it pays for allocations and caches.
    """
    times: dict[Name, list[float]] = {name: [] for name in works}
    for i in range(rounds + 1):
        for name, work in works.items():
            start = clock()
            work()
            if i:
                times[name].append(clock() - start)
    return {name: statistics.median(found) for name, found in times.items()}
