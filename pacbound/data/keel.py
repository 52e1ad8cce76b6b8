"""The tables of the KEEL repository: numbers and names, separated by commas, the class last.

Nothing is computed from the examples. The values of nominal columns and the classes are those with
which the tables were declared; `keel.yaml` lists them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from pacbound.data.dataset import Dataset
from pacbound.data.entry import CanonicalFile
from pacbound.errors import DataError

__all__ = ["KeelTable", "keel_tables"]


@dataclass(frozen=True)
class KeelTable:
    """A table: its published file, its classes, and the values of its nominal columns."""

    name: str
    rows: int
    file: CanonicalFile
    classes: tuple[str, ...]
    nominal: Mapping[int, tuple[str, ...]]  # by the number of the column, from 0

    def assemble(self, files: Mapping[str, bytes]) -> Dataset:
        """The examples: a nominal column with two values is 0 or 1, one with more is one-hot."""
        where = self.file.name
        lines = files[where].decode("ascii").splitlines()
        rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
        if len(rows) != self.rows or len({len(row) for row in rows}) != 1:
            raise DataError(f"{where} is not a table of {self.rows} rows")
        *columns, labels = zip(*rows, strict=True)
        inputs = [self._inputs(number, column) for number, column in enumerate(columns)]
        return Dataset(
            f"keel-{self.name}",
            np.ascontiguousarray(np.concatenate(inputs, 1)),
            _numbers(labels, self.classes, where),
            None,
            None,
            len(self.classes),
            class_names=self.classes,
        )

    def _inputs(self, number: int, column: tuple[str, ...]) -> NDArray[np.float32]:
        """The inputs of one column: (m, 1), or (m, values) if it is one-hot."""
        if number not in self.nominal:
            return np.array([column], np.float32).T
        values = self.nominal[number]
        places = _numbers(column, values, self.file.name)
        if len(values) <= 2:
            return places[:, None].astype(np.float32)
        return np.eye(len(values), dtype=np.float32)[places]


def _numbers(texts: tuple[str, ...], values: tuple[str, ...], where: str) -> NDArray[np.int64]:
    """The position of every text among the values."""
    numbers = {text: number for number, text in enumerate(values)}
    try:
        return np.array([numbers[text] for text in texts], np.int64)
    except KeyError as error:
        raise DataError(f"{where} has the unknown value {error}") from error


def keel_tables() -> dict[str, KeelTable]:
    """The 43 standard tables, by name."""
    text = resources.files("pacbound.data").joinpath("keel.yaml").read_text(encoding="utf-8")
    return {name: _table(name, facts) for name, facts in yaml.safe_load(text).items()}


def _table(name: str, facts: Mapping[str, Any]) -> KeelTable:
    nominal = {
        column: tuple(group["values"])
        for group in facts.get("nominal", ())
        for column in group["columns"]
    }
    file = CanonicalFile(f"{name}.dat", facts["size"], facts["sha256"])
    return KeelTable(name, facts["rows"], file, tuple(facts["classes"]), nominal)
