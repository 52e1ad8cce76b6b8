"""Read training logs: the epochs of a run, by name.

The log of a run in progress can be read: its last line may be incomplete. Missing figures are NaN:
logs of earlier versions lack some, and a warm start lacks others.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacbound.certificate.format import Certificate
from pacbound.errors import FileError, PacboundError
from pacbound.training.log import LAYERED, log_path, parse_line
from pacbound.verification import model_digest

__all__ = ["Epoch", "TrainingLog", "find_training_log", "read_training_log"]

SERIES = (
    "seconds",
    "surrogate_risk",
    "risk",
    "kl",
    "nats",
    "bound",
    "objective",
    "learning_rate",
    "beta",
)
LONGEST_COMMAND = 10_000  # longer commands are not real, and splitting them would take long


@dataclass(frozen=True)
class Epoch:
    """One line of a log. Missing figures are NaN or an empty tuple."""

    epoch: int
    phase: str
    seconds: float  # since the start of all training, including a learned prior and resumed parts
    prior_seconds: float  # the part of the prior
    surrogate_risk: float
    risk: float
    kl: float
    nats: float
    bound: float
    objective: float
    learning_rate: float
    beta: float  # Catoni's β, or the weight of the KL in an ELBO
    prior_variances: tuple[float, ...]  # λ of every group that has one
    lipschitz: tuple[float, ...]  # of the groups that are not Gaussian


@dataclass(frozen=True)
class TrainingLog:
    """A run, epoch by epoch."""

    path: Path
    rows: tuple[Epoch, ...]

    @property
    def name(self) -> str:
        """The name of the run: its file, or a table's cell, whose folder ends in a digest."""
        stem = self.path.name.removesuffix(".jsonl").removesuffix(".log")
        if stem != "checkpoint":
            return stem
        return re.sub("-[0-9a-f]{12}$", "", self.path.resolve().parent.name)

    @property
    def epochs(self) -> tuple[int, ...]:
        return tuple(row.epoch for row in self.rows)

    @property
    def phases(self) -> tuple[str, ...]:
        return tuple(row.phase for row in self.rows)

    def series(self, name: str) -> tuple[float, ...]:
        """One number per epoch: risk, kl, bound, objective, learning_rate, beta, seconds, …"""
        return tuple(getattr(row, name) for row in self.rows)

    def layers(self, name: str) -> tuple[tuple[float, ...], ...]:
        """A series per group, of prior_variances or lipschitz; NaN before a group has values."""
        values = [getattr(row, name) for row in self.rows]
        count = max((len(value) for value in values), default=0)
        return tuple(
            tuple(value[group] if group < len(value) else math.nan for value in values)
            for group in range(count)
        )


def read_training_log(path: Path | str) -> TrainingLog:
    """The log in a file; PacboundError, with the line number, if it is not a log.

    An incomplete last line is still being written and is skipped. After a resume, a repeated epoch
    replaces everything logged from there on.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    *lines, last = content.split(b"\n")
    rows: list[Epoch] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            _add(rows, _epoch(line, f"{path}, line {number}"))
    if last.strip():
        try:
            json.loads(last)
        except (ValueError, RecursionError):
            return TrainingLog(path, tuple(rows))
        _add(rows, _epoch(last, f"{path}, line {len(lines) + 1}"))
    return TrainingLog(path, tuple(rows))


def _add(rows: list[Epoch], row: Epoch) -> None:
    while rows and rows[-1].epoch >= row.epoch:
        rows.pop()
    rows.append(row)


def _epoch(line: bytes, where: str) -> Epoch:
    record = parse_line(line, where)
    if record.get("seconds") is None:
        raise FileError(f"{where}: seconds must be a number from 0")
    figures: dict[str, Any] = {name: _or_nan(record.get(name)) for name in SERIES}
    figures |= {name: tuple(map(_or_nan, record.get(name) or ())) for name in LAYERED}
    before = record.get("prior_seconds") or 0.0
    figures["seconds"] += before
    phase = record.get("phase", "bound")
    return Epoch(epoch=record["epoch"], phase=phase, prior_seconds=before, **figures)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def find_training_log(certificate_path: Path | str, certificate: Certificate) -> Path | None:
    """The log of the training behind a certificate, if it can be found.

    A log is beside its checkpoint. The certificate's two commands name checkpoints. These are
    searched at the paths in the commands (from the working folder), then from the certificate's
    folder, then by file name in that folder. The last candidate is the certificate's own name
    with .pt. If a checkpoint exists and its posterior does not have the certificate's digest, it
    belongs to another run, and its log is skipped.
    """
    path = Path(certificate_path)
    named = [Path(word) for word in _words(certificate) if word.endswith(".pt")]
    places = [*named, *(path.parent / name for name in named)]
    places += [path.parent / name.name for name in named]
    for checkpoint in [*places, path.with_suffix(".pt")]:
        log = log_path(checkpoint)
        try:
            if not log.is_file():
                continue
            if not checkpoint.is_file() or _is_of(checkpoint, certificate):
                return log
        except OSError:  # an impossible file name, or a file that may not be read
            continue
    return None


def _is_of(checkpoint: Path, certificate: Certificate) -> bool:
    try:
        return model_digest(checkpoint) == certificate.model.sha256
    except PacboundError:
        return False


def _words(certificate: Certificate) -> list[str]:
    """The words of the commands that trained and certified."""
    words = []
    for command in (certificate.made.command, certificate.made.training_command):
        if len(command) > LONGEST_COMMAND:
            continue
        try:
            words += shlex.split(command)
        except ValueError:
            continue  # the text may be anything; an unbalanced quote names no file
    return words
