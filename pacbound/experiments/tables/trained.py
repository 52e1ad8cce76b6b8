"""What cells that begin with training have in common."""

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

# torch is imported in the child process only, so that looking at a table is quick.

CHECKPOINT, LOG = "checkpoint.pt", "checkpoint.log.jsonl"
RECENT = 5  # epochs that the pace is taken from


@dataclass(frozen=True)
class TrainedCell(ABC):
    """A cell that trains the posterior of its settings, and then does one more thing with it."""

    settings: Settings

    last_stage: ClassVar[str]  # what is done after training
    scratch: ClassVar[tuple[str, ...]] = ()  # files of no use once the result is there

    @property
    @abstractmethod
    def name(self) -> str:
        """What the user calls it; cells of one name differ in what is asked after training."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """Cells of one kind take equally long for the same work."""

    @abstractmethod
    def asked(self) -> dict[str, Any]:
        """What is asked of the last stage, for the digest."""

    @abstractmethod
    def figures(self, step: Step) -> str:
        """What to show of a step of training."""

    @abstractmethod
    def conclude(self, folder: Path, data: Dataset, threads: int, report: Report) -> None:
        """The last stage, in the child process, with the finished checkpoint in the folder."""

    @abstractmethod
    def probe_last(self, some: Dataset, path: Path, threads: int) -> float:
        """Seconds that the last stage will take, from a trial with some of the data."""

    @abstractmethod
    def finished(self, folder: Path) -> Verdict:
        """Whether the folder has the result, and the result is sound."""

    @cached_property
    def digest(self) -> str:
        """Of settings, what else is asked and, where the data is the user's file, its content."""
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
        """Load the data once; it comes from the cache afterwards."""
        from pacbound.data import load

        load(self.settings.data, progress)

    def work(self) -> Mapping[str, float]:
        """Epochs of every phase of training, and the last stage as one piece."""
        epochs = {
            "warm start": self.settings.warm_start_epochs,
            "linear training": self.settings.linear_epochs,
            "training": self.settings.epochs,
        }
        return {stage: n for stage, n in epochs.items() if n} | {self.last_stage: 1.0}

    def stage_at(self, epoch: int) -> tuple[str, int]:
        """The stage that an epoch belongs to, and the epochs of that stage before it."""
        before = epoch - 1
        for stage, amount in self.work().items():
            if before < amount or stage == self.last_stage:
                return stage, before
            before -= int(amount)
        raise AssertionError("the last stage has no end")

    # In the child process -------------------------------------------------------------------

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Train from where the checkpoint is, then do what is to be done with the result."""
        from pacbound.api import StochasticModule
        from pacbound.data import load
        from pacbound.training.progress import Callback

        data = load(self.settings.data)
        path = folder / CHECKPOINT
        if _readable(path) is None:
            self._take_training(folder, data.sha256)
        resume = _readable(path) is not None  # a file that cannot be read is as good as none

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
        """Copy the finished training of a cell that differs in its last stage only.

        The posterior is the same, and asking something else of it must not cost its training again.
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
        """Seconds per epoch of each stage and for the last one, from a trial in small."""
        from pacbound.experiments.tables.trial import trial

        return trial(self, threads)

    # From the files -------------------------------------------------------------------------

    def progress(self, folder: Path) -> Progress | None:
        """From the log of training."""
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
        """Paces of the last epochs of each stage of training."""
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
    """When a file was written last; 0 where there is none."""
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _file_digest(data: str) -> str | None:
    """None for a named data set, whose content the catalogue fixes."""
    path = Path(data).expanduser()
    if data in catalogue() or not path.is_file():
        return None
    return file_digest(path)
