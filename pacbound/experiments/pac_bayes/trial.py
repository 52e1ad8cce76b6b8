"""A small certification, to measure its duration."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.experiments.pac_bayes.cell import Certification
from pacbound.experiments.tables.trial import Clock
from pacbound.predictors.chunks import Sampler

__all__ = ["certifying"]

PART = 250  # the certification is a 250th of the real one


def certifying(real: Certification, some: Dataset, path: Path, threads: int) -> float:
    """The duration of the real certification in seconds, from a small one of that checkpoint."""
    small = replace(
        real,
        draws=some.m * max(1, round(real.draws / PART / some.m)),
        weights=math.ceil(real.weights / PART),
        samples=math.ceil(real.samples / PART),
    )
    clock = Clock()

    def on_chunk(what: str, done: int, total: int) -> None:
        clock.tick(what)

    certificate = small.issue(path, some, Sampler(report=on_chunk))
    seconds = sum(
        clock.each(what) * (len(times) - 1) * _times_more(what, certificate, real, small)
        for what, times in clock.spent.items()
    )
    return seconds / threads


def _times_more(
    what: str, certificate: Certificate, real: Certification, small: Certification
) -> float:
    if what.endswith("KL"):
        return real.samples / small.samples
    if certificate.claims[0].sampler == "per-example":
        return real.draws / small.draws
    return real.weights / small.weights
