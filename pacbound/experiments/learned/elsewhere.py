"""Certified errors with priors or networks that learned from a part of the data, of others.

All in per cent, at the confidence that each of them chose.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ELSEWHERE", "Published", "lowest", "published_elsewhere"]


@dataclass(frozen=True)
class Published:
    """A certified error that others published, in per cent."""

    data: str
    predictor: str  # what is certified, in the words of our predictors
    source: str
    bound: float
    test: float | None = None


LOTFI = "Lotfi"
SURROGATE = "surrogate"
VIALLARD = "Viallard"
PBB = "PBB"
RERUN = "PBB rerun"

# LOTFI: S. Lotfi et al., "PAC-Bayes Compression Bounds So Tight That They Can Explain
# Generalization" (2022), with data-dependent priors; in effect a bound on held-out examples. These
# figures were recalled, not read from a file of results.
# SURROGATE: a certified surrogate of an unmodified network (2026).
# VIALLARD: P. Viallard et al., "A General Framework for the Practical Disintegration of
# PAC-Bayesian Bounds" (2024). The least over a grid of hyper-parameters, without a union bound.
# PBB: M. Pérez-Ortiz et al., "Tighter Risk Certificates for Neural Networks" (2021). Its code
# counts the prior's examples in m. RERUN: an audited repetition that does not.
ELSEWHERE = (
    Published("mnist", "fixed", LOTFI, 1.4),
    Published("mnist", "fixed", SURROGATE, 1.78, 0.50),
    Published("mnist", "draw", VIALLARD, 1.10, 0.61),
    Published("mnist", "gibbs", PBB, 1.55, 1.27),
    Published("mnist", "gibbs", VIALLARD, 3.5),
    Published("mnist", "gibbs", RERUN, 3.69, 1.08),
    Published("fashion-mnist", "fixed", LOTFI, 10.1),
    Published("fashion-mnist", "draw", VIALLARD, 10.18, 9.82),
    Published("fashion-mnist", "gibbs", VIALLARD, 15.5),
    Published("fashion-mnist", "gibbs", RERUN, 15.8, 12.0),
    Published("cifar-10", "fixed", LOTFI, 16.6),
    Published("cifar-10", "fixed", SURROGATE, 17.36, 5.84),
    Published("cifar-10", "draw", VIALLARD, 24.2, 21.8),
    Published("cifar-10", "gibbs", VIALLARD, 31.2),
    Published("cifar-10", "gibbs", RERUN, 38.8, 22.0),
)


def published_elsewhere(data: str, predictor: str) -> list[Published]:
    """The figures for a data set and a predictor, from the lowest bound to the highest."""
    found = [each for each in ELSEWHERE if (each.data, each.predictor) == (data, predictor)]
    return sorted(found, key=lambda each: each.bound)


def lowest(data: str, predictor: str) -> Published | None:
    """The lowest of them, if there is any."""
    return next(iter(published_elsewhere(data, predictor)), None)
