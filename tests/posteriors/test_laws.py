"""Laws that every posterior obeys, against dense covariances and autograd."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.errors import PacboundError
from pacbound.posteriors import POSTERIORS, Posterior, posterior_named

SHAPES = [(3, 4), (1, 5), (4, 1), (1, 1), (6,), (2, 3, 2), (2, 1, 3, 2), (2, 3, 1, 2, 2)]
GAUSSIAN = [name for name, q in POSTERIORS.items() if q.has_noise and q.has_exact_kl]
MATRICES = [(3, 4), (1, 5), (4, 1), (5, 2)]
families = pytest.mark.parametrize("family", GAUSSIAN)


def random_posterior(family: str, shape: tuple[int, ...], seed: int = 0) -> Posterior:
    """A posterior with every parameter away from its start, in float64."""
    generator = torch.Generator().manual_seed(seed)
    posterior = posterior_named(family)(torch.zeros(shape), 0.3).double()
    with torch.no_grad():
        for parameter in posterior.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.5 * noise)
        for name, parameter in posterior.named_parameters():
            if name.endswith("below"):
                parameter.tril_(-1)
    assert posterior.flaw() is None
    return posterior


def jacobian(posterior: Posterior) -> Tensor:
    """∂vec(W)/∂vec(E), which is a dense square root of the covariance."""
    at = torch.randn(posterior.shape, dtype=torch.float64)
    full = torch.autograd.functional.jacobian(posterior.noise, at)
    return full.reshape(at.numel(), at.numel())


def dense_gaussian(posterior: Posterior) -> torch.distributions.MultivariateNormal:
    root = jacobian(posterior)
    mean = posterior.mean.detach().flatten()
    return torch.distributions.MultivariateNormal(mean, root @ root.T)


@families
@pytest.mark.parametrize("shape", SHAPES)
def test_log_det_is_that_of_the_jacobian(family: str, shape: tuple[int, ...]) -> None:
    posterior = random_posterior(family, shape)
    expected = torch.linalg.slogdet(jacobian(posterior)).logabsdet
    torch.testing.assert_close(posterior.log_det(), expected)


@families
@pytest.mark.parametrize("shape", SHAPES)
def test_trace_is_that_of_the_dense_covariance(family: str, shape: tuple[int, ...]) -> None:
    posterior = random_posterior(family, shape)
    torch.testing.assert_close(posterior.trace(), jacobian(posterior).square().sum())


@families
@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    log_variance=st.floats(-4, 1),
    seed=st.integers(0, 2**16),
)
def test_kl_is_that_of_dense_normals(
    family: str, shape: list[int], log_variance: float, seed: int
) -> None:
    posterior = random_posterior(family, tuple(shape), seed)
    center = torch.randn(
        shape, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64
    )
    variance = math.exp(log_variance)
    d = center.numel()
    prior = torch.distributions.MultivariateNormal(
        center.flatten(), variance * torch.eye(d, dtype=torch.float64)
    )
    expected = torch.distributions.kl_divergence(dense_gaussian(posterior), prior)
    second_moment = posterior.trace() + (posterior.mean - center).square().sum()
    kl = gaussian_kl(second_moment, posterior.log_det(), d, variance)
    torch.testing.assert_close(kl, expected, rtol=1e-9, atol=1e-9)


@families
@pytest.mark.parametrize("shape", SHAPES)
def test_kl_is_zero_at_the_prior(family: str, shape: tuple[int, ...]) -> None:
    center = torch.randn(shape)
    posterior = posterior_named(family)(center, 0.3).double()
    second_moment = posterior.trace() + (posterior.mean - center).square().sum()
    kl = gaussian_kl(second_moment, posterior.log_det(), center.numel(), 0.3**2)
    # The start's scale is a float32 logarithm.
    assert abs(kl.item()) < 1e-5 * center.numel()


@families
@pytest.mark.parametrize("shape", MATRICES)
def test_local_noise_has_the_law_of_sampled_weights(family: str, shape: tuple[int, int]) -> None:
    """Given x, both are zero-mean normal: equal covariances are equal laws."""
    posterior = random_posterior(family, shape)
    inputs = torch.randn(1, shape[1], dtype=torch.float64)
    root = jacobian(posterior).reshape(*shape, -1)  # W − M as a linear map of E
    sampled = torch.einsum("oie,i->oe", root, inputs[0])
    at = torch.zeros(1, shape[0], dtype=torch.float64)
    local = torch.autograd.functional.jacobian(lambda e: posterior.local_noise(inputs, e), at)
    local = local.reshape(shape[0], shape[0])
    torch.testing.assert_close(local @ local.T, sampled @ sampled.T)


@families
def test_local_noise_against_sampled_weights_two_sample(family: str) -> None:
    """Kolmogorov–Smirnov between 20 000 outputs of either kind, in a random direction."""
    from scipy.stats import ks_2samp

    posterior = random_posterior(family, (3, 4))
    generator = torch.Generator().manual_seed(5)
    inputs = torch.randn(1, 4, generator=generator, dtype=torch.float64)
    direction = torch.randn(3, generator=generator, dtype=torch.float64)
    n = 20_000
    with torch.no_grad():
        rows = torch.randn(n, 3, generator=generator, dtype=torch.float64)
        local = posterior.local_noise(inputs.expand(n, 4), rows) @ direction
        draws = torch.randn(n, 3, 4, generator=generator, dtype=torch.float64)
        weights = torch.stack([posterior.noise(draw) for draw in draws])
        sampled = (weights @ inputs[0]) @ direction
    assert ks_2samp(local.numpy(), sampled.numpy()).pvalue > 1e-3


@families
def test_rows_of_local_noise_are_independent(family: str) -> None:
    """The noise of one row must not enter another: each example has weights of its own."""
    posterior = random_posterior(family, (3, 4))
    inputs = torch.randn(2, 4, dtype=torch.float64)
    at = torch.zeros(2, 3, dtype=torch.float64)
    full = torch.autograd.functional.jacobian(lambda e: posterior.local_noise(inputs, e), at)
    assert full[0, :, 1].abs().max() == 0
    assert full[1, :, 0].abs().max() == 0


@families
def test_sampled_moments(family: str) -> None:
    posterior = random_posterior(family, (2, 3))
    generator = torch.Generator().manual_seed(1)
    n = 40_000
    with torch.no_grad():
        draws = torch.randn(n, 2, 3, generator=generator, dtype=torch.float64)
        weights = torch.stack([posterior.sample(draw) for draw in draws]).flatten(1)
    dense = dense_gaussian(posterior)
    error = (weights.mean(0) - dense.mean) / (dense.variance / n).sqrt()
    assert error.abs().max() < 5
    covariance = torch.cov(weights.T)
    spread = dense.covariance_matrix.diagonal().outer(dense.covariance_matrix.diagonal()).sqrt()
    assert ((covariance - dense.covariance_matrix) / spread).abs().max() < 5 * math.sqrt(2 / n)


def test_noise_of_a_zero_row_has_finite_gradients() -> None:
    for family in GAUSSIAN:
        posterior = posterior_named(family)(torch.zeros(3, 4), 0.1)
        posterior.local_noise(torch.zeros(2, 4), torch.randn(2, 3)).sum().backward()
        for parameter in posterior.parameters():
            assert parameter.grad is None or torch.isfinite(parameter.grad).all()


def test_k_linear_without_triangles_is_diag() -> None:
    center, noise = torch.randn(3, 4), torch.randn(3, 4)
    k_linear, diag = (posterior_named(name)(center, 0.2) for name in ("k-linear", "diag"))
    torch.testing.assert_close(k_linear.sample(noise), diag.sample(noise))


def test_unknown_posterior_names_the_nearest() -> None:
    with pytest.raises(PacboundError, match="did you mean 'k-linear'"):
        posterior_named("k-liner")


@pytest.mark.parametrize("family", [*GAUSSIAN, "k-nonlinear"])
@pytest.mark.parametrize("shape", SHAPES)
def test_several_draws_at_once_are_those_one_by_one(family: str, shape: tuple[int, ...]) -> None:
    flow = {"kind": "iaf", "hidden": [5], "steps": 1, "seed": "0"}
    posterior = posterior_named(family, **flow)(torch.zeros(shape), 0.3).double()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for name, parameter in posterior.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(0.5 * (noise.tril(-1) if name.endswith("below") else noise))
    draws = torch.randn(2, 3, *shape, generator=generator, dtype=torch.float64)
    together = posterior.sample(draws)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(together[i, j], posterior.sample(draws[i, j]))


@pytest.mark.parametrize("shape", [(200, 300), (200, 200, 3, 3)])
def test_large_k_linear_maps_against_dense_ones(shape: tuple[int, ...]) -> None:
    """Sizes at which triangles are applied block by block."""
    posterior = random_posterior("k-linear", shape)
    noise = torch.randn(shape, dtype=torch.float64)
    expected = noise * posterior.scales()[0].detach()
    for mode in range(len(shape)):
        matrix = posterior.triangles[str(mode)].matrix().detach()  # type: ignore[operator, union-attr]
        expected = torch.tensordot(matrix, expected, ([1], [mode])).movedim(0, mode)
    torch.testing.assert_close(posterior.noise(noise).detach(), expected)


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
@pytest.mark.parametrize("hidden", [[], [5], [7, 3]])
@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 4), (1, 7), (3, 2, 5, 1)])
@pytest.mark.parametrize("family", POSTERIORS)
def test_numbers_are_foreseen(
    family: str, shape: tuple[int, ...], hidden: list[int], kind: str
) -> None:
    options = {"kind": kind, "hidden": hidden, "steps": 3, "seed": "0"}
    posterior = posterior_named(family, **options)(torch.zeros(shape), 0.1)
    numbers = sum(value.numel() for value in posterior.state_dict().values())
    foreseen = type(posterior).least_numbers(shape, **options)
    assert foreseen <= numbers
    assert foreseen == numbers or not POSTERIORS[family].has_exact_kl


@pytest.mark.parametrize("family", POSTERIORS)
def test_capabilities_are_those_of_the_class(family: str) -> None:
    kind = POSTERIORS[family]
    posterior = posterior_named(family, kind="iaf", hidden=[4], steps=1, seed="0")(
        torch.zeros(3, 4), 0.1
    )
    assert type(posterior) is kind.posterior
    assert kind.has_noise == (posterior.dimensions > 0) == bool(posterior.scales())
    assert kind.has_exact_kl == posterior.is_gaussian
    posterior.activate(nonlinear=False)
    assert posterior.is_gaussian
    squares = sum(value.shape in {(3, 3), (4, 4)} for value in posterior.state_dict().values())
    assert kind.dense_modes == (squares > 0)
