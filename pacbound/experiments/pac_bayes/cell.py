"""A cell of the table: training, then certification. The certificate must be valid."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.certificate.checker import check_file
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.experiments.tables.trained import CHECKPOINT, TrainedCell, modified
from pacbound.posteriors import posterior_kind
from pacbound.recipes.commands import setting_texts
from pacbound.verification import model_digest

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.predictors.chunks import Sampler
    from pacbound.training.descent import Step

__all__ = ["CERTIFICATE", "CERTIFYING", "Certification", "PacBayesCell"]

CERTIFICATE = "certificate.json"
PARTIAL = "certificate.partial"  # the finished chunks of an unfinished certification
CERTIFYING = "certifying"


@dataclass(frozen=True)
class Certification:
    """The request of every certification; the defaults are those of `pacbound certify`."""

    delta: str = "0.035"
    draws: int = 5_000_000
    weights: int = 10_000
    samples: int = 10_000

    def issue(self, path: Path, data: Dataset, sampler: Sampler, command: str = "") -> Certificate:
        """The certificate of a checkpoint."""
        from pacbound.api import load

        return load(path).certify(
            data,
            self.delta,
            draws=self.draws,
            weights=self.weights,
            samples=self.samples,
            sampler=sampler,
            command=command,
        )

    def options(self) -> list[str]:
        """The options of `pacbound certify`: delta, and those that differ from the default."""
        given = {k: v for k, v in asdict(self).items() if v != getattr(Certification, k)}
        given = {"delta": self.delta, **given}
        return [word for key, value in given.items() for word in (f"--{key}", str(value))]


@dataclass(frozen=True)
class PacBayesCell(TrainedCell):
    """One network, objective and posterior."""

    network: str
    objective: str  # "ours" for the recipe's own
    posterior: str
    certification: Certification

    last_stage: ClassVar[str] = CERTIFYING
    scratch: ClassVar[tuple[str, ...]] = (PARTIAL,)

    @property
    def name(self) -> str:
        """The name of the folder and of the published certificate."""
        parts = (self.network, self.objective, self.posterior)
        return "-".join(part for part in parts if part != "ours")

    @property
    def kind(self) -> str:
        """The kind without the objective, which takes negligible time."""
        return f"{self.network} {self.posterior}"

    def asked(self) -> dict[str, Any]:
        """The request of the certification."""
        return {"certification": asdict(self.certification)}

    # In the child process -------------------------------------------------------------------

    def figures(self, step: Step) -> str:
        """Risk, KL and bound."""
        bound = "" if step.bound is None else f"  bound {step.bound:.2%}"
        return f"risk {step.risk:.2%}  KL {step.kl:.0f}{bound}"

    def conclude(self, folder: Path, data: Dataset, threads: int, report: Report) -> None:
        """Certify and write the certificate."""
        from pacbound.predictors.chunks import Sampler
        from pacbound.workers.choice import engine_for
        from pacbound.workers.kept import Kept

        def on_chunk(what: str, done: int, total: int) -> None:
            # A sampled KL comes first, and is counted as half of the work.
            part = done / total
            if not posterior_kind(self.posterior).has_exact_kl:
                part = part / 2 if what.endswith("KL") else (1 + part) / 2
            report(Progress(CERTIFYING, part, f"{what} {done / total:.0%}"))

        kept = Kept(folder / PARTIAL)
        with engine_for(threads) as engine:
            sampler = Sampler(engine, on_chunk, kept)
            path, command = folder / CHECKPOINT, self.command(folder)
            certificate = self.certification.issue(path, data, sampler, command)
        certificate.save(folder / CERTIFICATE)
        kept.remove()

    def command(self, folder: Path) -> str:
        """The certification command that a user would run after `pacbound train`."""
        words = ["pacbound", "certify", str(folder / CHECKPOINT), *self.certification.options()]
        return shlex.join([*words, "-o", str(folder / CERTIFICATE)])

    def probe_last(self, some: Dataset, path: Path, threads: int) -> float:
        """The duration of a certification in seconds, from a small one."""
        from pacbound.experiments.pac_bayes.trial import certifying

        return certifying(self.certification, some, path, threads)

    # From the files -------------------------------------------------------------------------

    def published(self, folder: Path) -> Verdict:
        """A published result must be valid and of these settings, as one that was made here."""
        return self.finished(folder)

    def finished(self, folder: Path) -> Verdict:
        """The certificate must be valid, for this checkpoint, and of these settings."""
        path, checkpoint = folder / CERTIFICATE, folder / CHECKPOINT
        if not path.exists():
            return Verdict(False)
        digest = model_digest(checkpoint) if checkpoint.exists() else ""
        verdict = check_file(str(path), model_sha256=digest)
        if not verdict.accepted:
            return Verdict(False, f"its certificate does not verify: {verdict.reason}")
        try:
            made = self.certificate(folder).made
        except PacboundError as error:
            return Verdict(False, str(error))
        if made.settings != setting_texts(self.settings):
            return Verdict(False, "its certificate is of other settings")
        return Verdict(True)

    def certificate(self, folder: Path) -> Certificate:
        """The certificate in the folder, whether or not it is valid."""
        return Certificate.from_json((folder / CERTIFICATE).read_bytes())

    def measured(self, folder: Path) -> list[Measured]:
        """The paces of training, and the duration of the certification."""
        found = super().measured(folder)
        path = folder / CERTIFICATE
        if path.exists():
            try:
                seconds = float(self.certificate(folder).made.times["certify"])
            except (PacboundError, KeyError, ValueError):
                return found
            found.append(Measured(CERTIFYING, 1.0, seconds, modified(path)))
        return found
