"""The source paper's upper confidence limit of E‖W − Θ0‖²: looser than `gaussian_tail` by √d.

C.-W. Huang, A. Touati, P. Vincent, G. K. Dziugaite, A. Lacoste and A. Courville, "Stochastic
Neural Network with Kronecker Flow" (2020), Theorem 3, for g = ‖W − Θ0‖/√2, which is a function of
d standard normals with Lipschitz constant L' = L/√2. Its steps, as corrected here:

- |g − E g| exceeds t with probability at most 2 exp(−t²/(2L'²)), so E(g − E g)²ᵖ ≤
  2(2L'²)ᵖ p! and E exp((g − E g)²/t²) ≤ 1 + 2 Σ (2L'²/t²)ᵖ, which is 2 at t² = 6L'². Its
  sub-Gaussian norm is therefore at most √6·L'. The paper reads t² as t and prints 6L'². This does
  not have the right dimension, and is smaller than what its proof gives whenever L' < 1/√6.
- E g ≤ g(0) + L' E‖ε‖ ≤ ‖W(0) − Θ0‖/√2 + L'√d. The paper has L'‖w⁻¹(Θ0)‖ as the first term,
  which is not smaller and needs an inverse.
- By the triangle inequality C = (√6·L' + E g/√ln 2)² bounds the norm of g, squared, so
  E exp(g²/C) ≤ 2 and E g²ᵖ ≤ 2Cᵖ p!. Bernstein's inequality for the sum of −g² (the moment
  conditions are on |g²|, so either tail has them; the limit needs this one, the paper prints the
  other) gives P(E g² − mean > ε) ≤ exp(−Kε²/(2(4C² + Cε))), which is δ at
  ε = C(ℓ + √(ℓ² + 8Kℓ))/K with ℓ = ln(1/δ).

Valid when: `gaussian_tail` is, and offset ≥ ‖W(0) − Θ0‖.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, log, sqrt, whole

__all__ = ["constant", "second_moment_limit"]


def constant(lipschitz: Real, d: int, offset: Real) -> Real:
    """C = (√6·L' + (L'√d + offset/√2)/√ln 2)², L' = L/√2, offset = ‖W(0) − Θ0‖."""
    six, dimension, two = (whole(number, lipschitz) for number in (6, d, 2))
    mean = lipschitz * sqrt(dimension) + offset
    return (sqrt(six) * lipschitz + mean / sqrt(log(two))) ** 2 / 2


def second_moment_limit(
    mean_square: Real, lipschitz: Real, d: int, offset: Real, samples: Real, delta: Real
) -> Real:
    """mean_square + 2C(ℓ + √(ℓ² + 8Kℓ))/K, ℓ = ln(1/δ); for intervals, `delta` must be one too."""
    level = log(1 / delta)
    excess = (level + sqrt(level**2 + 8 * samples * level)) / samples
    return mean_square + 2 * constant(lipschitz, d, offset) * excess
