"""The logarithm of dq/dp at one draw, from W = g(ε) to the isotropic Gaussian prior N(Θ0, λI).

A map g with constant Jacobian determinant takes d standard normals ε to w, so
ln q(w) = −d/2·ln(2π) − ‖ε‖²/2 − ln|det|, and ln p(w) = −d/2·ln(2πλ) − ‖w − Θ0‖²/(2λ). The mean
of the log-ratio over q is the KL.

Its use: O. Rivasplata, I. Kuzborskij, C. Szepesvári and J. Shawe-Taylor, "PAC-Bayes Analysis
Beyond the Usual Bounds" (2020), the inequality for a pair of sample and draw, with the constant of
`maurer`. With probability at least
1 − δ over the sample and one draw w from the posterior, kl(R̂(w)‖R(w)) ≤ maurer.complexity(nats, m,
δ), where nats is this logarithm plus every cost of a union bound. Proof: the mean of
exp(m·kl − ln(dq/dp)) over the sample and w ~ q is at most the mean of exp(m·kl) with w ~ p. This w
does not depend on the sample, so the mean is at most 2√m. Mixing the priors p_j with weights π_j
gives dp ≥ π_j·dp_j, so j may be chosen after the draw for −ln π_j nats.

Valid when: `maurer` is; the determinant is constant over the map's domain; the draw was made once,
with a seed fixed before looking at it (taking the best of n draws costs ln n). Not valid in other
inequalities, which concern the mean over q. The result may be negative and is not clamped.
"""

from __future__ import annotations

from pacbound.bounds import xi
from pacbound.bounds.arithmetic import Real, log
from pacbound.bounds.inequality import DRAW, KLForm

__all__ = ["DENSITY", "log_density_ratio"]


def log_density_ratio(
    distance_sq: Real, noise_sq: Real, log_det: Real, d: Real, variance: Real
) -> Real:
    """½ [‖w − Θ0‖²/λ − ‖ε‖² + d ln λ] − ln|det|."""
    return (distance_sq / variance - noise_sq + d * log(variance)) / 2 - log_det


DENSITY = KLForm(
    name="density",
    title="density ratio of a draw",
    possessive="the density ratio of a draw",
    about=DRAW,
    is_worth_trying=True,
    complexity=xi.complexity,
)
