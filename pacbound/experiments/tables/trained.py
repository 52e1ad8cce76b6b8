"""The common base of cells that start with training."""

from __future__ import annotations

import hashlib
import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.data import catalogue
from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.experiments.tables.epoch_log import EpochLog
from pacbound.files import file_digest, write_whole
from pacbound.recipes import Settings
from pacbound.training.log import EpochRecord, TrainingLog

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.data.sources import Progress as FetchProgress
    from pacbound.training.checkpoints import Checkpoint
    from pacbound.training.descent import Step

__all__ = ["CHECKPOINT", "LOG", "PRIOR", "TrainedCell", "modified"]

# torch is imported only in the child process, so that showing a table is quick.

CHECKPOINT, LOG, PRIOR_LOG = "checkpoint.pt", "checkpoint.log.jsonl", "prior.log.jsonl"
PRIOR = "learning the prior"  # a stage, if the prior learns
WARM, LINEAR = "warm start", "linear training"  # stages before that of the posterior itself
RECENT = 5  # epochs used to estimate the pace


@dataclass(frozen=True)
class TrainedCell(ABC):
    """A cell that trains the posterior of its settings, followed by one more stage."""

    settings: Settings

    last_stage: ClassVar[str]  # the stage after training
    scratch: ClassVar[tuple[str, ...]] = ()  # files not needed once the result exists
    watched: ClassVar[tuple[str, ...]] = ()  # logs of its epochs, besides that of training

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

    def after_epoch(  # noqa: B027 - most cells do nothing
        self, folder: Path, data: Dataset, epoch: int
    ) -> None:
        """Called in the child process after every epoch, with its checkpoint in the folder."""

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

    def inherits(self, other: Any) -> Collection[str]:
        """A posterior that starts as another one begins with the training of that."""
        from pacbound.training.linear_phase import alike, linear_settings

        first = linear_settings(self.settings)
        if first is None or not isinstance(other, TrainedCell):
            return ()
        return (PRIOR, WARM, LINEAR) if alike(first, other.settings) else ()

    def work(self) -> Mapping[str, float]:
        """The epochs of every phase of training, and the last stage as one unit."""
        epochs = {
            PRIOR: self.settings.prior_epochs if self.settings.prior_fraction else 0,
            WARM: self.settings.warm_start_epochs,
            LINEAR: self.settings.linear_epochs,
            "training": self.settings.epochs,
        }
        return {stage: n for stage, n in epochs.items() if n} | {self.last_stage: 1.0}

    def stage_at(self, epoch: int) -> tuple[str, int]:
        """The stage of a posterior's epoch, and the number of earlier epochs in that stage."""
        before = epoch - 1
        stages = {stage: amount for stage, amount in self.work().items() if stage != PRIOR}
        for stage, amount in stages.items():
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
        if _readable(path) is None:
            self._take_linear_phase(folder, data)
        resume = _readable(path) is not None  # an unreadable file counts as none
        if not resume and self.settings.prior_fraction:
            self._take_prior(folder, data)
        on_prior_step = self._prior_steps(folder, report)

        def on_step(step: Step) -> None:
            if step.phase in ("choosing", "prior"):
                on_prior_step(step)
                return
            stage, before = self.stage_at(step.epoch)
            text = f"epoch {step.epoch}/{step.epochs}  {self.figures(step)}"
            report(Progress(stage, before + step.step / step.steps, text))

        def on_epoch(record: EpochRecord) -> None:
            self.after_epoch(folder, data, record.epoch)

        net = StochasticModule(self.settings)
        callbacks = [Callback(on_step, on_epoch)]
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
                self._take_watched(other.parent, folder)
                for name in (LOG, CHECKPOINT):
                    _copy(other.with_name(name), folder / name)
                return

    def _take_watched(self, source: Path, folder: Path) -> None:
        """Copy the further logs of a training."""
        for name in self.watched:
            if (source / name).exists():
                _copy(source / name, folder / name)

    def _take_linear_phase(self, folder: Path, data: Dataset) -> None:
        """Begin with the finished training of a cell whose posterior this one starts as."""
        from pacbound.training.linear_phase import after_linear_phase, linear_settings

        if linear_settings(self.settings) is None:
            return
        for other in sorted(folder.parent.glob(f"*/{CHECKPOINT}")):
            found = _readable(other)
            if found is None or found.data["sha256"] != data.sha256:
                continue
            try:
                begun = after_linear_phase(self.settings, data, found)
            except PacboundError:  # a training with other settings
                continue
            self._take_watched(other.parent, folder)
            log = TrainingLog(folder / LOG)
            log.restart(0)  # a copy that was killed may have left records
            for record in TrainingLog(other.with_name(LOG)).records():
                phase = "linear" if record.phase == "bound" else record.phase
                log.append(replace(record, phase=phase))
            begun.save(folder / CHECKPOINT)
            return

    def _take_prior(self, folder: Path, data: Dataset) -> None:
        """Copy the prior that another cell learned, or began to learn, with the same settings.

        Its file is named by what determines it.
        """
        from pacbound.priors.split import split_of
        from pacbound.training.learned_prior import prior_path

        part = split_of(self.settings, data).learned_data(data)
        own = prior_path(folder / CHECKPOINT, self.settings, part)
        for other in sorted(folder.parent.glob(f"{self.name}-*/{own.name}")):
            if not own.exists():
                log = other.with_name(PRIOR_LOG)
                if log.exists():
                    _copy(log, folder / PRIOR_LOG)
                _copy(other, own)

    def _prior_steps(self, folder: Path, report: Report) -> Callable[[Step], None]:
        """Reports the steps of a learned prior, and logs its epochs."""
        log, start = EpochLog(folder / PRIOR_LOG, "seconds"), time.monotonic()

        def on_step(step: Step) -> None:
            nonlocal start
            text = f"epoch {step.epoch}/{step.epochs} of the prior  error {step.risk:.2%}"
            choosing = step.phase == "choosing"
            done = 0.0 if choosing else step.epoch - 1 + step.step / step.steps
            report(Progress(PRIOR, done, text))
            if step.step == step.steps and not choosing:
                now = time.monotonic()
                log.append(step.epoch, round(now - start, 3))
                start = now

        return on_step

    def probe(self, threads: int) -> Mapping[str, float]:
        """Seconds per epoch of each stage and for the last one, from a small trial."""
        from pacbound.experiments.tables.trial import trial

        return trial(self, threads)

    # From the files -------------------------------------------------------------------------

    def progress(self, folder: Path) -> Progress | None:
        """The progress according to the training log."""
        records, work = TrainingLog(folder / LOG).records(), self.work()
        if not records:
            learned = EpochLog(folder / PRIOR_LOG, "seconds").epochs()
            if PRIOR not in work or not learned:
                return None
            epoch = max(learned)
            return Progress(PRIOR, epoch, f"epoch {epoch}/{work[PRIOR]:.0f} of the prior")
        last = records[-1]
        stage, before = self.stage_at(last.epoch + 1)
        epochs = sum(n for name, n in work.items() if name not in (PRIOR, self.last_stage))
        if stage == self.last_stage:
            return Progress(stage, 0.0, f"trained, {last.epoch} epochs")
        return Progress(stage, before, f"epoch {last.epoch}/{epochs:.0f}")

    def measured(self, folder: Path) -> list[Measured]:
        """The paces of the last epochs in each stage of training."""
        found = []
        learned = list(EpochLog(folder / PRIOR_LOG, "seconds").epochs().values())[-RECENT:]
        if learned:
            when = modified(folder / PRIOR_LOG)
            found.append(Measured(PRIOR, len(learned), sum(learned), when))
        when = modified(folder / LOG)
        for stage, seconds in self._epochs(TrainingLog(folder / LOG).records()).items():
            found.append(Measured(stage, len(seconds[-RECENT:]), sum(seconds[-RECENT:]), when))
        return found

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
