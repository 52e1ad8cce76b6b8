"""The interface of a cell to the runner, and of a table to the command.

A new table supplies cells and rows. The runner provides locks, child processes, resuming and time
estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pacbound.experiments.tables.selection import Selection

if TYPE_CHECKING:
    from pacbound.data.sources import Progress as FetchProgress

__all__ = ["Cell", "Measured", "Progress", "Report", "Row", "Table", "Verdict"]

Row = dict[str, Any]  # one line of a printed table, as in JSON


@dataclass(frozen=True)
class Progress:
    """The progress of a cell: a stage, the finished work of the stage, and figures to show."""

    stage: str
    done: float  # in units of the stage's work
    text: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a cell is finished; `flaw` says why an existing result is not valid."""

    finished: bool
    flaw: str = ""


@dataclass(frozen=True)
class Measured:
    """The work of one stage according to a cell's files, and its duration."""

    stage: str
    amount: float
    seconds: float
    when: float  # the time of the file: the newest measurement is the best estimate


Report = Callable[[Progress], None]


class Cell(Protocol):
    """One result of a table. It is sent to a child process by pickle."""

    @property
    def name(self) -> str:
        """The name shown to the user."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the result."""

    @property
    def kind(self) -> str:
        """Cells of one kind take the same time for the same work."""

    @property
    def data(self) -> str:
        """The data it needs: cells with the same data fetch the same files."""

    @property
    def scratch(self) -> Sequence[str]:
        """The names of files that are not needed once the result exists."""

    def inherits(self, other: Any) -> Collection[str]:
        """The stages that it takes from the result of another cell, for which it then waits."""

    def fetch(self, progress: FetchProgress) -> None:
        """Ensure that the data exist and fit; once, before any child process starts."""

    def work(self) -> Mapping[str, float]:
        """The amount of work in every stage, in the order of the stages."""

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Run the cell in a child process, continuing from the files in the folder."""

    def finished(self, folder: Path) -> Verdict:
        """Whether the folder has a valid result."""

    def progress(self, folder: Path) -> Progress | None:
        """The progress of an unfinished cell, from its files; None if it was not started."""

    def measured(self, folder: Path) -> Sequence[Measured]:
        """The durations of the stages, from the cell's files."""

    def probe(self, threads: int) -> Mapping[str, float]:
        """Seconds per unit of work in every stage, from a trial of a second or two."""


class Table(Protocol):
    """A table of the paper."""

    title: str
    published: str  # the folder of this project's own results, in a checkout
    threads: int | None  # per cell; None for its share of the cores

    def cells(self, selection: Selection) -> list[Any]:
        """The selected cells; PacboundError for an unknown name or setting."""

    def rows(self, cells: Sequence[Any], root: Path) -> list[Row]:
        """The results in the cells' files, beside the paper's figures."""

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as a rich renderable."""

    def results(self, cell: Any, folder: Path) -> Mapping[str, Path]:
        """The files of a finished cell that are published, by the names of the copies."""
