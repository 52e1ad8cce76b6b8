"""A proved upper bound of the spectral norm of a matrix."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from pacbound.errors import SettingError

__all__ = ["certified_norm"]

UNIT_ROUNDOFF = 2.0**-53

Matrix = npt.NDArray[np.float64]


def certified_norm(matrix: Tensor) -> float:
    """A float proved not to be below ‖A‖₂, and larger by a relative 10⁻⁹ or so.

    Example:
        >>> certified_norm(torch.tensor([[3.0]]))
        3.0
        >>> 5 <= certified_norm(torch.tensor([[3.0, 4.0]])) < 5 + 1e-9
        True
    """
    a: Matrix = matrix.detach().cpu().to(torch.float64).numpy()
    if not np.isfinite(a).all():
        raise SettingError("a weight of the flow is not finite, so it has no Lipschitz constant")
    largest = float(np.abs(a).max(initial=0.0))
    if largest == 0 or a.size == 1:
        return largest
    # A power of two scales the largest entry to [½, 1), so that nothing relevant over- or
    # underflows below: the loss of entries and products near 2⁻¹⁰⁷⁴ is negligible beside the
    # rounding of ‖A‖² ≥ ¼.
    exponent = math.frexp(largest)[1]
    a = np.ldexp(a if a.shape[0] <= a.shape[1] else a.T, -exponent)  # (k, l), k ≤ l
    gram = a @ a.T
    square = _proved_square(gram, a.shape[1], float(np.linalg.eigvalsh(gram)[-1]))
    root = math.nextafter(math.sqrt(square), math.inf)
    try:
        return math.nextafter(math.ldexp(root, exponent), math.inf)
    except OverflowError:
        return math.inf


def _proved_square(gram: Matrix, inner: int, guess: float) -> float:
    """A float proved not to be below ‖AAᵀ‖₂, given AAᵀ as computed in float64.

    A wrong guess does not affect soundness. The proof is a Cholesky factorisation that runs to its
    end (S. M. Rump, "Verification of positive definiteness", 2006). Write u = 2⁻⁵³,
    γ(n) = nu/(1 − nu), A k×l, and let t be such that H = fl(tI − G), G = fl(AAᵀ), has a computed
    factor R. Then
      G = AAᵀ + D₁,         ‖D₁‖ ≤ γ(l)‖A‖_F²: inner products of length l in any order,
      H = tI − G + D₂,      ‖D₂‖ ≤ u·max H_ii/(1 − u): only the diagonal is rounded,
      RᵀR = H + D₃,         ‖D₃‖ ≤ γ(k+2)‖R‖_F² ≤ γ(k+2)/(1 − γ(k+2)) · tr H
    (N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2002, sections 3.5 and 10.1,
    with one more rounding for codes that multiply by reciprocals). As RᵀR is positive
    semidefinite, ‖AAᵀ‖ ≤ t + ‖D₁‖ + ‖D₂‖ + ‖D₃‖. The diagonal of H is positive, so
    0 ≤ G_ii ≤ t(1 + u), tr H ≤ kt(1 + u) and ‖A‖_F² ≤ kt(1 + u)/(1 − γ(l)). To first order the
    sum is t(1 + k(k + l + 3)u). Four times that excess covers the rest while (k + l)u < 0.01,
    which holds for any matrix that fits into memory.

    Arguments:
        gram: (k, k), AAᵀ
        inner: l, the length of the inner products in it.
        guess: A positive approximation of ‖AAᵀ‖₂.
    """
    k = len(gram)
    excess = 4 * k * (k + inner + 3) * UNIT_ROUNDOFF
    square, step = guess, excess
    while True:
        square, step = square * (1 + step), 2 * step
        try:
            np.linalg.cholesky(square * np.eye(k) - gram)
        except np.linalg.LinAlgError:
            continue
        return math.nextafter(square * (1 + excess), math.inf)
