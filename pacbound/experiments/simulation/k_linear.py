"""K-Linear: the best diagonal covariance behind a Kronecker product of unit triangular maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from string import ascii_lowercase

import torch
from torch import Tensor

from pacbound.experiments.simulation.fit import Fit
from pacbound.experiments.simulation.newton import Minima, minimise
from pacbound.experiments.simulation.targets import Targets
from pacbound.seeds import Noise, derive

__all__ = ["Triangles", "fit_k_linear"]


def fit_k_linear(
    targets: Targets,
    starts: int = 1,
    seed: int = 0,
    searched: Callable[[], None] = lambda: None,
) -> Fit:
    """The best result of searches from Diag's solution, with identity maps, and other points.

    With K = A ⊗ B ⊗ …, the best scales for given triangles give the variances 1/Qₖₖ, Q = Kᵀ P K.
    The rest is ½ Σ log Qₖₖ, a function of the triangles with several local minima. As
    Newton's method never ascends, the result is never above Diag's.

    Arguments:
        targets: The targets to approximate.
        starts: The number of starting points; all but the first are random.
        seed: The seed of the random starts.
        searched: Called after each search.
    """
    landscape = Triangles(targets.shape, targets.root)
    best = minimise(landscape, targets.root.new_zeros(targets.trials, landscape.parameters))
    searched()
    for number in range(1, starts):
        best = _better(best, minimise(landscape, _random_start(landscape, seed, number)))
        searched()
    spread = landscape.rebased(best.points).square().sum(1)
    below = landscape.below(best.points)
    return Fit(
        family="k-linear",
        shape=targets.shape,
        kl=best.values + targets.log_det / 2,
        converged=best.converged,
        parameters={
            "log_scale": -spread.log().reshape(-1, *targets.shape) / 2,
            **{f"triangles.{mode}.below": part for mode, part in enumerate(below)},
        },
    )


def _random_start(landscape: Triangles, seed: int, number: int) -> Tensor:
    """Standard normal entries below the diagonals, from one stream per trial."""
    streams = [
        Noise(derive("simulation start", seed, landscape.shape, trial, number))
        for trial in range(len(landscape.root))
    ]
    size = landscape.parameters
    return torch.stack([stream.normal(size, dtype=torch.float64) for stream in streams])


def _better(one: Minima, other: Minima) -> Minima:
    lower = other.values < one.values
    return Minima(
        torch.where(lower.unsqueeze(1), other.points, one.points),
        torch.where(lower, other.values, one.values),
        torch.where(lower, other.converged, one.converged),
    )


@dataclass(frozen=True, eq=False)
class Triangles:
    """½ Σ log Qₖₖ, a function of the entries below the diagonals of one triangle per mode.

    A step is relative to its starting point: each triangle L becomes L (I + Δ). Derivatives are
    then those at the identity, for a target with the precision Q, and are read off its entries.
    """

    shape: tuple[int, ...]
    root: Tensor  # R with P = Rᵀ R, (trials, d, d)

    @property
    def parameters(self) -> int:
        """The number of entries below the diagonals."""
        return sum(size * (size - 1) // 2 for size in self.shape)

    def part(self, rows: Tensor) -> Triangles:
        return Triangles(self.shape, self.root[rows])

    def below(self, points: Tensor) -> list[Tensor]:
        """For every mode, a matrix (trials, n, n) that is zero except below its diagonal."""
        counts = [size * (size - 1) // 2 for size in self.shape]
        matrices = []
        for size, entries in zip(self.shape, torch.split(points, counts, dim=1), strict=True):
            matrix = entries.new_zeros(len(entries), size, size)
            matrix[:, *_below(size)] = entries
            matrices.append(matrix)
        return matrices

    def rebased(self, points: Tensor) -> Tensor:
        """R K, the root of Q, computed mode by mode."""
        product = self.root.reshape(*self.root.shape[:2], *self.shape)
        for mode, below in enumerate(self.below(points), start=2):
            fibres = product.movedim(mode, -1)
            mixed = fibres.flatten(1, -2) @ below  # the triangle is I + below
            product = (fibres + mixed.reshape(fibres.shape)).movedim(-1, mode)
        return product.reshape(self.root.shape)

    def value(self, points: Tensor) -> Tensor:
        return self.rebased(points).square().sum(1).log().sum(1) / 2

    def moved(self, points: Tensor, steps: Tensor) -> Tensor:
        pairs = zip(self.shape, self.below(points), self.below(steps), strict=True)
        parts = [(at + by + at @ by)[:, *_below(size)] for size, at, by in pairs]
        return torch.cat(parts, dim=1)

    def derivatives(self, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        root = self.rebased(points)
        based = root.mT @ root  # Q
        modes = range(len(self.shape))
        gradients, blocks = [], {}
        for mode in modes:
            gradient, blocks[mode, mode] = self._of_mode(based, mode)
            gradients.append(gradient)
        for one, other in combinations(modes, 2):
            block = self._of_modes(based, one, other)
            blocks[one, other], blocks[other, one] = block, block.mT
        hessian = torch.cat([torch.cat([blocks[a, b] for b in modes], 2) for a in modes], 1)
        value = based.diagonal(dim1=1, dim2=2).log().sum(1) / 2
        return value, torch.cat(gradients, dim=1), hessian

    def _of_mode(self, based: Tensor, mode: int) -> tuple[Tensor, Tensor]:
        """Gradient and Hessian for one triangle; entries of different columns do not interact."""
        fibres = self._fibres(based, mode)  # (trials, i, j, l)
        scale = torch.einsum("tjjl->tjl", fibres)  # Q's diagonal
        slopes = fibres / scale.unsqueeze(1)
        curvature = torch.einsum("tikl,tjl->tikj", fibres, 1 / scale)
        curvature -= 2 * torch.einsum("tijl,tkjl->tikj", slopes, slopes)
        i, j = _below(self.shape[mode])
        same_column = j.unsqueeze(1) == j
        hessian = curvature[:, i.unsqueeze(1), i, j.unsqueeze(1)] * same_column
        return slopes.sum(3)[:, i, j], hessian

    def _of_modes(self, based: Tensor, one: int, other: int) -> Tensor:
        """The Hessian's block between the triangles of two modes."""
        fibres = self._fibres(based, one, other)  # (trials, i, m, j, n, l)
        scale = torch.einsum("tjnjnl->tjnl", fibres).unsqueeze(1)  # Q's diagonal
        by_one = torch.einsum("tinjnl->tijnl", fibres) / scale
        by_other = torch.einsum("tjmjnl->tmjnl", fibres) / scale
        curvature = ((fibres + fibres.transpose(2, 4)) / scale.unsqueeze(1)).sum(5)
        curvature -= 2 * torch.einsum("tijnl,tmjnl->timjn", by_one, by_other)
        (i, j), (m, n) = _below(self.shape[one]), _below(self.shape[other])
        return curvature[:, i.unsqueeze(1), m, j.unsqueeze(1), n]

    def _fibres(self, based: Tensor, *modes: int) -> Tensor:
        """The entries of Q whose row and column agree in the other modes, whose index is last.

        (trials, indices of the row in these modes, those of the column, index of the others)
        """
        rows = ascii_lowercase[: len(self.shape)]
        free = "".join(rows[mode] for mode in modes)
        columns = "".join(letter.upper() if letter in free else letter for letter in rows)
        rest = "".join(letter for letter in rows if letter not in free)
        whole = based.reshape(-1, *self.shape, *self.shape)
        # Z is the trial
        fibres = torch.einsum(f"Z{rows}{columns}->Z{free}{free.upper()}{rest}", whole)
        return fibres.flatten(1 + 2 * len(modes)) if rest else fibres.unsqueeze(-1)


def _below(size: int) -> tuple[Tensor, Tensor]:
    rows, columns = torch.tril_indices(size, size, -1)
    return rows, columns
