"""A cell of the table: training, then certification, then a certificate that verifies."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pacbound.certificate.checker import check_file
from pacbound.certificate.format import Certificate
from pacbound.data import catalogue
from pacbound.errors import BadInput
from pacbound.files import write_whole
from pacbound.recipes import Settings
from pacbound.tables.cell import Measured, Progress, Report, Verdict
from pacbound.training.log import EpochRecord, TrainingLog

if TYPE_CHECKING:
    from pacbound.certify.issue import Request
    from pacbound.training.checkpoints import Checkpoint
    from pacbound.training.loop import Step

__all__ = ["CERTIFICATE", "CERTIFYING", "CHECKPOINT", "LOG", "Certification", "PacBayesCell"]

# torch is imported in the child process only, so that looking at a table is quick.

CHECKPOINT, LOG, CERTIFICATE = "checkpoint.pt", "checkpoint.log.jsonl", "certificate.json"
CERTIFYING = "certifying"
RECENT = 5  # epochs that the pace is taken from


@dataclass(frozen=True)
class Certification:
    """What is asked of every certification; the defaults are those of `pacbound certify`."""

    delta: str = "0.035"
    draws: int = 5_000_000
    weights: int = 10_000
    samples: int = 10_000

    def request(self, command: str, workers: int) -> Request:
        """The same for the issuer."""
        from pacbound.certify.budget import parse_delta
        from pacbound.certify.issue import Request

        return Request(
            delta=parse_delta(self.delta),
            draws=self.draws,
            weights=self.weights,
            samples=self.samples,
            workers=workers,
            command=command,
        )

    def options(self) -> list[str]:
        """Of `pacbound certify`: delta, and what is not the default."""
        given = {k: v for k, v in asdict(self).items() if v != getattr(Certification, k)}
        given = {"delta": self.delta, **given}
        return [word for key, value in given.items() for word in (f"--{key}", str(value))]


@dataclass(frozen=True)
class PacBayesCell:
    """One network, objective and posterior."""

    network: str
    objective: str  # "ours" for the recipe's own
    posterior: str
    settings: Settings
    certification: Certification

    @property
    def name(self) -> str:
        """Of the folder, and of the published certificate."""
        parts = (self.network, self.objective, self.posterior)
        return "-".join(part for part in parts if part != "ours")

    @cached_property
    def digest(self) -> str:
        """Of settings, certification and, where the data is the user's file, its content."""
        parts = {
            "settings": self.settings.to_mapping(),
            "certification": asdict(self.certification),
            "data": _file_digest(self.settings.data),
        }
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def kind(self) -> str:
        """The objective takes no time to speak of."""
        return f"{self.network} {self.posterior}"

    @property
    def data(self) -> str:
        """The training data."""
        return self.settings.data

    def work(self) -> Mapping[str, float]:
        """Epochs of every phase of training, and one certification."""
        epochs = {
            "warm start": self.settings.warm_start_epochs,
            "linear training": self.settings.linear_epochs,
            "training": self.settings.epochs,
        }
        return {stage: n for stage, n in epochs.items() if n} | {CERTIFYING: 1.0}

    def stage_at(self, epoch: int) -> tuple[str, int]:
        """The stage that an epoch belongs to, and the epochs of that stage before it."""
        before = epoch - 1
        for stage, amount in self.work().items():
            if before < amount or stage == CERTIFYING:
                return stage, before
            before -= int(amount)
        raise AssertionError("certifying is the last stage")

    # In the child process -------------------------------------------------------------------

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Train from where the checkpoint is, certify, and write the certificate."""
        from pacbound.certify.issue import certify
        from pacbound.data import load
        from pacbound.training.loop import train

        data = load(self.settings.data)
        path = folder / CHECKPOINT
        if _readable(path) is None:
            self._take_training(folder, data.sha256)
        resume = _readable(path) is not None  # a file that cannot be read is as good as none

        def on_step(step: Step) -> None:
            stage, before = self.stage_at(step.epoch)
            figures = f"risk {step.risk:.2%}  KL {step.kl:.0f}  bound {step.bound:.2%}"
            text = f"epoch {step.epoch}/{step.epochs}  {figures}"
            report(Progress(stage, before + step.step / step.steps, text))

        def on_chunk(what: str, done: int, total: int) -> None:
            # Where the KL is sampled too it comes first, and is taken for half of the work.
            part = done / total
            if self.posterior == "k-nonlinear":
                part = part / 2 if what.endswith("KL") else (1 + part) / 2
            report(Progress(CERTIFYING, part, f"{what} {done / total:.0%}"))

        train(self.settings, data, path, resume, on_step)
        report(Progress(CERTIFYING, 0.0))
        request = self.certification.request(self.command(folder), threads)
        certify(path, data, request, on_chunk).save(folder / CERTIFICATE)

    def _take_training(self, folder: Path, data_sha256: str) -> None:
        """Copy the finished training of a cell that differs in its certification only.

        The posterior is the same, and certifying it anew must not cost its training again.
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

    def command(self, folder: Path) -> str:
        """The certification as a user would ask for it, after `pacbound train`."""
        words = ["pacbound", "certify", str(folder / CHECKPOINT), *self.certification.options()]
        return shlex.join([*words, "-o", str(folder / CERTIFICATE)])

    def probe(self, threads: int) -> Mapping[str, float]:
        """Seconds per epoch of each stage and per certification, from a trial in small."""
        from pacbound.tables.pac_bayes.trial import trial

        return trial(self, threads)

    # From the files -------------------------------------------------------------------------

    def finished(self, folder: Path) -> Verdict:
        """The certificate must verify, be for the checkpoint there, and be of these settings."""
        path, checkpoint = folder / CERTIFICATE, folder / CHECKPOINT
        if not path.exists():
            return Verdict(False)
        verdict = check_file(str(path), checkpoint=str(checkpoint) if checkpoint.exists() else "")
        if not verdict.accepted:
            return Verdict(False, f"its certificate does not verify: {verdict.reason}")
        try:
            made = self.certificate(folder).made
        except BadInput as error:
            return Verdict(False, str(error))
        if made.settings != json.loads(json.dumps(self.settings.to_mapping())):
            return Verdict(False, "its certificate is of other settings")
        return Verdict(True)

    def certificate(self, folder: Path) -> Certificate:
        """As it is in the folder, whether or not it verifies."""
        return Certificate.from_json((folder / CERTIFICATE).read_bytes())

    def progress(self, folder: Path) -> Progress | None:
        """From the log of training."""
        records = TrainingLog(folder / LOG).records()
        if not records:
            return None
        last = records[-1]
        stage, before = self.stage_at(last.epoch + 1)
        epochs = sum(amount for name, amount in self.work().items() if name != CERTIFYING)
        if stage == CERTIFYING:
            return Progress(CERTIFYING, 0.0, f"trained, {last.epoch} epochs")
        return Progress(stage, before, f"epoch {last.epoch}/{epochs:.0f}")

    def measured(self, folder: Path) -> list[Measured]:
        """Paces of the last epochs of each stage, and the time that certification took."""
        found = self._paces(TrainingLog(folder / LOG).records(), _modified(folder / LOG))
        path = folder / CERTIFICATE
        if path.exists():
            try:
                seconds = self.certificate(folder).made.seconds
            except BadInput:
                return found
            found.append(Measured(CERTIFYING, 1.0, seconds, _modified(path)))
        return found

    def _paces(self, records: list[EpochRecord], when: float) -> list[Measured]:
        times: dict[str, list[float]] = {}
        previous = 0.0
        for record in records:
            stage, _ = self.stage_at(record.epoch)
            times.setdefault(stage, []).append(record.seconds - previous)
            previous = record.seconds
        return [
            Measured(stage, len(seconds[-RECENT:]), sum(seconds[-RECENT:]), when)
            for stage, seconds in times.items()
        ]


def _readable(path: Path) -> Checkpoint | None:
    from pacbound.training.checkpoints import Checkpoint

    try:
        return Checkpoint.load(path)
    except BadInput:
        return None


def _copy(source: Path, target: Path) -> None:
    content = source.read_bytes()
    write_whole(target, lambda stream: stream.write(content))


def _modified(path: Path) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _file_digest(data: str) -> str | None:
    """None for a named data set, whose content the catalogue fixes."""
    path = Path(data).expanduser()
    if data in catalogue() or not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
