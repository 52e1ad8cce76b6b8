"""The training log: one JSON object per epoch and line."""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from pacbound.errors import FileError
from pacbound.files import write_whole

__all__ = ["EpochRecord", "TrainingLog", "log_path"]

LARGEST = 2**53


@dataclass(frozen=True)
class EpochRecord:
    """How an epoch ended: the figures of the weights that it saved."""

    epoch: int
    phase: str  # "warm-start", "linear" or "bound"
    surrogate_risk: float  # the mean over the epoch's batches
    risk: float  # zero-one, with the posterior's noise, on a sample of the examples
    kl: float
    nats: float  # KL and the union bound
    bound: float  # the certificate's bound at these figures, without Monte Carlo allowance
    objective: float
    prior_variances: list[float]
    lipschitz: list[float]  # estimated, of the groups that are not Gaussian
    learning_rate: float
    seconds: float  # since the start of training, over all resumed parts
    # Catoni's β, or the weight of KL in an ELBO; null where the objective has neither, in a warm
    # start, and in the logs of earlier versions.
    beta: float | None = None
    bound_error: float = 0.0  # what a standard error of the sampled risk adds to the bound
    prior_seconds: float = 0.0  # that learning the prior took before; not counted in `seconds`


def log_path(checkpoint: Path) -> Path:
    """Where the log of a checkpoint's training is."""
    return checkpoint.with_suffix(".log.jsonl")


class TrainingLog:
    """Records appended to a file as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def restart(self, epochs_kept: int) -> list[EpochRecord]:
        """Drop what lies after the epoch that training resumes from; return what is kept."""
        kept = [record for record in self.records() if record.epoch <= epochs_kept]
        lines = "".join(json.dumps(asdict(record)) + "\n" for record in kept)
        write_whole(self.path, lambda stream: stream.write(lines.encode()))
        return kept

    def append(self, record: EpochRecord) -> None:
        """Add one epoch; it is on the disk before the checkpoint that follows it."""
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
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                record = EpochRecord(**json.loads(line))
            except (ValueError, TypeError, RecursionError):
                break  # a line cut short by a kill: it and what follows are made again
            if not _sound(record):
                break
            records.append(record)
        return records


def _sound(record: EpochRecord) -> bool:
    """Whether its figures are numbers: a file may have anything in their places."""
    texts, lists = {"phase"}, {"prior_variances", "lipschitz"}
    for name, value in vars(record).items():
        if name in texts:
            fits = isinstance(value, str)
        elif name in lists:
            fits = isinstance(value, list) and all(map(_is_number, value))
        elif name == "beta" and value is None:
            fits = True
        else:
            fits = _is_number(value)
        if not fits:
            return False
    return type(record.epoch) is int and 0 <= record.seconds < math.inf


def _is_number(value: object) -> bool:
    """That arithmetic with floats can take: whole ones may have any number of digits."""
    return type(value) is float or (type(value) is int and abs(value) < LARGEST)
