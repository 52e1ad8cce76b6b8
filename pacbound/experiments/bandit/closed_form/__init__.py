"""Training steps with explicit gradients, for networks too small for autograd.

With 50 hidden units, the products of a step take a fraction of a millisecond. Recording them for
differentiation takes longer than the products. Here the gradient of every posterior is a few
lines of NumPy on the memory of the posterior's own parameters.
"""

from __future__ import annotations

from pacbound.experiments.bandit.closed_form.diag import DiagLayer
from pacbound.experiments.bandit.closed_form.k_diag import KDiagLayer
from pacbound.experiments.bandit.closed_form.k_linear import KLinearLayer
from pacbound.experiments.bandit.closed_form.k_nonlinear import KNonlinearLayer
from pacbound.experiments.bandit.closed_form.layer import Layer
from pacbound.experiments.bandit.closed_form.parameters import FlatParameters
from pacbound.experiments.bandit.closed_form.point import PointLayer
from pacbound.posteriors import Diag, KDiag, KLinear, KNonlinear, Point, Posterior

__all__ = ["LAYERS", "FlatParameters", "Layer", "layer_of"]

LAYERS: dict[type[Posterior], type[Layer]] = {
    Diag: DiagLayer,
    KDiag: KDiagLayer,
    KLinear: KLinearLayer,
    KNonlinear: KNonlinearLayer,
    Point: PointLayer,
}


def layer_of(
    posterior: Posterior, parameters: FlatParameters, batch: int, prior_variance: float, draws: int
) -> Layer:
    """The dense layer with this posterior over its weights; the bias is the last column."""
    return LAYERS[type(posterior)](posterior, parameters, batch, prior_variance, draws)
