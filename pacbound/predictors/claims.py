"""The claims requested for a certificate: subjects, losses, and their examples."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Claim
from pacbound.data.digests import costs_digest
from pacbound.errors import FileError, SettingError, unknown_name
from pacbound.predictors.judging import Judged
from pacbound.printable import recordable

__all__ = [
    "CLAIMS",
    "Asked",
    "Costs",
    "ExampleCosts",
    "Wanted",
    "asked",
    "claims_named",
    "read_costs",
    "read_groups",
]

# The names of claims. `answered` is two: the rate of abstention, and the error among the answered.
CLAIMS = ("overall", "answered", "per-class", "predicted-class")
DECIMALS = 6  # decimals of a cost in a matrix
EXAMPLE_DECIMALS = 10  # decimals of a cost given by example; further ones are rounded up
UNIT, EXAMPLE_UNIT = 1_000_000, 10_000_000_000  # a cost of 1 in units of the last decimal


@dataclass(frozen=True)
class Costs:
    """The cost of each predicted class (columns) for each true class (rows), from 0 to 1."""

    name: str
    matrix: tuple[tuple[Decimal, ...], ...]

    def __post_init__(self) -> None:
        if not all(len(row) == len(self.matrix) for row in self.matrix):
            raise SettingError(f"the costs '{self.name}' are not a square matrix of classes")
        for cost in (cost for row in self.matrix for cost in row):
            if not cost.is_finite() or not 0 <= cost <= 1:
                raise SettingError(f"the cost {cost} of '{self.name}' is not between 0 and 1")
            if cost != round(cost, DECIMALS):
                raise SettingError(f"the cost {cost} of '{self.name}' has over {DECIMALS} decimals")

    @property
    def sha256(self) -> str:
        """The digest of the matrix."""
        return costs_digest(self.matrix)

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """The costs as integer multiples of `10**-DECIMALS`, so that sums are exact."""
        return np.array([[int(c.scaleb(DECIMALS)) for c in row] for row in self.matrix], np.int64)

    @property
    def unit(self) -> int:
        """The units of a cost of 1."""
        return UNIT

    def lost(self, judged: Judged, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units lost on each example: the largest cost of a possible class, (n,).

        If nothing is predicted, it is the largest cost of any class.
        """
        costs = np.zeros(len(labels), np.int64)
        np.maximum.at(costs, judged.rows, self.units[labels[judged.rows], judged.classes])
        nothing = np.bincount(judged.rows, minlength=len(labels)) == 0
        costs[nothing] = self.units.max(1)[labels[nothing]]
        return costs


@dataclass(frozen=True, eq=False)
class ExampleCosts:
    """The cost of what the predictor did on each counted example, from 0 to 1.

    Arguments:
        units: Integer multiples of `10**-EXAMPLE_DECIMALS`, rounded up, (n,).
        sha256: The digest of the costs of the examples.
    """

    name: str
    units: NDArray[np.int64]
    sha256: str = ""

    @classmethod
    def of(cls, name: str, costs: Sequence[Any]) -> ExampleCosts:
        """Costs given as numbers or texts; SettingError if one is not from 0 to 1."""
        texts = [str(cost).strip() for cost in costs]
        table = {text: _units(text) for text in set(texts)}
        odd = next((place for place, text in enumerate(texts) if table[text] is None), None)
        if odd is not None:
            raise SettingError(f"the cost of example {odd + 1} is '{texts[odd]:.40}': give 0 to 1")
        return cls(name, np.array([table[text] for text in texts], np.int64))

    @property
    def unit(self) -> int:
        """The units of a cost of 1."""
        return EXAMPLE_UNIT

    @property
    def decimals(self) -> list[Decimal]:
        """The costs, as decimals."""
        listed = self.units.tolist()
        table = {units: Decimal(units).scaleb(-EXAMPLE_DECIMALS) for units in set(listed)}
        return [table[units] for units in listed]

    def lost(self, judged: Judged, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The units lost on each example; a near tie, whose cost may be another, costs 1."""
        return np.where(judged.tied, self.unit, self.units)


def _units(text: str) -> int | None:
    """A cost in units, rounded up; None if it is not a number from 0 to 1."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    inside = value.is_finite() and 0 <= value <= 1
    return math.ceil(value.scaleb(EXAMPLE_DECIMALS)) if inside else None


@dataclass(frozen=True)
class Wanted:
    """The claims that a user wants.

    Arguments:
        claims: Names of `CLAIMS`.
        groups: The group of each training example, in the order of the data; empty for none.
        costs: Adds a claim on the mean cost over all inputs, and over the answered ones if there is
            a claim on these.
        example_costs: The same, with a cost given for each example.
    """

    claims: tuple[str, ...] = ("overall",)
    groups: tuple[str, ...] = ()
    costs: Costs | None = None
    example_costs: ExampleCosts | None = None

    def __post_init__(self) -> None:
        for name in self.claims:
            if name not in CLAIMS:
                raise unknown_name("claim", name, CLAIMS)
        if not (self.claims or self.groups or self.costs or self.example_costs):
            raise SettingError("no claims are requested: give claims, groups or costs")
        if self.costs is not None and self.example_costs is not None:
            raise SettingError("give costs as a matrix or for each example, not both")
        for group in set(self.groups):
            if not 1 <= len(group) <= 60 or not group.isprintable() or set(group) & set("“”"):
                raise SettingError(
                    f"the group {group!r:.80} cannot be named: give 1 to 60 printable characters"
                )


@dataclass(frozen=True)
class Asked:
    """One claim before anything is counted.

    `members` are the indices of its examples among the counted ones. For a predicted class and for
    the answered examples they depend on the predictor and are None.
    """

    subject: str
    loss: str = "zero-one"
    class_: int | None = None
    group: str | None = None
    costs: Costs | None = None
    members: NDArray[np.int64] | None = None
    example_costs: ExampleCosts | None = None

    @property
    def inherits(self) -> bool:
        """Whether it may get the share of δ of a claim that turns out to be about no example."""
        return self.members is None or self.loss == "abstention"

    def draft(self, m: int, delta: Decimal, **counts: Any) -> Claim:
        """The claim with its counts; its figures are still 0."""
        zero = Decimal("0.0000000000")
        costs = self.costs or self.example_costs
        cost = costs.name if costs is not None else None
        digest = costs.sha256 if costs is not None else None
        return Claim(
            subject=self.subject,
            class_=self.class_,
            group=self.group,
            loss=self.loss,
            cost=cost,
            cost_sha256=digest,
            m=m,
            delta=delta,
            empirical=zero,
            bound=zero,
            **counts,
        )


def asked(
    wanted: Wanted, labels: NDArray[np.int64], classes: int, groups: Sequence[str]
) -> list[Asked]:
    """The claims on the counted examples, in the order of the format.

    A class or group without counted examples has no claim.

    Arguments:
        labels: The labels of the counted examples.
        groups: The groups of the counted examples; empty if no groups are wanted.
    """
    everyone = np.arange(len(labels))
    weighed = [
        Asked("all", "cost", costs=wanted.costs, example_costs=wanted.example_costs)
        for _ in range(wanted.costs is not None or wanted.example_costs is not None)
    ]
    if wanted.costs is not None and len(wanted.costs.matrix) != classes:
        raise SettingError(
            f"the costs '{wanted.costs.name}' are for {len(wanted.costs.matrix)} classes; "
            f"the data has {classes}"
        )
    found = []
    if "overall" in wanted.claims:
        found.append(Asked("all", members=everyone))
    if "answered" in wanted.claims:
        found.append(Asked("all", "abstention", members=everyone))
    found += [replace(each, members=everyone) for each in weighed]
    if "answered" in wanted.claims:
        found += [Asked("answered"), *(replace(each, subject="answered") for each in weighed)]
    if "per-class" in wanted.claims:
        for class_, members in _parts(labels):
            found.append(Asked("true-class", class_=int(class_), members=members))
    if "predicted-class" in wanted.claims:
        found += [Asked("predicted-class", class_=class_) for class_ in range(classes)]
    if len(groups):
        for group, members in _parts(np.asarray(groups, dtype=str)):
            found.append(Asked("group", group=str(group), members=members))
    if len(found) > 2001:
        raise SettingError(
            f"{len(found)} claims are more than the 2001 that a certificate may have"
        )
    return found


def _parts(values: NDArray[Any]) -> list[tuple[Any, NDArray[np.int64]]]:
    """The distinct values in ascending order, each with the places where it stands."""
    distinct, numbers = np.unique(values, return_inverse=True)
    order = np.argsort(numbers, kind="stable")
    ends = np.cumsum(np.bincount(numbers))[:-1]
    return list(zip(distinct.tolist(), np.split(order, ends), strict=True))


def claims_named(names: Sequence[str] | None, abstains: bool) -> tuple[str, ...]:
    """The requested claims; by default on the overall error, or on what is answered."""
    if names is None:
        return ("answered",) if abstains else ("overall",)
    if abstains != ("answered" in names):
        raise SettingError(
            "a threshold of the confidence and the claim 'answered' need each other: give both, "
            "or neither"
        )
    return tuple(names)


def read_costs(path: Path) -> Costs:
    """A cost matrix from a CSV file without a header: one row per true class."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [[Decimal(cell.strip()) for cell in row] for row in csv.reader(stream) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"cannot read the costs in {path}: {error}") from error
    except InvalidOperation as error:
        raise SettingError(
            f"{path} must contain only numbers: costs by true and predicted class"
        ) from error
    return Costs(recordable(path.stem, 60), tuple(map(tuple, rows)))


def read_groups(source: str, data: str) -> tuple[str, ...]:
    """The group of each training example: an array in a NumPy file, or a column of a CSV file.

    Arguments:
        source: The .npy file, FILE.npz:ARRAY, FILE.csv:COLUMN, or a column of the data.
        data: The CSV file of the data, if the groups are a column of it.
    """
    archive, colon, name = source.rpartition(".npz:")
    if source.endswith(".npy") or colon:
        try:
            values = np.load(f"{archive}.npz" if colon else source, allow_pickle=False)
            values = values[name] if colon else values
        except (OSError, ValueError, KeyError) as error:
            raise FileError(f"cannot read the groups in {source}: {error}") from error
        if values.ndim != 1 or values.dtype.kind not in "iubU":
            raise SettingError(
                f"{source} must be an array of texts or whole numbers, one per example"
            )
        return tuple(str(value).strip() for value in values.tolist())
    file, colon, column = source.rpartition(".csv:")
    path = Path(f"{file}.csv") if colon else Path(data)
    if path.suffix == ".csv" and not path.exists():
        raise FileError(f"groups {source}: there is no file {path}")
    if path.suffix != ".csv" or not path.is_file():
        raise SettingError(
            f"groups {source}: {path} is not a CSV file; give FILE.csv:COLUMN or FILE.npy"
        )
    return _column(path, column)


def _column(path: Path, column: str) -> tuple[str, ...]:
    """The texts of a column of a CSV file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = csv.DictReader(stream, skipinitialspace=True)
            names = [name.strip() for name in rows.fieldnames or []]
            if column not in names:
                raise unknown_name("column", column, names)
            rows.fieldnames = names
            return tuple((row[column] or "").strip() for row in rows)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"cannot read the groups in {path}: {error}") from error
