"""Estimators of the score, ∇ ln q at draws from q, that use nothing but the draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["SCORES", "gaussian_scores", "spectral_scores"]

RIDGE = 1e-6  # relative to the mean variance
KEPT = 0.99  # the share of the eigenvalues' sum that is kept


def gaussian_scores(draws: NDArray[np.float32]) -> NDArray[np.float32]:
    """∇ ln q at every draw as if q were normal: −C⁻¹(x − m), with the draws' moments.

    It is the gradient of −½ ln det C. If the draws are an affine map of as many standard normal
    numbers as they have coordinates, the gradient of the map is exact, whatever the draws are.
    Valid when: there are more draws than coordinates.

    Example:
        >>> gaussian_scores(np.array([[-1.0], [1.0]], dtype=np.float32)).round(3).tolist()
        [[1.0], [-1.0]]
    """
    count, size = draws.shape[-2:]
    centered = draws - draws.mean(-2, keepdims=True, dtype=np.float64)
    covariance = np.matmul(centered.swapaxes(-1, -2), centered) / count
    ridge = RIDGE * np.trace(covariance, axis1=-2, axis2=-1) / size
    covariance += ridge[..., None, None] * np.eye(size)
    scores: NDArray[np.float32] = -np.matmul(centered, np.linalg.inv(covariance)).astype(np.float32)
    return scores


def spectral_scores(draws: NDArray[np.float32]) -> NDArray[np.float32]:
    """∇ ln q at every draw: (…, count, size), like the draws.

    J. Shi, S. Sun and J. Zhu, "A spectral approach to gradient estimation for implicit
    distributions" (2018). With the kernel's matrix K = QΛQᵀ at the draws, the eigenfunctions by
    Nyström's method and their coefficients by Stein's identity are, at the draws themselves,
    QΛ⁻¹Qᵀ G with G_m = Σ_i (x_i − x_m) K_im / w²; small eigenvalues are left out. The kernel is
    Gaussian, and its width w the median distance of the draws.

    Example:
        >>> generator = np.random.default_rng(0)
        >>> draws = generator.standard_normal((400, 1)).astype(np.float32)
        >>> bool(np.abs(spectral_scores(draws) + draws).mean() < 0.2)
        True
    """
    count = draws.shape[-2]
    squares = (draws**2).sum(-1)
    distances = squares[..., :, None] + squares[..., None, :]
    distances -= 2 * np.matmul(draws, draws.swapaxes(-1, -2))
    above = distances[..., *np.triu_indices(count, 1)]
    width = np.maximum(np.median(above, axis=-1), np.finfo(np.float32).tiny)[..., None, None]
    similar = np.exp(np.maximum(distances, 0) / (-2 * width))  # K
    pull = np.matmul(similar, draws) - similar.sum(-1)[..., None] * draws
    pull /= width  # G
    values, vectors = np.linalg.eigh(similar)  # ascending
    left_out = np.cumsum(values, axis=-1) < (1 - KEPT) * count  # the trace of K is the count
    inverse = np.where(left_out, 0, 1 / np.where(left_out, 1, values))
    coefficients = inverse[..., None] * np.matmul(vectors.swapaxes(-1, -2), pull)
    scores: NDArray[np.float32] = np.matmul(vectors, coefficients)
    return scores


SCORES: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "gaussian": gaussian_scores,
    "spectral": spectral_scores,
}
