"""K-Nonlinear, and the Lipschitz constants of all posteriors."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pacbound.flows import EstimatedNorm, certified_norm
from pacbound.posteriors import POSTERIORS, KLinear, KNonlinear, Posterior, posterior_named

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]

FLOW = {"kind": "iaf", "hidden": [6], "steps": 2, "seed": "0"}
SHAPES = [(3, 4), (1, 5), (4, 1), (2, 3, 2), (2, 1, 3, 2)]


def random_posterior(
    family: str, shape: tuple[int, ...], size: float = 0.5, kind: str = "iaf"
) -> Posterior:
    generator = torch.Generator().manual_seed(sum(shape))
    posterior = posterior_named(family, **{**FLOW, "kind": kind})(torch.zeros(shape), 0.3).double()
    with torch.no_grad():
        for name, parameter in posterior.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.add_(size * noise)
            if name.endswith("below"):
                parameter.tril_(-1)
    return posterior


def jacobian(posterior: Posterior, at: Tensor) -> Tensor:
    full = torch.autograd.functional.jacobian(posterior.noise, at)
    return full.reshape(at.numel(), at.numel())


def equal_linear(nonlinear: KNonlinear) -> KLinear:
    """The K-Linear posterior with the linear part of a K-Nonlinear one."""
    linear = KLinear(nonlinear.mean.detach(), 1.0).double()
    linear.load_state_dict(
        {k: v for k, v in nonlinear.state_dict().items() if not k.startswith("flows")}
    )
    return linear


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
@pytest.mark.parametrize("shape", SHAPES)
def test_volume_is_that_of_the_scales(shape: tuple[int, ...], kind: str) -> None:
    posterior = random_posterior("k-nonlinear", shape, kind=kind)
    for seed in range(3):
        at = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        expected = torch.linalg.slogdet(jacobian(posterior, at)).logabsdet
        torch.testing.assert_close(posterior.log_det(), expected)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_its_flows_it_is_k_linear(shape: tuple[int, ...]) -> None:
    """At the start, and before it is activated: same samples, same second moment."""
    posterior = random_posterior("k-nonlinear", shape)
    assert isinstance(posterior, KNonlinear)
    noise, center = torch.randn(shape).double(), torch.randn(shape).double()
    linear = equal_linear(posterior)
    posterior.active = False
    torch.testing.assert_close(posterior.sample(noise), linear.sample(noise))
    torch.testing.assert_close(posterior.second_moment(center), linear.second_moment(center))
    posterior.active = True
    if max(shape) > 1:
        assert not torch.allclose(posterior.sample(noise), linear.sample(noise))
    with torch.no_grad():
        for name, parameter in posterior.named_parameters():
            if name.startswith("flows"):
                parameter.zero_()
    torch.testing.assert_close(posterior.sample(noise), linear.sample(noise))
    torch.testing.assert_close(posterior.second_moment(center), linear.second_moment(center))


def test_a_mode_of_size_one_costs_nothing() -> None:
    posterior = random_posterior("k-nonlinear", (2, 1, 3))
    assert isinstance(posterior, KNonlinear)
    assert set(posterior.flows) == set(posterior.triangles) == {"0", "2"}


def test_every_fibre_is_transformed_along_every_mode() -> None:
    """An entry depends on entries before it in its row and column, as a triangular map does."""
    posterior = posterior_named("k-nonlinear", **{**FLOW, "steps": 1})(torch.zeros(3, 4), 0.3)
    with torch.no_grad():
        for name, parameter in posterior.named_parameters():
            parameter.add_(torch.randn_like(parameter))
            if name.endswith("below"):
                parameter.tril_(-1)
    full = torch.autograd.functional.jacobian(posterior.noise, torch.randn(3, 4))
    for i in range(3):
        for j in range(4):
            depends = full[i, j].abs() > 0
            assert not depends[i + 1 :].any()
            assert not depends[:, j + 1 :].any()
            assert depends[: i + 1, : j + 1].all()


def test_the_second_moment_is_estimated_without_bias_and_with_little_variance() -> None:
    posterior = random_posterior("k-nonlinear", (3, 4), size=0.2)
    center = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).double()
    estimates, plain = [], []
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for _ in range(4000):
            noise = torch.randn(3, 4, generator=generator, dtype=torch.float64)
            plain.append((posterior.sample(noise) - center).square().sum())
            estimates.append(posterior.second_moment(center))
    a, b = torch.stack(estimates), torch.stack(plain)
    assert abs(a.mean() - b.mean()) < 5 * ((a - b).std() / 4000**0.5)
    assert a.std() < 0.5 * b.std()


@pytest.mark.parametrize("family", NOISY)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [0.1, 1.0])
def test_no_slope_exceeds_the_lipschitz_constant(
    family: str, shape: tuple[int, ...], size: float
) -> None:
    posterior = random_posterior(family, shape, size)
    constant = posterior.lipschitz(certified_norm)
    generator = torch.Generator().manual_seed(3)
    largest = 0.0
    for scale in (0.01, 1.0, 10.0):
        at = scale * torch.randn(shape, generator=generator, dtype=torch.float64)
        slope = torch.linalg.matrix_norm(jacobian(posterior, at), 2).item()
        largest = max(largest, slope)
    assert largest <= constant
    # A constant of half the size would be caught where the bound is tight.
    if family in ("diag", "k-diag"):
        assert largest > constant / 2
    estimate = EstimatedNorm(first=2000)
    assert estimate.of(posterior.lipschitz).item() == pytest.approx(constant, rel=1e-3)
