"""The display of a run: a live view on a terminal, lines of text elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from pacbound.experiments.tables.cell import Cell, Progress
from pacbound.experiments.tables.pool import Pool, Watcher
from pacbound.printable import printable
from pacbound.report.amounts import duration

__all__ = ["Lines", "forecast", "watching"]


def forecast(pool: Pool) -> str:
    """The finished cells, the remaining cells, and the remaining time."""
    done, to_do = len(pool.finished), len(pool.waiting)
    if not to_do:
        return f"nothing to do: all of {done} are done"
    threads = "1 thread" if pool.threads == 1 else f"{pool.threads} threads"
    together = "one after the other" if pool.workers == 1 else f"{pool.workers} side by side"
    cells = "1 cell" if to_do == 1 else f"{to_do} cells"
    return (
        f"{cells} to do, {done} done already; about {duration(pool.seconds_left())} in all, "
        f"{together} with {threads} each"
    )


class Lines(Watcher):
    """One line per event, through `say`."""

    def __init__(self, pool: Pool, say: Callable[[str], None]) -> None:
        self.pool, self._say = pool, say

    def say(self, line: str) -> None:
        self._say(printable(line))  # failure messages may quote files

    def probing(self, kind: str) -> None:
        self.say(f"measuring the speed of {kind}")

    def redone(self, cell: Cell, flaw: str) -> None:
        self.say(f"{cell.name}: {flaw}; it will be run again")

    def elsewhere(self, cell: Cell) -> None:
        self.say(f"{cell.name}: another process is running it; going on with the others")

    def started(self, cell: Cell, resumed: Progress | None) -> None:
        where = f"resumed after {resumed.text}" if resumed else "started"
        self.say(f"{cell.name}: {where}")

    def done(self, cell: Cell, seconds: float | None) -> None:
        pool = self.pool
        took = "by another process" if seconds is None else f"in {duration(seconds)}"
        counts = f"{len(pool.finished)} of {len(pool.cells)} done"
        self.say(f"{cell.name}: done {took}; {counts}, {duration(pool.seconds_left())} left")

    def failed(self, cell: Cell, reason: str) -> None:
        self.say(f"{cell.name}: failed: {reason}")


class View(Lines):
    """The same lines above a live view of the running cells."""

    def __init__(self, pool: Pool, live: Live) -> None:
        super().__init__(pool, lambda line: live.console.print(line, highlight=False, markup=False))
        self.live = live

    def probing(self, kind: str) -> None:
        self.live.update(Text(f"measuring the speed of {kind} …", style="dim"))

    def tick(self) -> None:
        self.live.update(self._picture())

    def _picture(self) -> Group:
        pool = self.pool
        table = Table(box=None, pad_edge=False, show_header=False)
        for no_wrap in (True, True, False, True):  # the figures wrap if there is no room
            table.add_column(no_wrap=no_wrap)
        for running in pool.running.values():
            progress = running.progress
            left = pool.left(running)
            table.add_row(
                Text(printable(running.cell.name)),
                Text(progress.stage if progress else "starting", style="cyan"),
                Text(progress.text if progress else ""),
                Text(f"{duration(left)} left", style="bold"),
            )
        for cell in pool.away:
            table.add_row(
                Text(printable(cell.name)), Text("in another process", style="dim"), "", ""
            )
        counts = f"{len(pool.finished)} of {len(pool.cells)} done"
        if pool.failures:
            counts += f", {len(pool.failures)} failed"
        total = f"{counts}, {duration(pool.seconds_left())} left"
        return Group(table, Text(total, style="bold"))


@contextmanager
def watching(pool: Pool) -> Iterator[Lines]:
    """The watcher that suits stderr."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(
            pool, lambda line: console.print(line, highlight=False, markup=False, soft_wrap=True)
        )
        return
    with Live(console=console, transient=True, refresh_per_second=4) as live:
        yield View(pool, live)
