"""Diag: the best independent Gaussian, in closed form."""

from __future__ import annotations

import torch

from pacbound.experiments.simulation.fit import Fit
from pacbound.experiments.simulation.targets import Targets

__all__ = ["expected_diag", "fit_diag"]


def fit_diag(targets: Targets) -> Fit:
    """Its variances are the inverses of the precision's diagonal. KL is convex in their logarithm.

    With P the precision and Σ its inverse, KL = ½ (Σᵢ log Pᵢᵢ + log det Σ).
    """
    log_precision = targets.curvatures.log()
    return Fit(
        family="diag",
        shape=targets.shape,
        kl=(log_precision.sum(1) + targets.log_det) / 2,
        converged=torch.ones(targets.trials, dtype=torch.bool),
        parameters={"log_scale": -log_precision.reshape(-1, *targets.shape) / 2},
    )


def expected_diag(dimensions: int) -> float:
    """The mean of Diag's KL over all targets with that many dimensions.

    The covariance G Gᵀ has a Wishart law with d degrees of freedom: 1/Pᵢᵢ is χ² with one degree,
    and det Σ is a product of independent χ² with 1, …, d. The mean follows from
    E log χ²ₖ = ψ(k/2) + log 2.

    Example:
        >>> expected_diag(1)
        0.0
    """
    degrees = torch.arange(1, dimensions + 1, dtype=torch.float64)
    logs = torch.digamma(degrees / 2)
    return float((logs - logs[0]).sum()) / 2
