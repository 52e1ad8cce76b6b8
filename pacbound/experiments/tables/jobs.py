"""The jobs of a table's child processes: run a cell, or time one."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path

from pacbound.experiments.tables.cell import Cell, Progress
from pacbound.experiments.tables.place import Place
from pacbound.workers.child import Orders, Send
from pacbound.workers.jobs import FolderJob

__all__ = ["ProbeCells", "RunCell"]

INTERVAL = 0.2  # seconds between reports of progress
PATIENCE = 1.0  # seconds: another process checks the lock for less than this


@dataclass(frozen=True)
class RunCell(FolderJob):
    """Run or resume one cell."""

    cell: Cell
    place: Place
    threads: int

    @property
    def folder(self) -> Path:
        return self.place.path

    def at(self, folder: Path) -> RunCell:
        return replace(self, place=Place(folder))

    @contextmanager
    def held(self) -> Iterator[None]:
        with self.place.locked(PATIENCE):
            self.place.tidy()
            yield

    def work(self, send: Send) -> None:
        told = -math.inf
        stage = ""

        def report(progress: Progress) -> None:
            nonlocal told, stage
            if progress.stage != stage or time.monotonic() - told > INTERVAL:
                told, stage = time.monotonic(), progress.stage
                send({"event": "progress", **asdict(progress)})

        if not self.cell.finished(self.place.path).finished:  # another process may have finished it
            self.cell.run(self.place.path, self.threads, report)


@dataclass(frozen=True)
class ProbeCells:
    """Time the start of a process and the work of a cell of each kind.

    Sends `startup`, and `pace` for each kind that could be timed.
    """

    cells: Sequence[Cell]
    threads: int

    def do(self, send: Send, orders: Orders) -> None:
        start = time.monotonic()
        import_module("pacbound.api")  # most of what a new process waits for
        send({"event": "startup", "seconds": time.monotonic() - start})
        for cell in self.cells:
            send({"event": "probing", "kind": cell.kind})
            # The same error will stop the cell, and is reported there.
            with suppress(Exception):
                send({"event": "pace", "kind": cell.kind, "paces": dict(cell.probe(self.threads))})
