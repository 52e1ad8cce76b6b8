"""Spectral norms estimated for training: differentiable and cheap, but not bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pacbound.errors import SettingError
from pacbound.seeds import Noise, derive

__all__ = ["EstimatedNorm"]


class EstimatedNorm:
    """Differentiable estimates of spectral norms by power iteration: for training only.

    An estimate lies below the norm, so it certifies nothing. Therefore `Flow.lipschitz` does not
    accept this object itself, and its results are tensors. Matrices are identified by the order of
    calls, so one object serves one `lipschitz` method. It keeps the singular vectors between
    training steps, so one iteration per step is enough.

    Arguments:
        iterations: Power iterations for each evaluation.
        first: Power iterations when a matrix is seen for the first time.

    Example:
        >>> from pacbound.flows import build
        >>> estimate = EstimatedNorm()
        >>> float(estimate.of(build("iaf", size=4, hidden=[8], steps=2, linear=True, seed="0")
        ...                   .lipschitz).detach().round(decimals=4))
        1.0
    """

    def __init__(self, iterations: int = 1, first: int = 30) -> None:
        self.iterations = iterations
        self.first = first
        self.vectors: list[Tensor] = []  # right singular vectors

    def of(self, lipschitz: Callable[[Callable[[Tensor], Tensor]], Tensor]) -> Tensor:
        """The value of a `lipschitz` method with estimated norms; a norm's gradient is u vᵀ."""
        place = 0

        def norm(matrix: Tensor) -> Tensor:
            nonlocal place
            place += 1
            return self._estimate(matrix, place - 1)

        return lipschitz(norm)

    def state_dict(self) -> dict[str, Any]:
        """The state that a checkpoint needs to continue training exactly."""
        return {"vectors": list(self.vectors)}

    def load_state_dict(self, state: Any) -> None:
        """Continue from a saved state; ValueError if it is invalid."""
        vectors = state.get("vectors") if isinstance(state, dict) else None
        if not isinstance(vectors, list) or not all(map(_is_vector, vectors)):
            raise ValueError("its singular vectors are not vectors")
        self.vectors = list(vectors)

    def _estimate(self, matrix: Tensor, place: int) -> Tensor:
        iterations = self.iterations
        if place == len(self.vectors):
            start = Noise(derive("power iteration", place)).normal(matrix.shape[1])
            self.vectors.append(start / start.norm())
            iterations = self.first
        fixed, right = matrix.detach(), self.vectors[place].to(matrix)
        if len(right) != matrix.shape[1]:  # a saved vector can only be checked here
            raise SettingError("the saved singular vectors belong to another network")
        for _ in range(iterations):
            right = _direction(fixed.T @ _direction(fixed @ right), right)
        self.vectors[place] = right
        left = _direction(fixed @ right)
        estimate: Tensor = left @ (matrix @ right)
        return estimate


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and value.ndim == 1
        and value.is_floating_point()
        and bool(torch.isfinite(value).all())
    )


def _direction(vector: Tensor, otherwise: Tensor | None = None) -> Tensor:
    """The vector scaled to length 1; a zero vector is kept or replaced.

    A zero matrix, such as every last layer at the start, must not erase its singular vector.
    """
    length = float(vector.norm())
    if length > 0:
        return vector / length
    return vector if otherwise is None else otherwise
