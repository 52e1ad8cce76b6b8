"""Maps across the blocks of a tensor: a dense covariance is the oracle of every block."""

from __future__ import annotations

import base64
import json
import math
import shutil
import subprocess
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.theorem3 import constant
from pacbound.errors import SettingError
from pacbound.flows import certified_norm
from pacbound.networks.initializers import prior_center
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import (
    POSTERIORS,
    Across,
    Blocked,
    Cut,
    KLinear,
    Posterior,
    posterior_named,
)
from pacbound.predictors.divergence import exact_primitives, sampled_primitives
from pacbound.predictors.drawing import draw_network
from pacbound.recipes import recipe

FLOW = {"kind": "iaf", "hidden": [4], "steps": 1, "seed": "0"}
FAMILIES = [name for name, kind in POSTERIORS.items() if kind.maps_across]
GAUSSIAN = [name for name in FAMILIES if POSTERIORS[name].has_exact_kl]
CUTS = {
    "rows": (Cut((2, 3)), (5, 4)),
    "columns": (Cut((3,), (1, 3)), (3, 4)),
    "both": (Cut((2, 1), (1, 2, 1)), (3, 4)),
    "with a bias": (Cut((2, 2), (1, 2), extra=True), (4, 4)),
    "one unit with a bias": (Cut((1,), (1, 2), extra=True), (1, 4)),
    "a kernel": (Cut((2, 1), (1, 2)), (3, 3, 2, 1)),
}
DENSE = [case for case, (_, shape) in CUTS.items() if len(shape) == 2]


def moved(module: nn.Module, size: float = 0.3) -> None:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in module.named_parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.add_(size * noise.to(parameter.dtype))
            if key.endswith("below"):
                parameter.tril_(-1)


def across(case: str, family: str, scales: Sequence[float] = ()) -> Across:
    """A new posterior in float64, around zero."""
    cut, shape = CUTS[case]
    each = list(scales) or [0.1 * (place + 1) for place in range(len(cut.places))]
    q = posterior_named(family, **FLOW)(torch.zeros(shape), 1.0).across(cut, each)
    assert isinstance(q, Across)
    return q.double()


def root_of(q: Posterior) -> Tensor:
    """The matrix R with W − M = R E, entry by entry."""
    at = torch.zeros(q.shape, dtype=torch.float64)
    return torch.autograd.functional.jacobian(q.noise, at).reshape(at.numel(), at.numel())


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("case", CUTS)
def test_blocks_share_the_kl_of_a_dense_normal(case: str, family: str) -> None:
    q = across(case, family)
    moved(q)
    cut, center = q.cut, torch.full(q.shape, 0.2, dtype=torch.float64)
    root = root_of(q)
    covariance = root @ root.T
    spread = covariance.diagonal().reshape(q.shape)  # the variances of the entries
    variances = [0.02 * (place + 1) for place in range(len(cut.places))]
    prior = cut.whole(
        [torch.full_like(p, v) for p, v in zip(cut.parts(center), variances, strict=True)]
    )
    total = torch.zeros((), dtype=torch.float64)
    pieces = zip(q.pieces(), cut.parts(spread), cut.parts(center), variances, strict=True)
    for piece, each, part, variance in pieces:
        torch.testing.assert_close(piece.trace(), each.sum())
        second = each.sum() + (piece.mean - part).square().sum()
        torch.testing.assert_close(piece.second_moment(part), second)
        assert piece.normals == q.mean.numel()
        assert piece.dimensions == each.numel()
        kl = gaussian_kl(piece.second_moment(part), piece.log_det(), piece.dimensions, variance)
        assert kl > 0
        total = total + kl
    dense = torch.distributions.MultivariateNormal(q.mean.flatten(), covariance)
    independent = torch.distributions.MultivariateNormal(center.flatten(), prior.flatten().diag())
    torch.testing.assert_close(total, torch.distributions.kl_divergence(dense, independent))
    shares = torch.stack([piece.log_det() for piece in q.pieces()]).sum()
    torch.testing.assert_close(shares, torch.linalg.slogdet(root).logabsdet)
    torch.testing.assert_close(shares, q.log_det())
    torch.testing.assert_close(spread.sum(), q.trace())
    assert cut.rows == (1,) or family == "k-diag" or (covariance.triu(1) != 0).any()


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("case", CUTS)
def test_samples_have_the_moments_of_their_blocks(case: str, family: str) -> None:
    q = across(case, family)
    moved(q)
    n = 20_000
    noise = torch.randn(
        n, *q.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )
    with torch.no_grad():
        drawn = q.sample(noise)
        for place, (piece, grid) in enumerate(zip(q.pieces(), q.cut.entries, strict=True)):
            squares = torch.stack([grid.of(w) for w in drawn[:2000]]).sub(piece.mean).square()
            sums = squares.flatten(1).sum(1)
            assert abs(sums.mean() - piece.trace()) < 6 * sums.std() / math.sqrt(len(sums)), place
        one = q.sample_pieces(q.cut.parts(noise[0]))
        for part, expected in zip(one, q.cut.parts(drawn[0]), strict=True):
            torch.testing.assert_close(part, expected)


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("case", DENSE)
def test_local_noise_has_the_covariance_of_the_weights(case: str, family: str) -> None:
    """Both are linear in their normals, so covariances are compared and nothing is sampled."""
    q = across(case, family)
    moved(q)
    out, into = q.shape
    x = torch.randn(into, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    each = torch.kron(torch.eye(out, dtype=torch.float64), x[None])  # (out, out · in)
    root = each @ root_of(q)
    at = torch.zeros(q.local_width, dtype=torch.float64)
    local = torch.autograd.functional.jacobian(lambda e: q.local_noise(x[None], e[None])[0], at)
    torch.testing.assert_close(local @ local.T, root @ root.T)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("case", CUTS)
def test_it_starts_at_a_prior_with_a_variance_for_each_block(case: str, family: str) -> None:
    scales = [0.3, 0.01, 0.07, 0.02, 0.5, 0.11][: len(CUTS[case][0].places)]
    q = across(case, family, scales)
    q.activate(False)
    for piece, scale in zip(q.pieces(), scales, strict=True):
        part = torch.zeros(piece.shape, dtype=torch.float64)
        kl = gaussian_kl(
            piece.second_moment(part), piece.log_det(), piece.dimensions, torch.tensor(scale**2)
        )
        assert abs(float(kl)) < 1e-5
        for each in piece.scales():
            assert (each > 0).all()


@pytest.mark.parametrize("case", CUTS)
def test_without_maps_between_blocks_it_is_independent_posteriors(case: str) -> None:
    cut, shape = CUTS[case]
    q = across(case, "k-linear")
    moved(q)
    whole = q.whole
    assert isinstance(whole, KLinear)
    with torch.no_grad():
        for mode in (0, 1):
            if triangle := whole.triangle(mode):
                kept = torch.zeros_like(triangle.below)
                for at in cut.entries:
                    own = at.along(mode, torch.arange(shape[mode]))
                    kept[own[:, None], own] = 1
                triangle.below.mul_(kept)
    parts = []
    for at, piece in zip(cut.entries, q.pieces(), strict=True):
        part = KLinear(piece.mean.detach(), 1.0).double()
        with torch.no_grad():
            unit = q.rows[at.row] * q.columns[at.column]
            part.log_scale.copy_(at.of(whole.log_scale) + unit.log())
            for mode in range(len(shape)):
                own, all_of = part.triangle(mode), whole.triangle(mode)
                if own and all_of:
                    rows = at.along(mode, all_of.below)
                    own.below.copy_(at.along(mode, rows.T).T)
        parts.append(part)
    blocked = Blocked(cut, parts)
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(q.sample(noise), blocked.sample(noise))
    for one, other in zip(q.pieces(), blocked.pieces(), strict=True):
        center = torch.ones(one.shape, dtype=torch.float64)
        torch.testing.assert_close(one.trace(), other.trace())
        torch.testing.assert_close(one.log_det(), other.log_det())
        torch.testing.assert_close(one.second_moment(center), other.second_moment(center))


@pytest.mark.parametrize("family", GAUSSIAN)
@pytest.mark.parametrize("case", ["with a bias", "a kernel"])
def test_gradients_are_those_of_the_values(case: str, family: str) -> None:
    q = across(case, family)
    moved(q)
    names, values = zip(*q.named_parameters(), strict=True)
    masks = {name: torch.ones_like(value).tril(-1) for name, value in q.named_parameters()
             if name.endswith("below")}  # fmt: skip

    def figures(*given: Tensor) -> tuple[Tensor, ...]:
        masked = {n: v * masks[n] if n in masks else v for n, v in zip(names, given, strict=True)}
        found: list[Tensor] = []
        for place in range(len(q.pieces())):
            found += torch.func.functional_call(Figures(q, place), {f"q.{n}": v for n, v in masked.items()}, ())  # fmt: skip # noqa: E501
        return tuple(found)

    assert torch.autograd.gradcheck(figures, tuple(v.detach().requires_grad_() for v in values))


class Figures(nn.Module):
    """The figures of one block as a function of all parameters."""

    def __init__(self, q: Across, place: int) -> None:
        super().__init__()
        self.q, self.place = q, place

    def forward(self) -> list[Tensor]:
        piece = self.q.pieces()[self.place]
        center = torch.full(piece.shape, 0.1, dtype=torch.float64)
        return [piece.trace(), piece.log_det(), piece.second_moment(center)]


def test_wide_maps_are_summed_over_the_rows_of_a_block() -> None:
    """Wide maps have products of their own, and gradients that are written out."""
    cut = Cut((30, 190), (40, 160), extra=True)
    q = KLinear(torch.zeros(220, 201), 1.0).across(cut, [0.1, 0.2, 0.3, 0.4]).double()
    assert isinstance(q, Across) and isinstance(q.whole, KLinear)
    moved(q, 0.1)
    (outer, inner), scale = (q.whole.triangle(mode) for mode in (0, 1)), q.whole.log_scale
    assert outer is not None and inner is not None
    units = torch.outer(q.rows[cut.block_of_row()], q.columns[cut.block_of_column()])
    entries = outer.matrix().square() @ (2 * scale).exp() @ inner.matrix().square().T
    entries = units.square() * entries
    places = [outer.below, inner.below, scale]
    for piece, part in zip(q.pieces(), cut.parts(entries), strict=True):
        torch.testing.assert_close(piece.trace(), part.sum())
        found = torch.autograd.grad(piece.trace(), places, retain_graph=True)
        expected = torch.autograd.grad(part.sum(), places, retain_graph=True)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.tril(-1) if one.shape[0] == one.shape[1] else one, other)


@pytest.mark.parametrize("kind", ["iaf", "realnvp"])
def test_no_block_moves_faster_than_the_lipschitz_constant(kind: str) -> None:
    cut, shape = CUTS["both"]
    flow = FLOW | {"kind": kind}
    made = posterior_named("k-nonlinear", **flow)(torch.zeros(shape), 1.0)
    q = made.across(cut, [0.3, 0.01, 0.01, 0.2, 0.01, 0.01]).double()
    moved(q)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        at = torch.randn(shape, generator=generator, dtype=torch.float64)
        slopes = torch.autograd.functional.jacobian(q.noise, at)
        for piece, entries in zip(q.pieces(), q.cut.entries if q.cut else [], strict=True):
            of_block = entries.of(slopes).reshape(piece.dimensions, -1)
            assert torch.linalg.matrix_norm(of_block, 2) <= piece.lipschitz(certified_norm)


def network_of(family: str, n: int = 5) -> tuple[StochasticNetwork, dict[str, Tensor]]:
    module = nn.Sequential(nn.Linear(4, n), nn.Tanh(), nn.Linear(n, 3))
    center = prior_center(module, "he-normal", 0, 0.0, -1.0, [(1, 2, n - 2)])
    made = posterior_named(family, **FLOW)
    network = StochasticNetwork(module, center, made, [0.3], [(1, 2, n - 2)], 0.1, True)
    moved(network, 0.1)
    return network, center


def test_sampled_second_moments_of_blocks_and_the_constant_of_theorem_3() -> None:
    network, center = network_of("k-nonlinear")
    groups = sampled_primitives(network, center, "layer", 400, "seed")
    names = ["0[1,1]", "0[2,1]", "2[1,1]", "2[1,2]"]
    assert [group.layers for group in groups] == [(name,) for name in names]
    sampled = {group.layers: group for group in groups}
    posteriors = list(network.double().posteriors(center))
    for name, q, part in posteriors:
        group = sampled[name,]
        assert group.parameters == q.dimensions < q.normals
        lipschitz = q.lipschitz(certified_norm)
        at_zero = float((q.mean - part).detach().norm())  # flows here move zero, if at all, a bit
        mean = lipschitz * math.sqrt(q.normals)
        least = (math.sqrt(6) * lipschitz + mean / math.sqrt(math.log(2))) ** 2 / 2
        assert constant(group.lipschitz, group.parameters, group.offset) > least
        assert group.offset > 0.5 * at_zero
    generator = torch.Generator().manual_seed(3)
    total = torch.zeros(4, dtype=torch.float64)
    for _ in range(400):
        noises = [torch.randn(q.shape, generator=generator, dtype=torch.float64)
                  for _, q, _ in posteriors]  # fmt: skip
        drawn = network.sample_blocks(noises)
        total += torch.stack(
            [(w - part).square().sum() for w, (_, _, part) in zip(drawn, posteriors, strict=True)]
        ).detach()
    for group, expected in zip(groups, (total / 400).tolist(), strict=True):
        assert group.mean_square == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_drawn_network_has_the_density_ratio_of_its_blocks(family: str) -> None:
    network, center = network_of(family)
    drawn = draw_network(network, center, "layer", "seed")
    assert sum(group.parameters for group in drawn.groups) == sum(
        map(Tensor.numel, center.values())
    )
    again = draw_network(network, center, "layer", "seed")
    assert drawn.groups == again.groups
    for name, weights in drawn.weights.items():
        assert weights.shape == center[name].shape
    distance = sum(
        float((drawn.weights[name] - center[name]).double().square().sum()) for name in center
    )
    assert sum(group.distance_sq for group in drawn.groups) == pytest.approx(distance, rel=1e-5)
    log_det = sum(float(q.log_det()) for _, q, _ in network.double().posteriors(center))
    assert sum(group.log_det for group in drawn.groups) == pytest.approx(log_det, rel=1e-9)


def test_small_blocks_of_large_tensors_are_rounded_for_all_terms() -> None:
    """A block of few weights is a sum over the whole tensor, so its allowance is that of all."""
    network, center = network_of("k-linear", 400)
    groups = exact_primitives(network, center, "layer")
    traces = [float(q.trace()) for _, q, _ in network.double().posteriors(center)]
    for group, trace, normals in zip(groups, traces, [2000, 2000, 1203, 1203], strict=True):
        assert group.trace >= trace * (1 + normals * 2.0**-52)


NODE = """
const read = require("fs").readFileSync;
const run = require("vm").runInThisContext;
const { verifier, file } = JSON.parse(read(0, "utf-8"));
run(verifier);
const bytes = Uint8Array.from(atob(file), (character) => character.charCodeAt(0));
const { accepted, check, reason } = run("pacboundVerifier").verify(bytes);
process.stdout.write(JSON.stringify({ accepted, check, reason }));
"""


def second_checker(path: Path) -> dict[str, Any]:
    verifier = resources.files("pacbound.report.page").joinpath("verifier.js").read_text("utf-8")
    sent = json.dumps({"verifier": verifier, "file": base64.b64encode(path.read_bytes()).decode()})
    done = subprocess.run(
        ["node", "-e", NODE], input=sent, capture_output=True, text=True, check=True, timeout=300
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def dense() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))


def convolution() -> nn.Module:
    return nn.Sequential(
        nn.Unflatten(1, (1, 2, 2)), nn.Conv2d(1, 5, 2), nn.ReLU(), nn.Flatten(), nn.Linear(5, 2)
    )


CERTIFIED = [(dense, family) for family in FAMILIES] + [(convolution, "k-linear")]


@pytest.mark.parametrize(("make", "family"), CERTIFIED)
def test_both_checkers_accept_its_certificates(make: Any, family: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    data = x, (x[:, 0] > 0).astype(np.int64)
    settings = {"blocks": [[1, 2, 3]], "later_bias": -4, "block_maps": "across"}
    if POSTERIORS[family].starts_as:
        settings |= {"linear_epochs": 0, "flow_hidden": [4], "kl_samples": 50}
    net = pacbound.stochastic(make(), family, settings=settings)
    net.fit(data, epochs=2, batch=50, progress=False)
    net.save(tmp_path / "net.pt")
    again = pacbound.load(tmp_path / "net.pt", make())
    assert again.settings.block_maps == "across"
    effort = {"draws": 20_000, "weights": 200, "samples": 200}
    for predictor in ("draw", "gibbs"):
        certificate = net.certify(data, predictor=predictor, **effort)
        assert certificate.prior.variances is not None
        assert len(certificate.prior.variances) == 4
        path = tmp_path / f"{predictor}.json"
        certificate.save(path)
        assert pacbound.verify(path).accepted
        if shutil.which("node"):
            assert second_checker(path)["accepted"]
        repeated = again.certify(data, predictor=predictor, **effort)
        assert repeated.overall.bound == certificate.overall.bound


REFUSED = {
    "without blocks": ("mlp-600", {}, "needs blocks"),
    "without maps": ("mlp-600-blocks", {"posterior": "diag"}, "k-linear or k-nonlinear, not diag"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_without_maps_or_blocks(case: str) -> None:
    name, changes, words = REFUSED[case]
    with pytest.raises(SettingError, match=words):
        recipe(name, {"block_maps": "across", **changes})
