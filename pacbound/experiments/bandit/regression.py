"""Bayesian linear regression of every arm's reward, with unknown noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import TrainingDiverged
from pacbound.experiments.bandit.settings import AgentSettings
from pacbound.experiments.bandit.stream import State, Stream

__all__ = ["BayesianRegression"]

Array = NDArray[np.float64]


class BayesianRegression:
    """For each arm r = xᵀw + N(0, s²), with the conjugate prior of w and s² together:
    s² ~ InverseGamma(a0, b0) and w | s² ~ N(0, s²/λ I).

    The posterior is exact and of the same form (C. Bishop, "Pattern recognition and machine
    learning" (2006), exercise 3.12), with precision P = λI + XᵀX in units of the noise.

    Rewards enter the sums as they are. `standardize` says by what they are shifted and divided
    before they are regressed, and may say something else later.

    Arguments:
        size: The length of x, whose last entry is 1.
        arms: The number of regressions.
        settings: λ, a0 and b0.
    """

    def __init__(self, size: int, arms: int, settings: AgentSettings) -> None:
        self.settings = settings
        self.precision = np.empty((arms, size, size))
        self.covariance = np.empty((arms, size, size))  # P⁻¹
        self.moment = np.empty((arms, size))  # Xᵀr
        self.mean = np.empty((arms, size))  # P⁻¹Xᵀr, with standardised r
        self.squares = np.empty(arms)  # Σ r²
        self.counts = np.empty(arms)
        self.standard = np.array([0.0, 1.0])  # what is subtracted from r, and then divided by
        self.reset()

    def reset(self) -> None:
        """The prior."""
        identity = np.eye(self.precision.shape[-1])
        self.precision[:] = self.settings.ridge * identity
        self.covariance[:] = identity / self.settings.ridge
        for total in (self.moment, self.mean, self.squares, self.counts):
            total[:] = 0

    def update(self, x: NDArray[Any], arm: int, reward: float) -> None:
        """Add one observation, by the Sherman–Morrison formula."""
        x = x.astype(np.float64)
        self._count(arm, np.outer(x, x), x * reward, reward**2, 1)
        covariance = self.covariance[arm]
        column = covariance @ x
        covariance -= np.outer(column, column / (1 + x @ column))
        self.mean[arm] = covariance @ self._moments()[arm]

    def fit(self, inputs: NDArray[Any], arms: NDArray[np.int64], rewards: NDArray[Any]) -> None:
        """Refit to exactly these observations."""
        self.reset()
        for arm in np.unique(arms):
            # In float32, the rounding of large features could exceed λ.
            x, r = (values[arms == arm].astype(np.float64) for values in (inputs, rewards))
            self._count(arm, x.T @ x, x.T @ r, float(r @ r), len(r))
        self.refresh()

    def refresh(self) -> None:
        """Invert the precisions again, which removes the errors of many small updates."""
        try:
            inverse = np.linalg.inv(self.precision)
        except np.linalg.LinAlgError as error:
            raise TrainingDiverged(
                "a linear regression has no solution: contexts are too large; scale their columns"
            ) from error
        self.covariance[:] = (inverse + inverse.transpose(0, 2, 1)) / 2
        self.mean[:] = np.matmul(self.covariance, self._moments()[:, :, None])[:, :, 0]

    def standardize(self, unit: float) -> None:
        """Regress rewards minus their mean so far, in units of so many of their deviations."""
        count = max(self.counts.sum(), 1.0)
        mean = self.moment[:, -1].sum() / count
        deviation = np.sqrt(max(self.squares.sum() / count - mean**2, 0.0))
        self.standard[:] = mean, unit * (deviation or 1.0)

    def _moments(self) -> Array:
        """Xᵀr of standardised rewards."""
        shift, unit = self.standard
        sums = self.precision[:, :, -1].copy()  # Xᵀ1, as the last entry of x is 1
        sums[:, -1] -= self.settings.ridge
        moments: Array = (self.moment - shift * sums) / unit
        return moments

    def _squares(self) -> Array:
        """Σ r² of standardised rewards."""
        shift, unit = self.standard
        squares = self.squares - 2 * shift * self.moment[:, -1] + shift**2 * self.counts
        standard: Array = squares / unit**2
        return standard

    def gamma(self) -> tuple[Array, Array]:
        """a and b of every arm's noise s² ~ InverseGamma(a, b)."""
        explained = (self._moments() * self.mean).sum(1)
        residual = np.maximum(self._squares() - explained, 0)
        return self.settings.gamma_shape + self.counts / 2, self.settings.gamma_rate + residual / 2

    def sample(self, inputs: NDArray[Any], stream: Stream) -> Array:
        """xᵀw for every row and arm, (n, arms), each with its own draw of w and s².

        Given s², xᵀw is normal with variance s² xᵀP⁻¹x: w itself need not be drawn.
        """
        x = inputs.astype(np.float64)
        shape, rate = self.gamma()
        spread = np.matmul(x, self.covariance)  # (arms, n, size)
        spread *= x
        draws = stream.generator.standard_gamma(shape, size=(len(x), len(shape)))
        variance = rate / draws * np.maximum(spread.sum(2).T, 0)
        normal = stream.generator.standard_normal(variance.shape)
        sampled: Array = x @ self.mean.T + np.sqrt(variance) * normal
        return sampled

    def _count(self, arm: int, gram: Array, moment: Array, square: float, count: int) -> None:
        self.precision[arm] += gram
        self.moment[arm] += moment
        self.squares[arm] += square
        self.counts[arm] += count

    def state(self) -> State:
        """The sums, and the current inverses."""
        return {name: getattr(self, name) for name in _ARRAYS}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Continue from a saved state; ValueError if no observations can lead to it."""
        np.linalg.cholesky(state["precision"])  # its error is a ValueError
        if (state["counts"] < 0).any() or not state["standard"][1] > 0:
            raise ValueError("it has negative counts, or rewards without a scale")
        for name in _ARRAYS:
            getattr(self, name)[:] = state[name]


_ARRAYS = ("precision", "covariance", "moment", "mean", "squares", "counts", "standard")
