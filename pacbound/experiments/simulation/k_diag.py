"""K-Diag: the best Kronecker product of diagonal covariances."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.experiments.simulation.fit import Fit
from pacbound.experiments.simulation.newton import minimise
from pacbound.experiments.simulation.targets import Targets

__all__ = ["fit_k_diag"]


def fit_k_diag(targets: Targets) -> Fit:
    """The log-variances are sums over modes, and KL is strictly convex in the terms.

    So its only stationary point is the minimum.
    """
    landscape = _LogLinear(targets.curvatures, _terms(targets.shape))
    start = targets.root.new_zeros(targets.trials, landscape.terms.shape[1])
    minima = minimise(landscape, start)
    return Fit(
        family="k-diag",
        shape=targets.shape,
        kl=minima.values + (targets.log_det - targets.dimensions) / 2,
        converged=minima.converged,
        parameters={
            f"log_scales.{mode}": part / 2
            for mode, part in enumerate(_by_mode(minima.points, targets.shape))
        },
    )


@dataclass(frozen=True, eq=False)
class _LogLinear:
    """½ Σ (P v − log v) with log v = X θ and the precision's diagonal P: the varying part of KL."""

    curvatures: Tensor  # (trials, d)
    terms: Tensor  # X, (d, parameters)

    def part(self, rows: Tensor) -> _LogLinear:
        return _LogLinear(self.curvatures[rows], self.terms)

    def value(self, points: Tensor) -> Tensor:
        log_variance = points @ self.terms.T
        return (self.curvatures * log_variance.exp() - log_variance).sum(1) / 2

    def derivatives(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        weights = self.curvatures * (points @ self.terms.T).exp()
        gradient = (weights - 1) @ self.terms / 2
        hessian = (self.terms.T * weights.unsqueeze(1)) @ self.terms / 2
        return self.value(points), gradient, hessian

    def moved(self, points: Tensor, steps: Tensor) -> Tensor:
        return points + steps


def _terms(shape: tuple[int, ...]) -> Tensor:
    """The terms that make up the logarithm of each entry's variance.

    Every mode but the first has no term for its first index, because moving a constant from one
    mode to another changes nothing.
    """
    places = torch.cartesian_prod(*(torch.arange(size) for size in shape))  # (d, modes)
    columns = [
        places[:, mode] == index
        for mode, size in enumerate(shape)
        for index in range(min(mode, 1), size)
    ]
    return torch.stack(columns, dim=1).double()


def _by_mode(points: Tensor, shape: tuple[int, ...]) -> list[Tensor]:
    """The terms of every mode, including the omitted zeros."""
    sizes = [shape[0], *(size - 1 for size in shape[1:])]
    first, *others = torch.split(points, sizes, dim=1)
    return [first, *(torch.nn.functional.pad(part, (1, 0)) for part in others)]
