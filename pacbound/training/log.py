"""The training log: one JSON object per epoch and line."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from pacbound.errors import FileError
from pacbound.files import write_whole

__all__ = ["LAYERED", "EpochRecord", "TrainingLog", "log_path", "parse_line"]

LARGEST = 2**53  # epochs
LAYERED = ("prior_variances", "lipschitz")  # one number per group


@dataclass(frozen=True)
class EpochRecord:
    """The record of an epoch: the figures of the weights that it saved."""

    epoch: int
    phase: str  # "warm-start", "linear" or "bound"
    surrogate_risk: float  # the mean over the epoch's batches
    risk: float  # zero-one, with the posterior's noise, on a sample of the examples
    kl: float
    nats: float  # KL plus the union bound
    bound: float  # the certificate's bound at these figures, without Monte Carlo allowance
    objective: float
    prior_variances: list[float]
    lipschitz: list[float]  # estimates for the groups that are not Gaussian
    learning_rate: float
    seconds: float  # since the start of training, over all resumed parts
    # Catoni's β, or the weight of the KL in an ELBO. Null if the objective has neither, in a warm
    # start, and in the logs of earlier versions.
    beta: float | None = None
    bound_error: float = 0.0  # the standard error of the sampled risk, as a change of the bound
    prior_seconds: float = 0.0  # the time of training the prior; not included in `seconds`


FIGURES = {field.name for field in fields(EpochRecord)} - {"epoch", "phase"}


def log_path(checkpoint: Path) -> Path:
    """The path of the log of a checkpoint's training."""
    return checkpoint.with_suffix(".log.jsonl")


class TrainingLog:
    """Records appended to a file one by one."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def restart(self, epochs_kept: int) -> list[EpochRecord]:
        """Drop the records after the epoch that training resumes from; return the others."""
        kept = [record for record in self.records() if record.epoch <= epochs_kept]
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in kept)
        write_whole(self.path, lambda stream: stream.write(lines.encode()))
        return kept

    def append(self, record: EpochRecord) -> None:
        """Append one epoch. It is on disk before the checkpoint that follows it."""
        try:
            with self.path.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(asdict(record)) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise FileError(f"cannot write {self.path}: {error.strerror or error}") from error

    def records(self) -> list[EpochRecord]:
        """The epochs so far."""
        if not self.path.is_file():
            return []
        records = []
        for line in self.path.read_bytes().splitlines():
            try:
                figures = parse_line(line, str(self.path))
                records.append(EpochRecord(**figures))
            except (FileError, TypeError):
                break  # a line truncated by a kill: this epoch and the following ones are run again
            if any(value is None and name != "beta" for name, value in figures.items()):
                return records[:-1]
        return records


def parse_line(line: bytes, where: str) -> dict[str, Any]:
    """The figures in a line that has them; FileError, with the place, if it is not a log line.

    A file may hold anything where a number belongs. Numbers become floats; integers too large for a
    float are left out.
    """
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{where}: not JSON, so not a training log ({error})") from error
    if not isinstance(record, dict):
        raise FileError(f"{where}: not an object, so not a training log")
    epoch, phase = record.get("epoch"), record.get("phase", "bound")
    if type(epoch) is not int or not 0 <= epoch < LARGEST or not isinstance(phase, str):
        raise FileError(f"{where}: no valid epoch and phase, so not a training log")
    for name in FIGURES & record.keys():
        parse = _numbers if name in LAYERED else _number
        record[name] = parse(record[name], f"{where}: {name}")
    for name in ("seconds", "prior_seconds"):
        if not 0 <= (record.get(name) or 0.0) < math.inf:
            raise FileError(f"{where}: seconds must be a number from 0")
    return record


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float):
        raise FileError(f"{what} must be a number, not {str(value)[:40]!r}")
    try:
        return float(value)
    except OverflowError:
        return None


def _numbers(value: Any, what: str) -> list[float | None] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise FileError(f"{what} must be a list of numbers, not {str(value)[:40]!r}")
    return [_number(item, what) for item in value]
