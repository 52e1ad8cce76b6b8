"""The common base of cells that start with training."""

from __future__ import annotations

import hashlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.data import catalogue
from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.files import file_digest, write_whole
from pacbound.recipes import Settings
from pacbound.training.log import EpochRecord, TrainingLog

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.data.sources import Progress as FetchProgress
    from pacbound.training.checkpoints import Checkpoint
    from pacbound.training.descent import Step

__all__ = ["CHECKPOINT", "LOG", "TrainedCell", "modified"]

# torch is imported only in the child process, so that showing a table is quick.

CHECKPOINT, LOG = "checkpoint.pt", "checkpoint.log.jsonl"
RECENT = 5  # epochs used to estimate the pace


@dataclass(frozen=True)
class TrainedCell(ABC):
    """A cell that trains the posterior of its settings, followed by one more stage."""

    settings: Settings

    last_stage: ClassVar[str]  # the stage after training
    scratch: ClassVar[tuple[str, ...]] = ()  # files not needed once the result exists

    @property
    @abstractmethod
    def name(self) -> str:
        """The name shown to the user; cells of one name differ only in the last stage."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Cells of one kind take the same time for the same work."""

    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """The request of the last stage, for the digest."""

    @abstractmethod
    def figures(self, step: Step) -> str:
        """The figures to show for a training step."""

    @abstractmethod
    def conclude(self, folder: Path, data: Dataset, threads: int, report: Report) -> None:
        """The last stage, in the child process, with the finished checkpoint in the folder."""

    @abstractmethod
    def probe_last(self, some: Dataset, path: Path, threads: int) -> float:
        """The duration of the last stage in seconds, from a trial with some of the data."""

    @abstractmethod
    def finished(self, folder: Path) -> Verdict:
        """Whether the folder has a valid result."""

    @cached_property
    def digest(self) -> str:
        """The digest of settings, the request and, for a user's data file, its content."""
        parts = {
            "settings": self.settings.to_mapping(),
            "data": _file_digest(self.settings.data),
            **self.asked(),
        }
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def data(self) -> str:
        """The training data."""
        return self.settings.data

    def fetch(self, progress: FetchProgress) -> None:
        """Load the data once. Afterwards they come from the cache."""
        from pacbound.data import load

        load(self.settings.data, progress)

    def work(self) -> Mapping[str, float]:
        """The epochs of every phase of training, and the last stage as one unit."""
        epochs = {
            "warm start": self.settings.warm_start_epochs,
            "linear training": self.settings.linear_epochs,
            "training": self.settings.epochs,
        }
        return {stage: n for stage, n in epochs.items() if n} | {self.last_stage: 1.0}

    def stage_at(self, epoch: int) -> tuple[str, int]:
        """The stage of an epoch, and the number of earlier epochs in that stage."""
        before = epoch - 1
        for stage, amount in self.work().items():
            if before < amount or stage == self.last_stage:
                return stage, before
            before -= int(amount)
        raise AssertionError("the last stage has no end")

    # In the child process -------------------------------------------------------------------

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Train from the state of the checkpoint, then run the last stage."""
        from pacbound.api import StochasticModule
        from pacbound.data import load
        from pacbound.training.progress import Callback

        data = load(self.settings.data)
        path = folder / CHECKPOINT
        if _readable(path) is None:
            self._take_training(folder, data.sha256)
        resume = _readable(path) is not None  # an unreadable file counts as none

        def on_step(step: Step) -> None:
            stage, before = self.stage_at(step.epoch)
            text = f"epoch {step.epoch}/{step.epochs}  {self.figures(step)}"
            report(Progress(stage, before + step.step / step.steps, text))

        net = StochasticModule(self.settings)
        callbacks = [Callback(on_step=on_step)]
        net.fit(data, checkpoint=path, resume=resume, callbacks=callbacks, progress=False)
        report(Progress(self.last_stage, 0.0))
        self.conclude(folder, data, threads, report)

    def _take_training(self, folder: Path, data_sha256: str) -> None:
        """Copy the finished training of a cell that differs only in its last stage.

        The posterior is the same, so another last stage must not cost the training again.
        """
        for other in sorted(folder.parent.glob(f"{self.name}-*/{CHECKPOINT}")):
            found = _readable(other)
            if (
                found is not None
                and found.training is None
                and found.settings == self.settings
                and found.data["sha256"] == data_sha256
            ):
                for name in (LOG, CHECKPOINT):
                    _copy(other.with_name(name), folder / name)
                return

    def probe(self, threads: int) -> Mapping[str, float]:
        """Seconds per epoch of each stage and for the last one, from a small trial."""
        from pacbound.experiments.tables.trial import trial

        return trial(self, threads)

    # From the files -------------------------------------------------------------------------

    def progress(self, folder: Path) -> Progress | None:
        """The progress according to the training log."""
        records = TrainingLog(folder / LOG).records()
        if not records:
            return None
        last = records[-1]
        stage, before = self.stage_at(last.epoch + 1)
        epochs = sum(amount for name, amount in self.work().items() if name != self.last_stage)
        if stage == self.last_stage:
            return Progress(stage, 0.0, f"trained, {last.epoch} epochs")
        return Progress(stage, before, f"epoch {last.epoch}/{epochs:.0f}")

    def measured(self, folder: Path) -> list[Measured]:
        """The paces of the last epochs in each stage of training."""
        when = modified(folder / LOG)
        return [
            Measured(stage, len(seconds[-RECENT:]), sum(seconds[-RECENT:]), when)
            for stage, seconds in self._epochs(TrainingLog(folder / LOG).records()).items()
        ]

    def _epochs(self, records: list[EpochRecord]) -> dict[str, list[float]]:
        """Seconds of every epoch, by stage."""
        times: dict[str, list[float]] = {}
        previous = 0.0
        for record in records:
            stage, _ = self.stage_at(record.epoch)
            times.setdefault(stage, []).append(record.seconds - previous)
            previous = record.seconds
        return times


def _readable(path: Path) -> Checkpoint | None:
    from pacbound.training.checkpoints import Checkpoint

    try:
        return Checkpoint.load(path)
    except PacboundError:
        return None


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    write_whole(target, lambda stream: stream.write(content))


def modified(path: Path) -> float:
    """The modification time of a file; 0 if it does not exist."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _file_digest(data: str) -> str | None:
    """The digest of a user's data file; None for a named data set, which the catalogue fixes."""
    path = Path(data).expanduser()
    if data in catalogue() or not path.is_file():
        return None
    return file_digest(path)
