"""The interface of worker back ends, and the simplest of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from pacbound.memory import keeping_memory
from pacbound.workers.jobs import Events, FolderJob, LocalJobs, Running

__all__ = ["Chunk", "Engine", "Here", "Work", "bundles", "single_threaded"]

# torch is imported when a chunk is run: starting jobs does not need it.

Chunk = Callable[[int], Any]
MOST_IN_BUNDLE = 64


class Work(Protocol):
    """Numbered chunks, each a function of its number alone. It is sent to workers by pickle."""

    @property
    def identity(self) -> str:
        """A digest of everything that the results depend on, except the number of chunks."""

    @property
    def chunks(self) -> int:
        """The number of chunks."""

    def begin(self) -> Chunk:
        """A function that runs a chunk, for one thread: networks hold a source of noise.

        The result of a chunk consists of numbers and lists that JSON can store.
        """


class Engine(Protocol):
    """A back end: it runs short chunks of one computation, or long jobs that keep files."""

    @property
    def count(self) -> int:
        """The number of chunks or jobs that can run at the same time."""

    def results(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        """Each number and its result, as they arrive.

        Chunks may run in any order and any number of times, with the same results everywhere.
        """

    def begin(self, key: str, job: FolderJob, events: Events) -> Running:
        """Start a job; its events have this key."""


class Here(LocalJobs):
    """Runs chunks one after the other in this process."""

    count = 1

    def results(self, work: Work, numbers: Sequence[int]) -> Iterator[tuple[int, Any]]:
        chunk = single_threaded(work.begin())
        with keeping_memory():
            for number in numbers:
                yield number, chunk(number)


def single_threaded(chunk: Chunk) -> Chunk:
    """The same with one torch thread, whatever the process uses.

    Another number of threads adds in another order and rounds differently. A result must not depend
    on which worker computes it.
    """
    import torch

    def alone(number: int) -> Any:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with torch.inference_mode():
                return chunk(number)
        finally:
            torch.set_num_threads(threads)

    return alone


def bundles(numbers: Sequence[int], workers: int) -> list[Sequence[int]]:
    """Split the numbers into parts worth a message, small enough that workers finish together.

    Example:
        >>> bundles(range(5), 2)
        [range(0, 1), range(1, 2), range(2, 3), range(3, 4), range(4, 5)]
        >>> len(bundles(range(4000), 2))
        63
    """
    size = max(1, min(MOST_IN_BUNDLE, len(numbers) // (20 * workers)))
    return [numbers[first : first + size] for first in range(0, len(numbers), size)]
