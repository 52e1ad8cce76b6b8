"""Runs cells in parallel, on this machine or on a cluster."""

from __future__ import annotations

import queue
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Cell, Progress
from pacbound.experiments.tables.costs import Costs, makespan
from pacbound.experiments.tables.jobs import ProbeCells, RunCell
from pacbound.experiments.tables.place import Place
from pacbound.workers.child import Child, Event
from pacbound.workers.engine import Engine, Here
from pacbound.workers.jobs import Events
from pacbound.workers.jobs import Running as Job

__all__ = ["Pool", "Watcher"]

TICK = 0.25  # seconds between updates of the clock
PEEK = 2.0  # seconds between checks of cells that run elsewhere, and of the logs


class Watcher:
    """Receives events; a display overrides the methods it needs."""

    def probing(self, kind: str) -> None:
        """The time of a kind of cell is being measured."""

    def redone(self, cell: Cell, flaw: str) -> None:
        """An existing result is not valid."""

    def elsewhere(self, cell: Cell) -> None:
        """Another process is running the cell."""

    def started(self, cell: Cell, resumed: Progress | None) -> None:
        """A child process has started or resumed the cell."""

    def done(self, cell: Cell, seconds: float | None) -> None:
        """The cell is finished; without seconds, by another process."""

    def failed(self, cell: Cell, reason: str) -> None:
        """The cell failed; the others continue."""

    def tick(self) -> None:
        """Time has passed: read the state of the pool."""


@dataclass
class Running:
    """A running cell."""

    cell: Cell
    job: Job
    since: float
    progress: Progress | None
    outcome: Event = field(default_factory=dict)


class Pool:
    """The state of a run, for a display, and the loop that drives it."""

    def __init__(
        self,
        cells: Sequence[Cell],
        root: Path,
        workers: int,
        threads: int,
        engine: Engine | None = None,
    ) -> None:
        self.cells, self.root, self.workers, self.threads = cells, root, workers, threads
        self._engine = engine or Here()
        self.costs = Costs(cells, root)
        # By name: the stages that a cell need not run, and the other cell that does.
        self._inheritance = {
            cell.name: {other.name: set(cell.inherits(other)) for other in cells if other != cell}
            for cell in cells
        }
        self.waiting: list[Cell] = []
        self.away: list[Cell] = []  # run by another process
        self.running: dict[str, Running] = {}
        self.finished: list[Cell] = []
        self.failures: dict[str, str] = {}
        self._events: Events = queue.Queue()
        self._peeked = 0.0
        self._reached: dict[str, Progress | None] = {}  # the progress of waiting cells
        self._told: set[str] = set()  # names of cells reported as running elsewhere

    def place(self, cell: Cell) -> Place:
        """The folder of a cell."""
        return Place.of(cell, self.root)

    def survey(self, watcher: Watcher) -> None:
        """Find the finished and the remaining cells; start nothing."""
        for cell in self.cells:
            verdict = cell.finished(self.place(cell).path)
            if verdict.flaw:
                watcher.redone(cell, verdict.flaw)
            if verdict.finished:
                self.place(cell).discard(cell.scratch)
                self.finished.append(cell)
            else:
                self.waiting.append(cell)
                self._reached[cell.name] = cell.progress(self.place(cell).path)

    def probe(self, watcher: Watcher) -> None:
        """Time a trial of each kind of cell that no file has timed."""
        unknown = self.costs.unknown(self.waiting)
        if not unknown:
            return
        child = Child("probe", ProbeCells(unknown, self.threads), self._events, None)
        try:
            while True:
                _, event = self._events.get()
                if event["event"] == "probing":
                    watcher.probing(event["kind"])
                elif event["event"] == "startup":
                    self.costs.startup = event["seconds"]
                elif event["event"] == "pace":
                    self.costs.add_probe(event["kind"], event["paces"])
                elif event["event"] == "ended":
                    return
        finally:
            child.stop()

    def run(self, watcher: Watcher) -> None:
        """Run the waiting cells until all have finished or failed.

        However this ends, no child process remains.
        """
        try:
            while self.waiting or self.running or self.away:
                self._peek()
                self._start(watcher)
                watcher.tick()
                self._listen(watcher)
        finally:
            for running in self.running.values():
                running.job.stop()

    def seconds_left(self) -> float | None:
        """Seconds until all is done, with this many workers; None if unknown."""
        at_work = [self.left(running) for running in self.running.values()]
        to_come = [self._to_come(cell) for cell in self.waiting]
        known = [seconds for seconds in (*at_work, *to_come) if seconds is not None]
        if len(known) < len(at_work) + len(to_come):
            return None
        return makespan(known[: len(at_work)], known[len(at_work) :], self.workers)

    def _to_come(self, cell: Cell) -> float | None:
        """Seconds that a waiting cell takes, if known. What it will inherit takes none."""
        return self.costs.left(cell, self._reached.get(cell.name), self._inherited(cell))

    def left(self, running: Running) -> float | None:
        """Seconds until a running cell is done, if known."""
        return self.costs.left(running.cell, running.progress, self._inherited(running.cell))

    def _inherited(self, cell: Cell) -> set[str]:
        """The stages that it need not run, because another cell does."""
        stages = self._inheritance[cell.name].items()
        return {stage for other, its in stages if other not in self.failures for stage in its}

    def _peek(self) -> None:
        now = time.monotonic()
        if now - self._peeked < PEEK:
            return
        self._peeked = now
        self.costs.refresh()
        freed = [cell for cell in self.away if not self.place(cell).busy()]
        self.away = [cell for cell in self.away if cell not in freed]
        self.waiting += freed

    def _start(self, watcher: Watcher) -> None:
        while len(self.running) < self.workers:
            cell = self._next()
            if cell is None:
                return
            self.waiting.remove(cell)
            try:
                self._start_one(cell, watcher)
            except (PacboundError, OSError) as error:  # usually a full disk
                self._fail(cell, str(error), watcher)

    def _next(self) -> Cell | None:
        """The first waiting cell that does not begin with what another one is still to make."""
        running = [one.cell for one in self.running.values()]
        for cell in self.waiting:
            pending = (*running, *self.away, *self.waiting)
            if not any(cell.inherits(other) for other in pending):
                return cell
        return None

    def _start_one(self, cell: Cell, watcher: Watcher) -> None:
        place = self.place(cell)
        place.make()
        if place.busy():
            self._set_aside(cell, watcher)
        elif cell.finished(place.path).finished:
            self.finished.append(cell)
            watcher.done(cell, None)
        else:
            self._reached[cell.name] = reached = cell.progress(place.path)
            job = self._engine.begin(cell.name, RunCell(cell, place, self.threads), self._events)
            self.running[cell.name] = Running(cell, job, time.monotonic(), reached)
            watcher.started(cell, reached)

    def _set_aside(self, cell: Cell, watcher: Watcher) -> None:
        self.away.append(cell)
        if cell.name not in self._told:
            self._told.add(cell.name)
            watcher.elsewhere(cell)

    def _listen(self, watcher: Watcher) -> None:
        until = time.monotonic() + TICK
        while (patience := until - time.monotonic()) > 0:
            try:
                key, event = self._events.get(timeout=patience)
            except queue.Empty:
                return
            running = self.running[key]
            if event["event"] == "progress":
                running.progress = Progress(event["stage"], event["done"], event["text"])
            elif event["event"] == "ended":
                del self.running[key]
                self._conclude(running, event["code"], watcher)
                return
            else:
                running.outcome = event

    def _conclude(self, running: Running, code: int, watcher: Watcher) -> None:
        cell, outcome = running.cell, running.outcome
        place = self.place(cell)
        if outcome.get("event") == "done":
            self.finished.append(cell)
            watcher.done(cell, time.monotonic() - running.since)
            return
        if outcome.get("event") == "busy":
            self._set_aside(cell, watcher)
            return
        how = f"killed by signal {-code}" if code < 0 else f"exit code {code}"
        reason = outcome.get("reason", f"its process ended early ({how}); see {place.errors}")
        self._fail(cell, reason, watcher)

    def _fail(self, cell: Cell, reason: str, watcher: Watcher) -> None:
        self.failures[cell.name] = reason
        self.place(cell).fail(reason)
        watcher.failed(cell, reason)
