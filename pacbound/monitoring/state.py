"""The state of a monitor: all that it needs to continue, as JSON.

Evidence follows from how often each loss occurred, so the state holds these counts. It also holds
the digest of the certificate, a running digest of the rows that were seen, and some points of the
past for plots.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Certificate, Claim
from pacbound.errors import MonitorError
from pacbound.files import write_whole
from pacbound.monitoring.outcomes import columns_of
from pacbound.monitoring.sequential import MOST_OUTCOMES, SCALE, Counts, fractions
from pacbound.monitoring.watching import missing_columns
from pacbound.printable import printable_json

__all__ = ["FORMAT", "START", "Point", "State", "Watched", "read_state", "watched_certificate"]

FORMAT = "pacbound-monitor/1"
MOST_BYTES = 2**27
START = "0" * 64  # the running digest before the first row


@dataclass(frozen=True)
class Point:
    """A claim at some row: its outcomes, the sum of their losses, and the evidence."""

    outcomes: int
    total: int  # in units of 1/SCALE
    log_evidence: float


@dataclass
class Watched:
    """A claim that is watched.

    `refuted_at` is the row, from 1, at which the evidence first reached 1/share.
    """

    claim: Claim
    counts: Counts = field(default_factory=dict)
    past: NDArray[np.float64] | None = None  # sums over the starts of bets, (K,); none before
    refuted_at: int | None = None
    history: list[Point] = field(default_factory=list)  # one for each of the state's points

    @property
    def outcomes(self) -> int:
        """How many outcomes the claim bet on."""
        return sum(self.counts.values())

    @property
    def total(self) -> int:
        """The sum of their losses, in units of 1/SCALE."""
        return sum(loss * times for loss, times in self.counts.items())


@dataclass
class State:
    """What was watched, and what was seen."""

    certificate_sha256: str
    alpha: Decimal
    columns: tuple[str, ...]
    claims: list[Watched]
    rows: int = 0
    digest: str = START
    points: list[int] = field(default_factory=list)  # rows at which the past is kept

    @property
    def share(self) -> float:
        """The part of alpha of each claim."""
        return float(self.alpha) / len(self.claims)

    def to_json(self) -> str:
        """The text of the state, the same for the same outcomes."""
        record = {
            "format": FORMAT,
            "certificate_sha256": self.certificate_sha256,
            "alpha": str(self.alpha),
            "columns": list(self.columns),
            "rows": self.rows,
            "digest": self.digest,
            "points": self.points,
            "claims": [_written(each) for each in self.claims],
        }
        return printable_json(json.dumps(record, ensure_ascii=False)) + "\n"

    def save(self, path: Path) -> None:
        """Write the state whole, or not at all."""
        content = self.to_json().encode()
        write_whole(path, lambda stream: stream.write(content))


def _identity(claim: Claim) -> dict[str, Any]:
    """The fields that tell a claim from others, and its bound."""
    named = {
        "subject": claim.subject,
        "class": claim.class_,
        "group": claim.group,
        "loss": claim.loss,
        "cost": claim.cost,
        "bound": str(claim.bound),
    }
    return {name: value for name, value in named.items() if value is not None}


def _written(each: Watched) -> dict[str, Any]:
    return {
        **_identity(each.claim),
        "counts": [list(pair) for pair in sorted(each.counts.items())],
        "past": None if each.past is None else each.past.tolist(),
        "refuted_at": each.refuted_at,
        "history": [[p.outcomes, p.total, p.log_evidence] for p in each.history],
    }


def watched_certificate(path: Path) -> str:
    """The digest of the certificate that a state is of."""
    return str(_read(path).get("certificate_sha256"))


def read_state(path: Path, certificate: Certificate, sha256: str) -> State:
    """The state in a file. MonitorError if it is damaged or of another certificate."""
    record = _read(path)
    if record.get("certificate_sha256") != sha256:
        raise MonitorError(
            f"{path} is the state of another certificate; give another file as the state"
        )
    try:
        return _state(record, certificate)
    except (_Damaged, KeyError, TypeError, ValueError, InvalidOperation) as error:
        raise MonitorError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise MonitorError(f"{path} cannot be read: it is not a regular file")
    try:
        with path.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
        record = json.loads(content)
    except OSError as error:
        raise MonitorError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise MonitorError(f"{path} is not the state of a monitor: {error}") from error
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise MonitorError(f"{path} is not the state of a monitor, format {FORMAT}")
    return record


class _Damaged(Exception):
    """A value that no monitor writes."""


def _require(condition: bool, words: str) -> None:
    if not condition:
        raise _Damaged(words)


def _state(record: dict[str, Any], certificate: Certificate) -> State:
    _require(isinstance(record["alpha"], str), "alpha")
    alpha, rows, points = Decimal(record["alpha"]), record["rows"], record["points"]
    _require(alpha.is_finite() and Decimal("1e-12") <= alpha < 1, "alpha")
    _require(_is_count(rows), "rows")
    _require(isinstance(record["digest"], str), "digest")
    _require(re.fullmatch("[0-9a-f]{64}", record["digest"]) is not None, "digest")
    _require(isinstance(points, list) and all(map(_is_count, points)), "points")
    _require(points == sorted(set(points)) and all(0 < p <= rows for p in points), "points")
    _require(isinstance(record["claims"], list) and bool(record["claims"]), "claims")
    known = list(columns_of(certificate))
    _require(isinstance(record["columns"], list), "columns")
    _require(record["columns"] == [x for x in known if x in record["columns"]], "columns")
    own = {json.dumps(_identity(claim)): claim for claim in certificate.claims}
    claims = [_watched(each, own, rows, len(points)) for each in record["claims"]]
    _require(len({each.claim.key for each in claims}) == len(claims), "a claim is there twice")
    digest, columns = record["digest"], tuple(record["columns"])
    _require(not any(missing_columns(each.claim, columns) for each in claims), "columns")
    return State(record["certificate_sha256"], alpha, columns, claims, rows, digest, points)


def _watched(record: Any, own: dict[str, Claim], rows: int, points: int) -> Watched:
    _require(isinstance(record, dict), "claims")
    rest = ("counts", "past", "refuted_at", "history")
    key = json.dumps({name: value for name, value in record.items() if name not in rest})
    _require(key in own, "a claim that the certificate does not make")
    counts: Counts = {}
    for pair in record["counts"]:
        _require(isinstance(pair, list) and len(pair) == 2, "counts")
        loss, times = pair
        _require(_is_count(loss) and loss <= SCALE and loss not in counts, "losses")
        _require(_is_count(times) and times > 0, "counts")
        counts[loss] = times
    _require(sum(counts.values()) <= rows, "counts")
    refuted_at = record["refuted_at"]
    if refuted_at is not None:
        _require(_is_count(refuted_at) and 0 < refuted_at <= rows, "refuted_at")
    history = [Point(*point) for point in record["history"]]
    _require(len(history) == points, "history")
    for point in history:
        _require(_is_count(point.outcomes) and _is_count(point.total), "history")
        _require(type(point.log_evidence) in (int, float), "history")
        _require(abs(point.log_evidence) < 1e12, "history")
    past = None if record["past"] is None else _past(record["past"], float(own[key].bound))
    _require(past is not None or not counts, "past")
    return Watched(own[key], counts, past, refuted_at, history)


def _past(values: Any, bound: float) -> NDArray[np.float64]:
    _require(isinstance(values, list) and len(values) == len(fractions(bound)), "past")
    _require(all(type(x) in (int, float) and abs(x) < 1e12 for x in values), "past")
    return np.array(values, np.float64)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST_OUTCOMES * SCALE
