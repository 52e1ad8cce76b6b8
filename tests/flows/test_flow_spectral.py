"""The certified norm is above the norm, and close."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from torch import Tensor

from pacbound.errors import PacboundError
from pacbound.flows import certified_norm
from pacbound.flows.spectral import _proved_square
from pacbound.seeds import Noise, derive


def random(rows: int, columns: int) -> Tensor:
    return Noise(derive("spectral test", rows, columns)).normal(rows, columns, dtype=torch.float64)


def exact_norm(matrix: Tensor) -> mpmath.mpf:
    """‖A‖₂ to 50 digits."""
    with mpmath.workdps(50):
        values = mpmath.svd_r(mpmath.matrix(matrix.double().tolist()), compute_uv=False)
        return max(values)


def hilbert(n: int) -> Tensor:
    i = torch.arange(n, dtype=torch.float64)
    return 1 / (i[:, None] + i + 1)


MATRICES = {
    "one entry": torch.tensor([[-0.1]]),
    "row": random(1, 9),
    "column": random(9, 1),
    "square": random(8, 8),
    "tall": random(12, 3),
    "wide": random(3, 12),
    "single precision": random(6, 5).float(),
    "ill-conditioned": hilbert(10),
    "rank one": torch.ones(7, 5, dtype=torch.float64) / 3,
    "identity": torch.eye(6),
    "equal singular values": torch.linalg.qr(random(7, 7))[0],
    "graded": random(6, 6) * torch.logspace(-200, 0, 6, dtype=torch.float64),
    "unit triangle": random(8, 8).mul(5).tril(-1) + torch.eye(8, dtype=torch.float64),
    "huge": random(4, 4) * 1e300,
    "tiny": random(4, 4) * 1e-300,
    "subnormal": random(4, 4) * 1e-315,
    "huge and tiny": torch.tensor([[1e300, 1e-20], [1e-300, -3e299]], dtype=torch.float64),
}


@pytest.mark.parametrize("name", MATRICES)
def test_never_below_the_norm_and_close(name: str) -> None:
    matrix = MATRICES[name]
    certified, exact = mpmath.mpf(certified_norm(matrix)), exact_norm(matrix)
    assert certified >= exact
    assert certified <= exact * (1 + mpmath.mpf("1e-11")) or name == "subnormal"


@settings(max_examples=60, deadline=None)
@given(
    arrays(
        np.float64,
        array_shapes(min_dims=2, max_dims=2, max_side=4),
        elements=st.floats(-1e200, 1e200),
    )
)
def test_never_below_the_norm_of_any_small_matrix(matrix: np.ndarray) -> None:
    tensor = torch.from_numpy(matrix)
    assert mpmath.mpf(certified_norm(tensor)) >= exact_norm(tensor) * (1 - mpmath.mpf("1e-40"))


def test_large_matrices_stay_close() -> None:
    matrix = random(150, 400)
    norm = float(torch.linalg.matrix_norm(matrix, 2))
    assert norm * (1 - 1e-14) <= certified_norm(matrix) <= norm * (1 + 1e-9)


def test_a_bad_guess_costs_no_soundness() -> None:
    matrix = random(6, 9).numpy()
    gram = matrix @ matrix.T
    true = float(np.linalg.eigvalsh(gram)[-1])
    for guess in (1e-3 * true, 0.5 * true, true * (1 - 1e-12), true, 2 * true):
        assert _proved_square(gram, 9, guess) > true


def test_zero_and_empty_matrices_have_norm_zero() -> None:
    assert certified_norm(torch.zeros(3, 4)) == 0
    assert certified_norm(torch.zeros(0, 4)) == 0


def test_a_norm_beyond_the_floats_is_infinite() -> None:
    assert certified_norm(torch.full((3, 3), 1.5e308, dtype=torch.float64)) == math.inf


@pytest.mark.parametrize("entry", [math.nan, math.inf, -math.inf])
def test_entries_that_are_not_finite_are_refused(entry: float) -> None:
    with pytest.raises(PacboundError, match="not finite"):
        certified_norm(torch.tensor([[1.0, entry]]))
