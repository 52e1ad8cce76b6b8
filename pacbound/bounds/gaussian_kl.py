"""KL from a posterior W = g(ε) with known moments to the isotropic Gaussian prior N(Θ0, λI).

KL(q‖p) = −H(q) − E_q[ln p]. H(q) = d/2·ln(2πe) + ln|det| for a map of d standard normals with
constant Jacobian determinant, and E_q[ln p] depends only on E‖W − Θ0‖². It is the mean of
`log_density_ratio`, in which E‖ε‖² = d.

Valid when: the determinant is constant over the map's domain (affine and volume-preserving maps).
The result is never clamped: a negative value shows that the primitives are wrong.
"""

from __future__ import annotations

from pacbound.bounds.arithmetic import Real
from pacbound.bounds.density_ratio import log_density_ratio

__all__ = ["gaussian_kl"]


def gaussian_kl(second_moment: Real, log_det: Real, d: Real, variance: Real) -> Real:
    """½ [T/λ − d + d ln λ] − ln|det|, T = Tr Σ + ‖M − Θ0‖² about the prior's centre."""
    return log_density_ratio(second_moment, d, log_det, d, variance)
