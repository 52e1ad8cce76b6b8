"""What the runner knows of a cell, and what the command knows of a table.

A new table supplies cells and rows; locks, child processes, resuming and time estimates are the
runner's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pacbound.experiments.tables.selection import Selection

if TYPE_CHECKING:
    from pacbound.data.sources import Progress as FetchProgress

__all__ = ["Cell", "Measured", "Progress", "Report", "Row", "Table", "Verdict"]

Row = dict[str, Any]  # one line of a printed table, as it stands in JSON


@dataclass(frozen=True)
class Progress:
    """Where a cell is: a stage, how much of the stage's work is done, and figures to show."""

    stage: str
    done: float  # of the stage's amount
    text: str = ""


@dataclass(frozen=True)
class Verdict:
    """Whether a cell is finished; `flaw` says why a result that is there does not count."""

    finished: bool
    flaw: str = ""


@dataclass(frozen=True)
class Measured:
    """Work of one stage that a cell's files show, and how long it took."""

    stage: str
    amount: float
    seconds: float
    when: float  # of the file: the newest measurement is the best guess


Report = Callable[[Progress], None]


class Cell(Protocol):
    """One result of a table. It is sent to a child process by pickle."""

    @property
    def name(self) -> str:
        """What the user calls it."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that determines the result."""

    @property
    def kind(self) -> str:
        """Cells of one kind take equally long for the same work."""

    @property
    def data(self) -> str:
        """What it needs: cells with the same data fetch the same."""

    @property
    def scratch(self) -> Sequence[str]:
        """The names of files that are of no use once the result is there."""

    def fetch(self, progress: FetchProgress) -> None:
        """See that the data is there and fits; done once, before any child process starts."""

    def work(self) -> Mapping[str, float]:
        """The amount of work in every stage, in the order of the stages."""

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Do it, in a child process, continuing from what is in the folder."""

    def finished(self, folder: Path) -> Verdict:
        """Whether the folder has the result, and the result is sound."""

    def progress(self, folder: Path) -> Progress | None:
        """How far an unfinished cell is, from its files; None if it was not begun."""

    def measured(self, folder: Path) -> Sequence[Measured]:
        """What the cell's files tell of the time that its stages take."""

    def probe(self, threads: int) -> Mapping[str, float]:
        """Seconds for one unit of work in every stage, from a trial of a second or two."""


class Table(Protocol):
    """A table of the paper's."""

    title: str
    threads: int | None  # for each cell; None for its share of the cores

    def cells(self, selection: Selection) -> list[Any]:
        """The chosen cells; PacboundError for an unknown name or setting."""

    def rows(self, cells: Sequence[Any], root: Path) -> list[Row]:
        """What the cells' files say, beside the paper's figures."""

    def render(self, rows: Sequence[Row]) -> Any:
        """The rows as something that rich prints."""

    def result(self, cell: Any, folder: Path) -> Path:
        """The file that is published of a finished cell."""
