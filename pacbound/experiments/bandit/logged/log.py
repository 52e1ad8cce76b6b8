"""The log of a policy: contexts, the pulled arms, their rewards and their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.data.csv_file import csv_columns
from pacbound.data.npz import read_arrays
from pacbound.data.table import Cell, is_missing, number_of, ordered_names, text_of
from pacbound.errors import DataError, FileError
from pacbound.files import file_digest

__all__ = ["Log", "read_log"]

COLUMNS = ("action", "reward", "propensity")
LEAST = 1e-9  # of a propensity: smaller ones are mistakes
ARRAYS = ("contexts", "actions", "rewards", "propensities")


@dataclass(frozen=True, eq=False)
class Log:
    """Rows in the order of time. Valid when: contexts are independent of each other, and each
    action was drawn with the propensity that the row states.
    """

    name: str
    contexts: NDArray[Any]  # (n, d): float64 as read, float32 when scaled
    actions: NDArray[np.int64]  # (n,)
    rewards: NDArray[np.float64]  # (n,)
    propensities: NDArray[np.float64]  # (n,): of the pulled arm
    names: tuple[str, ...]  # of the arms
    sha256: str | None = None  # of the file

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def arms(self) -> int:
        """The number of arms."""
        return len(self.names)

    def part(self, rows: slice) -> Log:
        """Some of the rows."""
        return replace(
            self,
            contexts=self.contexts[rows],
            actions=self.actions[rows],
            rewards=self.rewards[rows],
            propensities=self.propensities[rows],
        )


def read_log(path: Path) -> Log:
    """A log from a `.csv` file with the columns action, reward and propensity, the others being the
    context; or from an `.npz` file with contexts, actions, rewards and propensities.
    """
    readers = {".csv": _csv, ".npz": _npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"cannot read {path}: a log is a .csv or an .npz file")
    log = replace(reader(path), sha256=file_digest(path))
    bad = np.flatnonzero(~((log.propensities >= LEAST) & (log.propensities <= 1)))
    if len(bad):
        raise DataError(
            f"{path}, example {bad[0] + 1}: the propensity is {log.propensities[bad[0]]}; it is "
            f"the probability with which the action was chosen, from {LEAST:g} to 1"
        )
    return log


def _csv(path: Path) -> Log:
    columns = csv_columns(path)
    for name in COLUMNS:
        if name not in columns:
            raise DataError(
                f"{path} has no column '{name}'; a log has {', '.join(COLUMNS)}, and the context "
                "in the other columns"
            )
    if len(columns) == len(COLUMNS):
        raise DataError(f"{path} has no context: give at least one more column")
    if not columns["action"]:
        raise DataError(f"{path} has no rows")
    where = [f"{path}, row {number}" for number in range(2, len(columns["action"]) + 2)]
    for name in COLUMNS:
        for cell, place in zip(columns[name], where, strict=True):
            _refuse_missing(name, cell, place)
    numbers = {
        name: [number_of(cell, place, name) for cell, place in zip(cells, where, strict=True)]
        for name, cells in columns.items()
        if name != "action"
    }
    texts = [text_of(cell, place) for cell, place in zip(columns["action"], where, strict=True)]
    rewards, propensities = (np.array(numbers.pop(name)) for name in COLUMNS[1:])
    contexts = np.array([*numbers.values()], np.float64).T
    return _log(path, contexts, np.array(texts), rewards, propensities)


def _npz(path: Path) -> Log:
    arrays = read_arrays(path, ARRAYS)
    for name, array in arrays.items():
        if array.ndim != (2 if name == "contexts" else 1):
            raise DataError(
                f"{path}: {name} has shape {array.shape}; give contexts (n, d), others (n,)"
            )
        if name == "contexts" and not array.shape[1]:
            raise DataError(f"{path}: contexts has no columns; give at least one")
        if len(array) != len(arrays["contexts"]) or not array.size:
            raise DataError(f"{path}: {name} has {len(array)} rows; give one for every context")
        if name != "actions" and array.dtype.kind not in "fiub":
            raise DataError(f"{path}: {name} is {array.dtype}; give numbers")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise DataError(f"{path}: {name} has values that are not finite")
    contexts = arrays["contexts"].astype(np.float64)
    actions = arrays["actions"].tolist()
    for number, cell in enumerate(actions, 1):
        _refuse_missing("action", cell, f"{path}, example {number}")
    texts = np.array([text_of(cell, str(path)) for cell in actions])
    return _log(path, contexts, texts, *(arrays[name].astype(np.float64) for name in ARRAYS[2:]))


def _refuse_missing(name: str, cell: Cell, place: str) -> None:
    if not is_missing(cell):
        return
    word = f" ({cell!r} means a missing value)" if cell else ""
    named = "; if it is an action, give it another name" if word and name == "action" else ""
    raise DataError(
        f"{place}: the {name} is missing{word}; remove such rows only if whether it is missing "
        f"does not depend on the action and the reward{named}"
    )


def _log(
    path: Path,
    contexts: NDArray[np.float64],
    actions: NDArray[Any],
    rewards: NDArray[np.float64],
    propensities: NDArray[np.float64],
) -> Log:
    names = ordered_names({str(action) for action in actions})
    if len(names) < 2:
        raise DataError(f"{path} has the single action {names[0]}; give two or more")
    numbers = {name: number for number, name in enumerate(names)}
    arms = np.array([numbers[str(action)] for action in actions], np.int64)
    return Log(path.stem, contexts, arms, rewards, propensities, tuple(names))
