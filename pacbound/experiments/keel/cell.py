"""A cell of the table: choose a network, train once, and certify three predictors."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pacbound.certificate.checker import verify
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError, ResultError
from pacbound.experiments.keel.choosing import (
    CANDIDATES,
    FRACTION,
    choose,
    choosing_steps,
    seconds_per_step,
)
from pacbound.experiments.tables.cell import Measured, Progress, Report, Verdict
from pacbound.experiments.tables.published import published_folder
from pacbound.experiments.tables.trained import modified
from pacbound.files import write_whole

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.data.sources import Progress as FetchProgress

__all__ = [
    "DELTA",
    "PREDICTORS",
    "PUBLISHED",
    "RESULT",
    "SCALED_BY",
    "KeelCell",
    "place_of",
    "read_result",
    "scaled",
]

PUBLISHED = "results/keel"
RESULT = "result.json"
PREDICTORS = ("fixed", "draw", "gibbs")
DELTA = "0.035"
SCALED_BY = 0.1  # the share of examples that only scales the columns
STEP = 0.00065  # seconds of a step of a candidate, on the machine of the published results
CHOOSING, TRAINING, CERTIFYING = "choosing", "training", "certifying"
FIELDS = ("table", "delta", "draws", "certificates", "plain", "chosen", "seconds")


@dataclass(frozen=True)
class KeelCell:
    """One table.

    Arguments:
        draws: Of the Gibbs certificate.
        place: The place of these certificates in the order of making. All that were made before
            count, also those that were not published.
    """

    table: str
    delta: str = DELTA
    draws: int = 100_000
    place: int = 1

    scratch: ClassVar[tuple[str, ...]] = ()

    @property
    def name(self) -> str:
        """The name of the folder and of the published result."""
        return self.table

    @property
    def kind(self) -> str:
        """One pace for all tables: their work is in seconds of one machine."""
        return "KEEL's tables"

    @cached_property
    def digest(self) -> str:
        """The digest of everything that determines the result."""
        parts = [self.table, self.delta, self.draws, SCALED_BY, FRACTION, CANDIDATES]
        if self.place > 1:
            parts.append(self.place)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    @property
    def data(self) -> str:
        """The name of the data set."""
        return f"keel-{self.table}"

    def inherits(self, other: Any) -> Collection[str]:
        """Every cell is on its own."""
        return ()

    def fetch(self, progress: FetchProgress) -> None:
        """Load the table once. One download brings all of them."""
        from pacbound.data import load

        load(self.data, progress)

    def work(self) -> Mapping[str, float]:
        """Seconds for the candidates, one training, and the certificates, on an idle machine."""
        from pacbound.data import catalogue

        rows = catalogue()[self.data].m
        steps = choosing_steps((1 - SCALED_BY) * FRACTION * rows)
        return {CHOOSING: 0.4 + STEP * steps, TRAINING: 0.2 + rows / 1800, CERTIFYING: 0.7}

    # In the child process -------------------------------------------------------------------

    def run(self, folder: Path, threads: int, report: Report) -> None:
        """Everything from the beginning: the largest table takes some minutes."""
        from pacbound.api import StochasticModule

        clocks = [time.monotonic()]
        data = scaled(self.data)
        chosen = choose(
            data,
            threads,
            lambda done, total: report(Progress(CHOOSING, done / total, f"{done}/{total}")),
        )
        clocks.append(time.monotonic())
        report(Progress(TRAINING, 0.0))
        net = StochasticModule(chosen.settings)
        net.fit(data, progress=False)
        clocks.append(time.monotonic())
        certificates = {}
        for number, predictor in enumerate(PREDICTORS):
            report(Progress(CERTIFYING, number / len(PREDICTORS), predictor))
            certificates[predictor] = net.certify(
                data,
                self.delta,
                predictor=predictor,
                draws=self.draws,
                place=self.place if self.place > 1 else None,
                copies=copies_of(data),
                command="pacbound table keel",
            )
        certificates["fixed"] = self._first_of(certificates["fixed"])
        clocks.append(time.monotonic())
        centre = certificates["fixed"].claims[0]
        assert centre.errors is not None
        plain = plain_limit(centre.errors, centre.m, self.delta)
        took = zip(self.work(), clocks, clocks[1:], strict=False)
        record = {
            "table": self.table,
            "delta": self.delta,
            "draws": self.draws,
            "certificates": {
                name: json.loads(certificate.to_json())
                for name, certificate in certificates.items()
            },
            "plain": plain,
            "chosen": {
                "hidden": list(chosen.settings.hidden),
                "validation_errors": list(chosen.errors),
                "validation_examples": chosen.examples,
            },
            "seconds": {stage: round(end - start, 1) for stage, start, end in took},
        }
        text = json.dumps(record, indent=1, ensure_ascii=False)
        write_whole(folder / RESULT, lambda stream: stream.write(text.encode()))

    def _first_of(self, fixed: Certificate) -> Certificate:
        """The certificate that was published for the same centre, if this one was made again.

        It counts the same errors of the same network. What changed since did not change it.
        """
        folder = published_folder(PUBLISHED) if self.place > 1 else None
        path = folder / f"{self.table}.json" if folder is not None else None
        if path is None or not path.exists():
            return fixed
        first: Certificate = read_result(path)["certificates"]["fixed"]
        return first if (first.model, first.data) == (fixed.model, fixed.data) else fixed

    def probe(self, threads: int) -> Mapping[str, float]:
        """How much slower than the idle machine this one is, from a few hundred steps."""
        return dict.fromkeys(self.work(), seconds_per_step(threads) / STEP)

    # From the files -------------------------------------------------------------------------

    def published(self, folder: Path) -> Verdict:
        """A published result must be valid and of these settings, at any place."""
        return self._holds(folder)

    def finished(self, folder: Path) -> Verdict:
        """The result must be complete, of this table and place, and its certificates valid."""
        verdict = self._holds(folder)
        if verdict.finished and place_of(read_result(folder / RESULT)) != self.place:
            return Verdict(False, "its result is at another place in the order of making")
        return verdict

    def _holds(self, folder: Path) -> Verdict:
        if not (folder / RESULT).exists():
            return Verdict(False)
        try:
            record = read_result(folder / RESULT)
        except PacboundError as error:
            return Verdict(False, str(error))
        if (record["table"], record["delta"], record["draws"]) != (
            self.table,
            self.delta,
            self.draws,
        ):
            return Verdict(False, "its result is of another table")
        return Verdict(True)

    def progress(self, folder: Path) -> Progress | None:
        """An unfinished cell starts again."""
        return None

    def measured(self, folder: Path) -> list[Measured]:
        """The duration of every stage."""
        path = folder / RESULT
        try:  # without checking the certificates: this is asked for every other second
            seconds = json.loads(path.read_text(encoding="utf-8"))["seconds"]
            work, when = self.work(), modified(path)
            return [Measured(x, work[x], float(seconds[x]), when) for x in work]
        except (OSError, ValueError, KeyError, TypeError):
            return []


def scaled(name: str) -> Dataset:
    """A table with its columns scaled by a tenth of the examples, and without these."""
    import numpy as np

    from pacbound.data import load
    from pacbound.priors.scaling import Scaling, set_aside

    raw = load(name)
    inputs = raw.train_inputs.astype(np.float64)
    aside, rest = set_aside(inputs, raw.train_labels, SCALED_BY)
    scaling = Scaling.of(inputs[aside], inputs.shape[1])
    return replace(
        raw.part(rest),
        name=f"{name}, scaled by {len(aside)} others",
        train_inputs=scaling(inputs[rest]),
    )


def copies_of(data: Dataset) -> str:
    """Rows of few numbers are often equal: more than 1 % are declared to be independent."""
    from pacbound.data.copies import ALLOWED_PERCENT

    return "independent" if 100 * data.duplicates > ALLOWED_PERCENT * data.m else "counted"


def plain_limit(errors: int, examples: int, delta: str) -> float:
    """What one line of scipy gives: the Clopper–Pearson limit of the same centre."""
    from scipy.stats import beta

    if errors == examples:
        return 1.0
    return float(beta.ppf(1 - float(delta), errors + 1, examples - errors))


def place_of(record: Mapping[str, Any]) -> int:
    """The place that a result's drawn network declares; 1 if it was the only one."""
    number: int = record["certificates"]["draw"].ledger.certificates.number
    return number


def read_result(path: Path) -> dict[str, Any]:
    """A stored result; PacboundError if something is missing or a certificate does not verify."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        missing = [name for name in FIELDS if name not in record]
        if missing or set(record["certificates"]) != set(PREDICTORS):
            raise ResultError(f"{path} is not a complete result")
        float(record["plain"])
        parsed = {
            name: json.dumps(certificate, ensure_ascii=False).encode()
            for name, certificate in record["certificates"].items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{path} is not a complete result") from error
    for name, content in parsed.items():
        verdict = verify(content)
        if not verdict.accepted:
            raise ResultError(f"{path}: its certificate {name} does not verify: {verdict.reason}")
        record["certificates"][name] = Certificate.from_json(content)
    assert isinstance(record, dict)
    return record
