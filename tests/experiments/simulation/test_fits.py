"""The minima are those of the real posteriors, and nobody finds lower ones near them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from pacbound.experiments.simulation.diag import expected_diag, fit_diag
from pacbound.experiments.simulation.fit import Fit
from pacbound.experiments.simulation.k_diag import fit_k_diag
from pacbound.experiments.simulation.k_linear import Triangles, fit_k_linear
from pacbound.experiments.simulation.targets import Targets
from pacbound.posteriors import Posterior, posterior_named

FITS = {"diag": fit_diag, "k-diag": fit_k_diag, "k-linear": fit_k_linear}
SHAPES = [(2, 2), (3, 4), (5, 2), (2, 3, 2), (3, 2, 4), (2, 2, 2, 2)]
families = pytest.mark.parametrize("family", FITS)
shapes = pytest.mark.parametrize("shape", SHAPES)


def dense_root(posterior: Posterior) -> Tensor:
    """∂vec(W)/∂vec(E): the image of every unit vector under the posterior's own noise."""
    size = posterior.mean.numel()
    units = torch.eye(size, dtype=torch.float64).reshape(size, *posterior.shape)
    return torch.stack([posterior.noise(unit).flatten() for unit in units], dim=1)


def dense_kl(posterior: Posterior, covariance: Tensor) -> Tensor:
    """KL(q‖p) by the textbook formula, of dense matrices."""
    root = dense_root(posterior)
    trace = torch.linalg.solve(covariance, root @ root.T).trace()
    log_ratio = torch.linalg.slogdet(covariance).logabsdet - 2 * torch.linalg.slogdet(root)[1]
    return (trace - len(root) + log_ratio) / 2


def covariance_of(targets: Targets, trial: int) -> Tensor:
    square_root = torch.linalg.inv(targets.root[trial])
    return square_root @ square_root.T


def fitted(
    family: str, shape: tuple[int, ...], trials: int = 3, seed: int = 5
) -> tuple[Targets, Fit]:
    targets = Targets.draw(shape, trials, seed)
    return targets, FITS[family](targets)


@families
@shapes
def test_the_divergence_is_that_of_the_real_posterior(family: str, shape: tuple[int, ...]) -> None:
    targets, fit = fitted(family, shape)
    for trial in range(targets.trials):
        posterior = fit.posterior(trial)
        assert type(posterior) is type(posterior_named(family)(torch.zeros(shape), 1.0))
        assert posterior.flaw() is None
        expected = dense_kl(posterior, covariance_of(targets, trial)).item()
        assert fit.kl[trial].item() == pytest.approx(expected, rel=1e-7, abs=1e-7)


@shapes
def test_k_linear_has_the_covariance_of_dense_kronecker_products(shape: tuple[int, ...]) -> None:
    _, fit = fitted("k-linear", shape, trials=1)
    triangles = [
        torch.eye(size, dtype=torch.float64) + fit.parameters[f"triangles.{mode}.below"][0]
        for mode, size in enumerate(shape)
    ]
    product = triangles[0]
    for triangle in triangles[1:]:
        product = torch.kron(product, triangle)
    scales = fit.parameters["log_scale"][0].exp().flatten()
    torch.testing.assert_close(dense_root(fit.posterior(0)), product * scales)


@families
@shapes
def test_another_optimiser_finds_nothing_lower(family: str, shape: tuple[int, ...]) -> None:
    """L-BFGS over the parameters of the posterior's module, on the dense divergence."""
    targets, fit = fitted(family, shape, trials=1)
    assert fit.converged.all()
    posterior, covariance = fit.posterior(0), covariance_of(targets, 0)
    parameters = [p for name, p in posterior.named_parameters() if name != "mean"]

    def divergence(point: np.ndarray) -> tuple[float, np.ndarray]:
        torch.nn.utils.vector_to_parameters(torch.from_numpy(point), parameters)
        value = dense_kl(posterior, covariance)
        slopes = torch.autograd.grad(value, parameters)
        return value.item(), torch.cat([slope.flatten() for slope in slopes]).numpy()

    start = torch.nn.utils.parameters_to_vector(parameters).detach().numpy()
    value, slope = divergence(start)
    assert np.abs(slope).max() < 1e-4
    searched = minimize(divergence, start, jac=True, method="L-BFGS-B")
    assert searched.fun >= value - 1e-7


@shapes
def test_k_diag_has_the_marginals_of_a_minimum(shape: tuple[int, ...]) -> None:
    """Σ P v over all other modes is d/n at every index of a mode: the scaling of a tensor."""
    targets, fit = fitted("k-diag", shape)
    for trial in range(targets.trials):
        variance = dense_root(fit.posterior(trial)).diagonal().square()
        scaled = (targets.curvatures[trial] * variance).reshape(shape).detach()
        for mode, size in enumerate(shape):
            marginal = scaled.movedim(mode, 0).flatten(1).sum(1)
            expected = torch.full((size,), targets.dimensions / size, dtype=torch.float64)
            torch.testing.assert_close(marginal, expected, rtol=1e-4, atol=0)


@shapes
def test_derivatives_by_autograd(shape: tuple[int, ...]) -> None:
    landscape = Triangles(shape, Targets.draw(shape, 1, seed=2).root)
    generator = torch.Generator().manual_seed(0)
    at = torch.randn(1, landscape.parameters, generator=generator, dtype=torch.float64)

    def after(step: Tensor) -> Tensor:
        return landscape.value(landscape.moved(at, step.unsqueeze(0))).squeeze()

    still = torch.zeros(landscape.parameters, dtype=torch.float64)
    value, gradient, hessian = landscape.derivatives(at)
    torch.testing.assert_close(value[0], after(still))
    torch.testing.assert_close(gradient[0], torch.func.grad(after)(still))
    torch.testing.assert_close(hessian[0], torch.func.hessian(after)(still))


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (2, 2, 2)])
def test_k_linear_finds_a_target_of_its_own_kind(shape: tuple[int, ...]) -> None:
    generator = torch.Generator().manual_seed(1)
    posterior = posterior_named("k-linear")(torch.zeros(shape), 1.0).double()
    with torch.no_grad():
        for name, parameter in posterior.named_parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
            if name.endswith("below"):
                parameter.tril_(-1)
        root = dense_root(posterior)
    log_det = 2 * torch.linalg.slogdet(root).logabsdet.reshape(1)
    targets = Targets(shape, torch.linalg.inv(root).unsqueeze(0), log_det)
    assert fit_diag(targets).kl.item() > 0.5
    assert fit_k_linear(targets, starts=4).kl.item() == pytest.approx(0, abs=1e-7)


@settings(max_examples=10)
@given(
    shape=st.lists(st.integers(2, 4), min_size=2, max_size=3).map(tuple),
    seed=st.integers(0, 2**32),
)
def test_the_families_are_in_order_on_every_target(shape: tuple[int, ...], seed: int) -> None:
    targets = Targets.draw(shape, trials=2, seed=seed)
    k_linear = fit_k_linear(targets)
    assert (fit_diag(targets).kl <= fit_k_diag(targets).kl + 1e-7).all()
    assert (k_linear.kl <= fit_diag(targets).kl + 1e-7).all()
    assert (fit_k_linear(targets, starts=2, seed=seed).kl <= k_linear.kl).all()
    assert (k_linear.kl > -1e-7).all()


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (2, 3, 2)])
def test_diag_on_average(shape: tuple[int, ...]) -> None:
    """The mean of many trials is within four standard errors of that over all targets."""
    kl = fit_diag(Targets.draw(shape, trials=4000, seed=0)).kl
    error = kl.std().item() / len(kl) ** 0.5
    assert abs(kl.mean().item() - expected_diag(kl.new_empty(shape).numel())) < 4 * error
