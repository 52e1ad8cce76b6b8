"""Monte Carlo work in independent chunks: computed by an engine, kept, and reported."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pacbound.workers.engine import Engine, Here, Work
from pacbound.workers.kept import Kept

__all__ = ["ALONE", "Report", "Sampler", "silent"]

# Called with a description, the number of finished chunks, and the number of chunks.
Report = Callable[[str, int, int], None]


def silent(what: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Sampler:
    """The engine for chunks, their progress report, and the store of finished ones."""

    engine: Engine = field(default_factory=Here)
    report: Report = silent
    kept: Kept | None = None

    def results(self, what: str, work: Work) -> list[Any]:
        """The results of chunk 0, 1, …, in that order, whichever worker computed them."""
        done = self._continued(work)
        missing = [number for number in range(work.chunks) if number not in done]
        self.report(what, len(done), work.chunks)
        if missing:
            for number, result in self.engine.results(work, missing):
                done[number] = result
                if self.kept is not None:
                    self.kept.add(work.identity, number, result)
                self.report(what, len(done), work.chunks)
        return [done[number] for number in range(work.chunks)]

    def _continued(self, work: Work) -> dict[int, Any]:
        """The kept results, if recomputing a part of them gives the same values.

        A user's own network may have been edited since, or a library replaced. The identity covers
        neither, and mixed results would belong to no network.
        """
        if self.kept is None:
            return {}
        found = self.kept.found(work.identity)
        done = {number: found[number] for number in range(work.chunks) if number in found}
        some = [random.choice(list(done))] if done else []
        for number, result in self.engine.results(work, some) if some else ():
            if json.loads(json.dumps(result)) != done[number]:
                self.kept.remove()
                return {}
        return done


ALONE = Sampler()  # in this process, without reports
