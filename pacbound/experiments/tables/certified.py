"""Cells that train once and certify several predictors of that training."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.certificate.checker import check_file
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.experiments.tables.cell import Measured, Progress, Report, Row, Verdict
from pacbound.experiments.tables.trained import CHECKPOINT, TrainedCell, modified
from pacbound.posteriors import posterior_kind
from pacbound.predictors import predictor_named
from pacbound.predictors.waterfall import tail_part
from pacbound.recipes import Settings
from pacbound.recipes.commands import as_texts, setting_texts
from pacbound.verification import model_digest

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.predictors.chunks import Sampler
    from pacbound.training.descent import Step

__all__ = ["CERTIFYING", "Certification", "CertifiedCell", "certificate_figures"]

PARTIAL = "certificate.partial"  # the finished chunks of an unfinished certification
CERTIFYING = "certifying"
SAMPLING = ("draws", "weights", "samples")
# The settings that a published certificate of a cell must share with it.
OF_THE_CELL = ("recipe", "protocol", "data", "posterior", "objective")


@dataclass(frozen=True)
class Certification:
    """The request of every certification; the defaults are those of `pacbound certify`.

    Each certificate declares the number of predictors, before the first one is made. So the
    smallest bound among draw and fixed may be chosen after seeing all of them.
    """

    predictors: tuple[str, ...]
    delta: str = "0.035"
    draws: int = 5_000_000
    weights: int = 10_000
    samples: int = 10_000

    def issue(
        self, path: Path, data: Dataset, predictor: str, sampler: Sampler, command: str = ""
    ) -> Certificate:
        """The certificate of one predictor of a checkpoint."""
        from pacbound.api import load

        return load(path).certify(
            data,
            self.delta,
            predictor=predictor,
            certificates=len(self.predictors),
            draws=self.draws,
            weights=self.weights,
            samples=self.samples,
            sampler=sampler,
            command=command,
        )

    def options(self, predictor: str) -> list[str]:
        """The options of `pacbound certify` for one predictor."""
        given: dict[str, Any] = {
            "delta": self.delta,
            "predictor": predictor,
            "certificates": len(self.predictors),
        }
        if predictor_named(predictor).sampled:
            own = {name: getattr(self, name) for name in SAMPLING}
            given |= {k: v for k, v in own.items() if v != getattr(Certification, k)}
        return [word for key, value in given.items() for word in (f"--{key}", str(value))]


@dataclass(frozen=True)
class CertifiedCell(TrainedCell):
    """A cell that trains, then certifies every predictor of its request.

    The certificates must be valid, of this checkpoint, and of these settings.
    """

    certification: Certification

    last_stage: ClassVar[str] = CERTIFYING
    scratch: ClassVar[tuple[str, ...]] = (PARTIAL,)

    def asked(self) -> dict[str, Any]:
        """The request of the certification."""
        return {"certification": asdict(self.certification)}

    @staticmethod
    def file(folder: Path, predictor: str) -> Path:
        """The file of the certificate of a predictor."""
        return folder / f"{predictor}.json"

    def results(self, folder: Path) -> dict[str, Path]:
        """The certificates, by the names of their published copies."""
        return {
            f"{self.name}-{predictor}.json": self.file(folder, predictor)
            for predictor in self.certification.predictors
        }

    # In the child process -------------------------------------------------------------------

    def figures(self, step: Step) -> str:
        """Risk, KL and bound."""
        bound = "" if step.bound is None else f"  bound {step.bound:.2%}"
        return f"risk {step.risk:.2%}  KL {step.kl:.0f}{bound}"

    def conclude(self, folder: Path, data: Dataset, threads: int, report: Report) -> None:
        """Issue the certificates that are missing or not valid."""
        from pacbound.predictors.chunks import Sampler
        from pacbound.workers.choice import engine_for
        from pacbound.workers.kept import Kept

        kept = Kept(folder / PARTIAL)
        with engine_for(threads) as engine:
            for predictor in self.certification.predictors:
                path = self.file(folder, predictor)
                if path.exists() and not self._flaw(folder, predictor):
                    continue
                sampler = Sampler(engine, self._reporting(predictor, report), kept)
                command = self.command(folder, predictor)
                checkpoint = folder / CHECKPOINT
                made = self.certification.issue(checkpoint, data, predictor, sampler, command)
                made.save(path)
        kept.remove()

    def _reporting(self, predictor: str, report: Report) -> Any:
        sampled = predictor_named(predictor).sampled
        exact = posterior_kind(self.settings.posterior).has_exact_kl

        def on_chunk(what: str, done: int, total: int) -> None:
            # A sampled KL comes first, and is counted as half of the work.
            part = done / total if sampled else 0.0
            if sampled and not exact:
                part = part / 2 if what.endswith("KL") else (1 + part) / 2
            report(Progress(CERTIFYING, part, f"{predictor}, {what} {done / total:.0%}"))

        return on_chunk

    def command(self, folder: Path, predictor: str) -> str:
        """The certification command that a user would run after `pacbound train`."""
        options = self.certification.options(predictor)
        words = ["pacbound", "certify", str(folder / CHECKPOINT), *options]
        return shlex.join([*words, "-o", str(self.file(folder, predictor))])

    def probe_last(self, some: Dataset, path: Path, threads: int) -> float:
        """The duration of all certifications in seconds, from small ones."""
        from pacbound.data import load
        from pacbound.experiments.tables.certifying_trial import certifying

        times_more = load(self.settings.data).m / some.m
        return certifying(self.certification, some, times_more, path, threads)

    # From the files -------------------------------------------------------------------------

    def finished(self, folder: Path) -> Verdict:
        """All certificates must be valid, of this checkpoint, and of these settings."""
        predictors = self.certification.predictors
        if not all(self.file(folder, predictor).exists() for predictor in predictors):
            return Verdict(False)
        for predictor in predictors:
            if flaw := self._flaw(folder, predictor):
                return Verdict(False, flaw)
        return Verdict(True)

    def _flaw(self, folder: Path, predictor: str) -> str:
        """Why a certificate is not one of this cell; empty if it is."""
        path, checkpoint = self.file(folder, predictor), folder / CHECKPOINT
        verdict = check_file(str(path))
        if verdict.accepted and verdict.certificate is not None and checkpoint.exists():
            source = verdict.certificate["model"].get("source", "")
            verdict = check_file(str(path), model_sha256=model_digest(checkpoint, source))
        if not verdict.accepted:
            return f"its {predictor} certificate does not verify: {verdict.reason}"
        try:
            certificate = self.certificate(folder, predictor)
        except PacboundError as error:
            return str(error)
        if certificate.predictor != predictor or self.differing(certificate):
            return f"its {predictor} certificate is of other settings"
        return ""

    def published(self, folder: Path) -> Verdict:
        """The published ones of its certificates must be valid, and of its network and posterior.

        Other settings may differ, such as the number of epochs. `differing` lists them.
        """
        for predictor, certificate in self.certificates(folder).items():
            accepted = check_file(str(self.file(folder, predictor))).accepted
            differing = self.differing(certificate)
            if not accepted or certificate.predictor != predictor or {*OF_THE_CELL} & {*differing}:
                return Verdict(False, f"the published {predictor} certificate is not of this cell")
        return Verdict(bool(self.certificates(folder)))

    def certificate(self, folder: Path, predictor: str) -> Certificate:
        """A certificate in the folder, whether or not it is valid."""
        return Certificate.from_json(self.file(folder, predictor).read_bytes())

    def certificates(self, folder: Path) -> dict[str, Certificate]:
        """The certificates in the folder that can be read, by predictor."""
        found = {}
        for predictor in self.certification.predictors:
            try:
                found[predictor] = self.certificate(folder, predictor)
            except (OSError, PacboundError):
                continue
        return found

    def differing(self, certificate: Certificate) -> dict[str, str]:
        """The settings of a certificate that are not those of the cell."""
        theirs, own = certificate.made.settings, setting_texts(self.settings)
        defaults = as_texts({f.name: f.default for f in fields(Settings) if f.name not in theirs})
        return {
            name: theirs.get(name, defaults.get(name, ""))
            for name in {**own, **theirs}
            if theirs.get(name) != own.get(name)
        }

    def note(self, certificates: Mapping[str, Certificate]) -> str:
        """The settings of published certificates that differ from the cell's; empty if none do."""
        differing: dict[str, str] = {}
        for certificate in certificates.values():
            differing |= self.differing(certificate)
        words = ", ".join(f"{name}={value}" for name, value in differing.items())
        return words and f"published with {words}"

    def measured(self, folder: Path) -> list[Measured]:
        """The paces of training, and the duration of all certifications."""
        found = super().measured(folder)
        made = self.certificates(folder)
        if len(made) == len(self.certification.predictors):
            try:
                seconds = sum(float(each.made.times["certify"]) for each in made.values())
            except (KeyError, ValueError):
                return found
            when = max(modified(self.file(folder, predictor)) for predictor in made)
            found.append(Measured(CERTIFYING, 1.0, seconds, when))
        return found


def certificate_figures(certificate: Certificate | None) -> Row:
    """Risks and bounds as fractions, divergence in nats; None for missing values."""
    if certificate is None:
        return dict.fromkeys(("risk", "test_error", "nats", "tail_correction", "bound"))
    held_out, evidence = certificate.held_out, certificate.evidence
    test = None
    if held_out is not None and held_out.errors is not None and held_out.examples is not None:
        test = held_out.errors / held_out.examples
    return {
        "risk": float(certificate.claims[0].mean),
        "test_error": test,
        "nats": None if evidence is None else float(evidence.nats),
        "tail_correction": tail_part(certificate) or None,
        "bound": certificate.risk_bound,
    }
