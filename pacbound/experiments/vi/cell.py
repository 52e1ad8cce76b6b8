"""A cell of the table: training, then the averaged prediction on the test examples."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.errors import PacboundError, ResultError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.experiments.tables.epoch_log import EpochLog
from pacbound.experiments.tables.trained import CHECKPOINT, LOG, TrainedCell, modified
from pacbound.files import file_digest, write_whole
from pacbound.memory import peak_memory
from pacbound.training.log import TrainingLog

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.data.sources import Progress as FetchProgress
    from pacbound.training.descent import Step

__all__ = ["EVALUATION", "ViCell"]

EVALUATION = "evaluation.json"
PREDICTIONS = "predictions.npz"
WATCHED, MEMORY = "test.log.jsonl", "memory.log.jsonl"
PARTS = "predictions"  # the folder of those that an unfinished evaluation has made
EVALUATING = "evaluating"
CURVE = ("epoch", "seconds", "risk", "kl", "objective")  # of the training log; risk is the error


@dataclass(frozen=True)
class ViCell(TrainedCell):
    """One network and posterior."""

    network: str
    posterior: str
    samples: int  # the number of averaged networks

    last_stage: ClassVar[str] = EVALUATING
    watched: ClassVar[tuple[str, ...]] = (WATCHED, MEMORY)

    @property
    def name(self) -> str:
        """The name of the folder and of the published evaluation."""
        return f"{self.network}-{self.posterior}"

    @property
    def kind(self) -> str:
        """Every cell has its own pace."""
        return self.name

    def asked(self) -> dict[str, Any]:
        """The request of the evaluation."""
        return {"samples": self.samples}

    def fetch(self, progress: FetchProgress) -> None:
        """Load the data once, also those of the evaluation."""
        from pacbound.data import load
        from pacbound.experiments.vi.probing import OTHER

        super().fetch(progress)
        if self.data in OTHER:
            load(OTHER[self.data], progress)

    # In the child process -------------------------------------------------------------------

    def figures(self, step: Step) -> str:
        """Training error, KL and the negative ELBO."""
        return f"error {step.risk:.2%}  KL {step.kl:.0f}  −ELBO {step.objective:.3f}"

    def after_epoch(self, folder: Path, data: Dataset, epoch: int) -> None:
        """Note the memory, and the error on some test examples; no training depends on them."""
        from pacbound.experiments.vi.learning import watched_error

        _errors(folder).append(
            epoch, watched_error(folder / CHECKPOINT, data, self.settings.products)
        )
        memory = peak_memory()
        if memory is not None:
            _memory(folder).append(epoch, memory)

    def conclude(self, folder: Path, data: Dataset, threads: int, report: Report) -> None:
        """Predict the test examples and write all metrics."""
        from pacbound.experiments.vi.kept import Kept
        from pacbound.experiments.vi.probing import probe, save_probes
        from pacbound.experiments.vi.uncertainty import uncertainty
        from pacbound.predict import Predictor, evaluate, examples_of

        def on_chunk(what: str, done: int, total: int) -> None:
            report(Progress(EVALUATING, done / total, f"{what} {done / total:.0%}"))

        start = time.monotonic()
        path = folder / CHECKPOINT
        examples = examples_of(data)
        predictor = Predictor.of(path, data, products=self.settings.products)
        digest = file_digest(path)
        own = "own" if predictor.statistics is not None else "the same"
        how = f"{own} statistics, {predictor.products}"
        kept = Kept(folder / PARTS, f"{digest} {self.samples} {how}")
        prediction = kept(
            "test", lambda: predictor.predict(examples.inputs, self.samples, on_chunk)
        )
        probes = probe(predictor, data, self.samples, kept, on_chunk)
        save_probes(folder / PREDICTIONS, prediction, examples, probes)
        records, errors = TrainingLog(folder / LOG).records(), _errors(folder).epochs()
        last = records[-1]
        record = {
            "evaluation": evaluate(prediction, examples).to_mapping(),
            "uncertainty": uncertainty(prediction, examples, probes),
            "settings": self.settings.to_mapping(),
            "checkpoint_sha256": digest,
            "training": {
                "epochs": last.epoch,
                "seconds": last.seconds,
                "kl": last.kl,
                "peak_memory": _most_memory(folder),
            },
            "curve": [
                {name: getattr(record, name) for name in CURVE}
                | {"test_error": errors.get(record.epoch)}
                for record in records
            ],
            "seconds": time.monotonic() - start,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_whole(folder / EVALUATION, lambda stream: stream.write(text.encode()))
        kept.discard()

    def probe_last(self, some: Dataset, path: Path, threads: int) -> float:
        """The duration of all predictions in seconds, from two networks and a few examples."""
        from pacbound.data import load
        from pacbound.experiments.vi.effort import predictions
        from pacbound.predict import Predictor

        predictor = Predictor.of(path, some, products=self.settings.products)
        few, seconds = min(100, some.m), []
        for n in (1, 1, few):  # the first call includes setup
            start = time.monotonic()
            predictor.predict(some.train_inputs[:n], 2)
            seconds.append((time.monotonic() - start) / 2)
        _, draw, both = seconds
        each = max(both - draw, 0.0) / few  # one example through one network
        asked = predictions(load(self.settings.data), self.samples)
        return sum(networks * (draw + n * each) for n, networks in asked)

    # From the files -------------------------------------------------------------------------

    def finished(self, folder: Path) -> Verdict:
        """The evaluation must be complete, of these settings, and of this checkpoint."""
        if not (folder / EVALUATION).exists():
            return Verdict(False)
        try:
            record = self.record(folder)
        except PacboundError as error:
            return Verdict(False, str(error))
        if record["settings"] != json.loads(json.dumps(self.settings.to_mapping())):
            return Verdict(False, "its evaluation is of other settings")
        path = folder / CHECKPOINT
        if path.exists() and record["checkpoint_sha256"] != file_digest(path):
            return Verdict(False, "its evaluation is of another checkpoint")
        return Verdict(True)

    def published(self, folder: Path) -> Verdict:
        """The evaluation must be complete; its settings may be those of an earlier version."""
        try:
            self.record(folder)
        except PacboundError as error:
            return Verdict(False, str(error))
        return Verdict(True)

    def record(self, folder: Path) -> dict[str, Any]:
        """The stored evaluation; PacboundError if something is missing."""
        path = folder / EVALUATION
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            for name in ("error", "negative_log_likelihood", "expected_calibration_error"):
                float(record["evaluation"][name])
            for name in ("epochs", "seconds", "kl"):
                float(record["training"][name])
            float(record["seconds"]), record["settings"], record["checkpoint_sha256"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path} is not a complete evaluation") from error
        assert isinstance(record, dict)
        return record

    def measured(self, folder: Path) -> list[Measured]:
        """The paces of training, and the duration of the evaluation."""
        found = super().measured(folder)
        path = folder / EVALUATION
        if path.exists():
            try:
                seconds = float(self.record(folder)["seconds"])
            except PacboundError:
                return found
            found.append(Measured(EVALUATING, 1.0, seconds, modified(path)))
        return found


def _errors(folder: Path) -> EpochLog:
    return EpochLog(folder / WATCHED, "error")


def _memory(folder: Path) -> EpochLog:
    return EpochLog(folder / MEMORY, "bytes")


def _most_memory(folder: Path) -> int | None:
    """The peak of all processes that trained, and of this one."""
    peaks = [peak_memory(), *_memory(folder).epochs().values()]
    return max((int(peak) for peak in peaks if peak is not None), default=None)
