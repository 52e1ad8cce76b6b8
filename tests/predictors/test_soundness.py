"""What would make a certificate unsound, one test for each."""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from single_losses import errors_per_example

from pacbound.bounds.bernoulli_kl import bernoulli_kl
from pacbound.bounds.codes import choices_cost
from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import variance
from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.alignment import deskew
from pacbound.networks.input_map import map_inputs
from pacbound.predictors.budget import ClaimShare, divide, parse_delta
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.divergence import exact_primitives
from pacbound.predictors.evidence import exact_kl
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.predictors.ledger import recipe_ledger
from pacbound.predictors.risk import CHUNK, is_error
from pacbound.priors import kind_of
from pacbound.priors.choices import prior_choices
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.workers.local import LocalProcesses

DELTA = Decimal("0.035")
REQUEST = Request(DELTA, draws=3000)
change = dataclasses.replace


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, tiny_data: Dataset
) -> tuple[Path, Settings, Dataset]:
    path = tmp_path_factory.mktemp("trained") / "a.pt"
    overrides = {"data": "blobs", "hidden": [8], "hidden_bias": 0, "initial_scale": 0.05}
    optimisation = {"epochs": 15, "batch": 100, "learning_rate": 0.02}
    settings = recipe("mlp-600", {**overrides, **optimisation})
    train(settings, tiny_data, path)
    return path, settings, tiny_data


@pytest.fixture
def certificate(trained: tuple[Path, Settings, Dataset]) -> Certificate:
    return certify(trained[0], trained[2], REQUEST)


def tampered(source: Path, target: Path, **fields: Any) -> Path:
    """A copy of a checkpoint with some of its fields replaced."""
    change(Checkpoint.load(source), **fields).save(target)
    return target


# The prior ----------------------------------------------------------------------------------


def test_a_center_that_its_seed_does_not_give_is_refused(
    trained: tuple[Path, Settings, Dataset], tmp_path: Path
) -> None:
    path, settings, data = trained
    for forged in (
        tampered(path, tmp_path / "digest.pt", prior_sha256="0" * 64),
        tampered(path, tmp_path / "seed.pt", settings=change(settings, prior_seed=5)),
        tampered(path, tmp_path / "kind.pt", settings=change(settings, initializer="he-normal")),
        tampered(path, tmp_path / "bias.pt", settings=change(settings, hidden_bias=-1.0)),
    ):
        with pytest.raises(PacboundError, match="does not give the prior"):
            certify(forged, data, REQUEST)


def test_the_center_is_not_taken_from_the_checkpoint(
    trained: tuple[Path, Settings, Dataset],
) -> None:
    """The checkpoint has nothing but the posterior: no tensor of it is the prior's centre."""
    path, _, data = trained
    checkpoint = Checkpoint.load(path)
    center = posterior_of(checkpoint, data).center
    for value in checkpoint.posterior.values():
        assert not any(value.shape == c.shape and torch.equal(value, c) for c in center.values())


def test_the_prior_variance_is_on_its_grid(certificate: Certificate) -> None:
    assert certificate.prior.variances is not None
    for entry in certificate.prior.variances:
        assert entry.by == "grid"
        assert entry.index is not None
        assert entry.index >= 1


@pytest.mark.parametrize("grouping", ["layer", "network"])
def test_no_other_index_gives_a_smaller_kl_and_cost(
    trained: tuple[Path, Settings, Dataset], grouping: str
) -> None:
    path, _, data = trained
    problem = posterior_of(Checkpoint.load(path), data)
    groups = exact_primitives(problem.network, problem.center, grouping)
    for group, place in zip(groups, exact_kl(groups)[0], strict=True):
        moment = group.trace + group.distance_sq

        def cost(j: int, moment: float = moment, d: int = group.parameters) -> float:
            return gaussian_kl(moment, 0.0, d, variance(j)) + 2 * math.log(j)

        assert min(range(1, 2000), key=cost) == place.index


def price(settings: Settings) -> float:
    choices = prior_choices(settings)
    return float(choices_cost(kind_of(settings).name, settings.recipe, choices, 1.0))


def test_every_knob_of_the_prior_is_paid_for(tiny_settings: Settings) -> None:
    """Whatever setting changes the prior changes what the choices cost, or is refused."""
    for name, value in [
        ("prior_seed", 3),
        ("initializer", "he-normal"),
        ("input_scale", 4.0),
        ("smoothing", 2.0),
        ("hidden_bias", -4.0),
        ("variance_groups", "network"),
        ("hidden", (9,)),
        ("hidden", (8, 8)),
    ]:
        assert price(change(tiny_settings, **{name: value})) > price(tiny_settings)
    aligned = change(tiny_settings, alignment="deskew")
    assert price(aligned) != price(tiny_settings)  # the list is by name: deskew is first
    for unpaid in ({"input_scale": 1.2345}, {"hidden_bias": -5.0}, {"hidden_bias": 4.0}):
        with pytest.raises(PacboundError, match="cannot be paid for"):
            prior_choices(change(tiny_settings, **unpaid))


def test_the_default_of_a_recipe_is_cheap_and_everything_else_is_not() -> None:
    settings = recipe("mlp-600")
    assert price(settings) == pytest.approx(math.log(10 / 9))
    assert price(change(settings, prior_seed=1)) > 10


@pytest.mark.parametrize("sizes", [(21, 50, 500), (20, 51, 500), (20, 50, 501)])
def test_the_sizes_of_lenet_are_paid_for(sizes: tuple[int, ...]) -> None:
    assert price(change(recipe("lenet-5"), hidden=sizes)) > price(recipe("lenet-5")) + 20


@pytest.mark.parametrize(("name", "value"), [("alignment", "deskew"), ("hidden_bias", -0.5)])
def test_a_knob_that_was_chosen_and_not_paid_for_is_rejected(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, name: str, value: Any
) -> None:
    """A certificate that hides the choice of one knob, or what it cost."""
    path = tmp_path / "a.pt"
    train(change(tiny_settings, **{name: value}), tiny_data, path)
    issued = certify(path, tiny_data, REQUEST)
    record = issued.to_mapping()
    record["prior"]["choices"][name] = {"alignment": "none", "hidden_bias": "0"}[name]
    assert checker.verify(json.dumps(record).encode()).check == "8.1"
    record = issued.to_mapping()
    record["bound"]["code"] = str(issued.bound.code - 1)
    assert checker.verify(json.dumps(record).encode()).check == "8.1"


def test_the_risk_is_that_of_the_inputs_the_network_was_trained_on(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    settings = change(tiny_settings, alignment="deskew")
    train(settings, tiny_data, path)
    certificate = certify(path, tiny_data, REQUEST)
    network = posterior_of(Checkpoint.load(path), tiny_data).network
    passes = certificate.claims[0].draws // tiny_data.m
    counted = split_of(tiny_settings, tiny_data).counted_data(tiny_data)
    labels = torch.from_numpy(counted.train_labels)
    errors = {
        name: errors_per_example(network, (inputs, labels), passes, certificate.seeds.risk)
        for name, inputs in (
            ("aligned", map_inputs(deskew(counted.train_inputs), 1.5, 1.0)),
            ("as they are", map_inputs(counted.train_inputs, 1.5, 1.0)),
        )
    }
    assert errors["aligned"] == certificate.claims[0].errors != errors["as they are"]


def test_candidates_and_looks_cost_nats(trained: tuple[Path, Settings, Dataset]) -> None:
    path, _, data = trained
    none = certify(path, data, REQUEST).bound.ledger
    many = certify(path, data, change(REQUEST, candidates=1000, looks=3)).bound.ledger
    assert float(many - none) == pytest.approx(math.log(1000) + 3 * math.log(2), abs=1e-5)


def test_the_user_adds_to_what_a_recipe_declares(trained: tuple[Path, Settings, Dataset]) -> None:
    path, settings, data = trained
    ledger = certify(path, data, change(REQUEST, candidates=2, looks=1)).ledger
    own = recipe_ledger(settings, data.sha256)
    assert (ledger.recipe.candidates, ledger.recipe.looks) == (own.candidates, own.looks)
    assert (ledger.candidates, ledger.looks) == (2 * own.candidates, 1 + own.looks)


# KL -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear"])
def test_kl_counts_every_tensor_once_and_agrees_with_a_dense_normal(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str
) -> None:
    settings = change(tiny_settings, posterior=posterior, hidden=(3,))
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    certificate = certify(path, tiny_data, REQUEST)
    problem = posterior_of(Checkpoint.load(path), tiny_data)
    network = problem.network.double()
    assert certificate.prior.variances is not None
    values = {entry.name: variance(entry.index) for entry in certificate.prior.variances}
    expected, d = 0.0, 0
    for name, q, part in network.posteriors(problem.center):
        n = q.mean.numel()
        rows = torch.eye(n, dtype=torch.float64).reshape(n, *q.shape)
        with torch.no_grad():
            root = torch.stack([q.noise(row).flatten() for row in rows])
        dense = torch.distributions.MultivariateNormal(q.mean.detach().flatten(), root.T @ root)
        prior = torch.distributions.MultivariateNormal(
            part.double().flatten(),
            values[name] * torch.eye(n, dtype=torch.float64),
        )
        expected += torch.distributions.kl_divergence(dense, prior).item()
        d += n
    assert certificate.model.parameters == d == 16 * 3 + 3 + 3 * 3 + 3
    assert expected <= float(certificate.evidence.nats) + 1e-9
    assert float(certificate.evidence.nats) == pytest.approx(expected, rel=1e-7)


def test_primitives_are_rounded_outward(trained: tuple[Path, Settings, Dataset]) -> None:
    """Against sums in exact rational arithmetic of what the float32 parameters say."""
    from fractions import Fraction

    path, _, data = trained
    checkpoint = Checkpoint.load(path)
    problem = posterior_of(checkpoint, data)
    (group,) = exact_primitives(problem.network, problem.center, "network")
    distance = sum(
        (Fraction(a.item()) - Fraction(b.item())) ** 2
        for _, q, part in problem.network.posteriors(problem.center)
        for a, b in zip(q.mean.flatten(), part.flatten(), strict=True)
    )
    log_det = sum(
        Fraction(value.item())
        for _, q, _ in problem.network.posteriors(problem.center)
        for value in q.log_scale.flatten()  # type: ignore[union-attr, operator]
    )
    assert Fraction(group.distance_sq) >= distance
    assert Fraction(group.log_det) <= log_det
    assert group.distance_sq == pytest.approx(float(distance), rel=1e-11)
    assert group.log_det == pytest.approx(float(log_det), rel=1e-9)


# The risk -----------------------------------------------------------------------------------


def test_the_risk_is_that_of_all_the_examples_equally_often(
    trained: tuple[Path, Settings, Dataset],
) -> None:
    path, _, data = trained
    certificate = certify(path, data, change(REQUEST, draws=601))
    assert certificate.claims[0].draws == 2 * data.m
    assert certificate.data.m == len(data.train_labels)
    assert certificate.data.sha256 == data.sha256


def test_the_risk_limit_is_above_the_risk_and_used(certificate: Certificate) -> None:
    (claim,) = certificate.claims
    assert claim.draws is not None
    assert claim.delta_risk is not None
    assert claim.limit is not None
    allowance = math.log(1 / float(claim.delta_risk)) / claim.draws
    assert bernoulli_kl(float(claim.mean), float(claim.limit)) >= allowance * (1 - 1e-9)
    assert claim.bound > claim.limit > claim.empirical


def test_seeds_are_derived_and_nothing_depends_on_the_workers(
    trained: tuple[Path, Settings, Dataset], warm_workers: None
) -> None:
    path, _, data = trained
    first, again = (certify(path, data, REQUEST) for _ in range(2))
    with LocalProcesses(3, here=0.0) as engine:
        more = certify(path, data, REQUEST, Sampler(engine))
    assert change(again, made=first.made) == first == change(more, made=first.made)


def test_another_checkpoint_or_other_data_has_other_noise(
    trained: tuple[Path, Settings, Dataset], tmp_path: Path
) -> None:
    path, _, data = trained
    posterior = {k: v.clone() for k, v in Checkpoint.load(path).posterior.items()}
    next(iter(posterior.values())).view(-1)[0] += 1e-3
    other = tampered(path, tmp_path / "b.pt", posterior=posterior)
    idle = tampered(path, tmp_path / "c.pt", epoch=99)  # which is no part of the posterior
    seeds = {certify(p, data, REQUEST).seeds.risk for p in (path, other, idle)}
    labels = data.train_labels.copy()
    labels[0] = (labels[0] + 1) % data.classes
    moved = change(data, train_labels=labels)
    seeds.add(certify(path, moved, change(REQUEST, allow_other_data=True)).seeds.risk)
    assert len(seeds) == 3


def test_chunks_have_noise_of_their_own(trained: tuple[Path, Settings, Dataset]) -> None:
    """Errors in one pass must not repeat in the next: reused draws would count twice."""
    path, _, data = trained
    problem = posterior_of(Checkpoint.load(path), data)
    network = problem.network
    inputs = torch.zeros(CHUNK, 4, 4)
    with torch.no_grad():
        for _, q, _ in network.posteriors(problem.center):
            q.mean.zero_()
    labels = torch.zeros(CHUNK, dtype=torch.int64)
    counts = [
        errors_per_example(network, (inputs, labels), passes, "ab" * 32) for passes in (1, 2, 3)
    ]
    parts = np.diff([0, *counts])
    assert len(set(parts)) > 1
    # A third of guesses is right: independent draws stay within five deviations of that.
    assert abs(counts[2] / (3 * CHUNK) - 2 / 3) < 5 * math.sqrt(2 / 9 / (3 * CHUNK))


def test_ties_near_ties_and_nan_are_errors() -> None:
    rows = [
        ([2.0, 1.0, 0.0], 0, False),
        ([2.0, 2.0, 0.0], 0, True),
        ([2.0, 2.0 - 1e-6, 0.0], 0, True),
        ([1.0, 2.0, 0.0], 0, True),
        ([math.nan, 1.0, 0.0], 0, True),
        ([2.0, math.nan, 0.0], 0, True),
        ([math.inf, 1.0, 0.0], 0, True),
        ([0.0, 0.0, 0.0], 2, True),
        ([-3.0, -2.0, -1.0], 2, False),
    ]
    logits = torch.tensor([row for row, _, _ in rows])
    labels = torch.tensor([label for _, label, _ in rows])
    assert is_error(logits, labels).tolist() == [wrong for _, _, wrong in rows]


def test_other_data_is_refused_unless_asked_for(
    trained: tuple[Path, Settings, Dataset],
) -> None:
    path, _, data = trained
    half = change(data, train_inputs=data.train_inputs[:300], train_labels=data.train_labels[:300])
    order = np.random.default_rng(0).permutation(data.m)
    shuffled = change(data, train_labels=data.train_labels[order])
    for other in (half, shuffled):
        with pytest.raises(PacboundError, match="other data"):
            certify(path, other, REQUEST)
    allowed = certify(path, half, change(REQUEST, allow_other_data=True))
    assert allowed.data.m == 300  # m is counted, not taken from the checkpoint
    assert allowed.data.sha256 == half.sha256


def test_the_number_of_classes_must_fit(trained: tuple[Path, Settings, Dataset]) -> None:
    path, _, data = trained
    with pytest.raises(PacboundError, match="3 classes"):
        certify(path, change(data, classes=4), change(REQUEST, allow_other_data=True))


# The budget ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["0.035", "0.05", "0.499", "1e-9", "0.123456789012345"])
@pytest.mark.parametrize("claims", [1, 2, 11, 1001])
def test_the_budget_adds_up(text: str, claims: int) -> None:
    delta = parse_delta(text)
    for sampled, sampled_kl in ((True, False), (True, True), (False, False)):
        shares = divide(delta, ["all"] * claims, 3, sampled, sampled_kl)
        assert shares.total == delta
        assert (shares.kl is not None) == sampled_kl
        parts = [shares.kl] if shares.kl is not None else []
        for share in shares.claims:
            assert (share.risk is not None) == sampled
            parts += [share.delta] if share.risk is None else [share.delta, share.risk]
        assert min(parts) > 0
        assert all(-int(part.as_tuple().exponent) <= 30 for part in parts)
        if claims > 1:
            first = sum(x for x in (shares.claims[0].delta, shares.claims[0].risk) if x)
            assert first >= (delta - (shares.kl or 0)) / 2


def test_the_default_budget_is_the_papers() -> None:
    exact, sampled = (divide(DELTA, ["all"], 3, True, kl) for kl in (False, True))
    assert [float(x) for x in dataclasses.astuple(exact.claims[0])] == [0.025, 0.01]
    assert [float(x) for x in dataclasses.astuple(sampled.claims[0])] == [0.025, 0.005]
    assert float(sampled.kl or 0) == 0.005


PLAIN = ["all", "all", "answered"]


@pytest.mark.parametrize("plain", [0, 1, 3])
def test_shares_over_all_inputs_do_not_depend_on_what_occurs(plain: int) -> None:
    """How many true classes and groups occur is known only from the counted sample."""
    found: dict[bool, set[tuple[ClaimShare, ...]]] = {False: set(), True: set()}
    for classes in (1, 2, 9, 10):
        for groups in (0, 1, 7):
            subjects = [*PLAIN[:plain], *["true-class"] * classes, *["group"] * groups]
            shares = divide(DELTA, subjects, 10, sampled=False, sampled_kl=False)
            assert shares.total == DELTA
            assert min(share.delta for share in shares.claims) > 0
            found[groups > 0].add(shares.claims[:plain])
    assert all(len(each) == 1 for each in found.values())


@pytest.mark.parametrize("text", ["0", "1", "0.5", "-0.1", "1.5", "nan", "inf", "x", "", "1e-400"])
def test_delta_out_of_range(text: str) -> None:
    with pytest.raises(PacboundError, match="delta"):
        parse_delta(text)
