"""Upper confidence limit of E‖W − Θ0‖² when W is a Lipschitz function of standard normals.

Let W = w(ε) with ε standard normal in Rᵈ and ‖w(ε) − w(ε')‖ ≤ L‖ε − ε'‖, and let K independent
samples have the mean square F² = (1/K) Σ‖W_k − Θ0‖². Then F = ‖(W_1 − Θ0, …, W_K − Θ0)‖/√K is a
function of K·d standard normals with Lipschitz constant L/√K, because a norm is 1-Lipschitz and
‖(w(ε_1) − w(ε'_1), …)‖ ≤ L‖(ε_1 − ε'_1, …)‖. Two facts about such functions suffice:

- B. S. Tsirelson, I. A. Ibragimov and V. N. Sudakov, "Norms of Gaussian Sample Functions" (1976);
  S. Boucheron, G. Lugosi and P. Massart, "Concentration Inequalities" (2013), Theorem 5.6, applied
  to −F: P(F ≤ E F − t) ≤ exp(−K t²/(2L²)). So E F ≤ F + L√(2 ln(1/δ)/K) with probability 1 − δ.
- The Gaussian Poincaré inequality (the same book, Theorem 3.20): Var F ≤ L²/K.

And E‖W − Θ0‖² = E F² = (E F)² + Var F. Neither the dimension nor the prior's variance appears: one
limit serves all prior variances at once, so they may be chosen afterwards.

Valid when: L is an upper bound of the Lipschitz constant, not an estimate; Θ0, the map and the
number of samples are fixed before the samples are drawn.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real, log, sqrt

__all__ = ["second_moment_limit"]


def second_moment_limit(mean_square: Real, lipschitz: Real, samples: Real, delta: Real) -> Real:
    """(√mean_square + L√(2 ln(1/δ)/K))² + L²/K; for intervals, `delta` must be one too."""
    root = sqrt(mean_square) + lipschitz * sqrt(2 * log(1 / delta) / samples)
    return root**2 + lipschitz**2 / samples
