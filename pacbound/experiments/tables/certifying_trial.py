"""Small certifications, to measure their duration."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.experiments.tables.certified import Certification
from pacbound.experiments.tables.trial import Clock
from pacbound.predictors import predictor_named
from pacbound.predictors.chunks import Sampler

__all__ = ["certifying"]

PART = 250  # a sampled certification is a 250th of the real one


def certifying(
    real: Certification, some: Dataset, times_more: float, path: Path, threads: int
) -> float:
    """The duration of the real certifications in seconds, from small ones of that checkpoint.

    Arguments:
        some: A part of the data.
        times_more: How many times more examples the data have.
    """
    return sum(
        _sampled(real, predictor, some, path, threads)
        if predictor_named(predictor).sampled
        else _counted(real, predictor, some, times_more, path)
        for predictor in real.predictors
    )


def _counted(
    real: Certification, predictor: str, some: Dataset, times_more: float, path: Path
) -> float:
    """Of a predictor whose errors are counted: its time grows with the examples."""
    start = time.monotonic()
    real.issue(path, some, predictor, Sampler())
    return times_more * (time.monotonic() - start)


def _sampled(real: Certification, predictor: str, some: Dataset, path: Path, threads: int) -> float:
    """Of a predictor whose risk is sampled: its time grows with the draws."""
    small = replace(
        real,
        draws=some.m * max(1, round(real.draws / PART / some.m)),
        weights=math.ceil(real.weights / PART),
        samples=math.ceil(real.samples / PART),
    )
    clock = Clock()

    def on_chunk(what: str, done: int, total: int) -> None:
        clock.tick(what)

    certificate = small.issue(path, some, predictor, Sampler(report=on_chunk))
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
