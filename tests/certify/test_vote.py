"""Majority votes: how often networks err at once, and what follows for their vote."""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, PerExampleRisk, PerWeightsRisk
from pacbound.certify.conclude import claimed, vote_bound
from pacbound.certify.issue import Request, certify
from pacbound.certify.risk import errors_per_example, errors_per_weights, is_error
from pacbound.data import Dataset
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.recipes import Settings
from pacbound.report.terms import empirical_risk, terms
from pacbound.seeds import Noise, derive
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build

change = dataclasses.replace
SEED = "ab" * 32
VOTES = ("vote-gibbs", "vote-tandem")
REQUEST = Request(Decimal("0.035"), draws=3000, weights=100, samples=100)


def noisy(settings: Settings, data: Dataset) -> StochasticNetwork:
    """A network whose draws often err, and often do not."""
    return build(change(settings, initial_scale=(0.6,)), data).network


def explicit_errors(settings: Settings, data: Dataset, draws: int) -> torch.Tensor:
    """Which of the examples each of so many whole networks gets wrong; (draws, m)."""
    network = noisy(settings, data)
    module = plain_network(settings, data.input_shape, data.classes)
    inputs, labels = (
        network_inputs(settings, data.train_inputs),
        torch.from_numpy(data.train_labels),
    )
    rows = []
    with torch.no_grad():
        for draw in range(draws):
            module.load_state_dict(network.draw_weights(Noise(derive("explicit", draw))))
            rows.append(is_error(module(inputs), labels))
    return torch.stack(rows)


# How often two networks err at once ---------------------------------------------------------


@pytest.mark.parametrize("posterior", ["k-linear", "k-nonlinear"])
def test_pairs_against_explicit_independent_weights(
    tiny_settings: Settings, tiny_data: Dataset, posterior: str
) -> None:
    settings = change(tiny_settings, posterior=posterior, flow_hidden=(6,))
    wrong = explicit_errors(settings, tiny_data, 800)
    pairs = (wrong[:400] & wrong[400:]).double().mean(1)
    gibbs = wrong.double().mean(1)
    examples = (
        network_inputs(settings, tiny_data.train_inputs),
        torch.from_numpy(tiny_data.train_labels),
    )
    network = noisy(settings, tiny_data)
    estimates = []
    for at_once in (1, 2):
        if posterior == "k-linear":
            errors = errors_per_example(network, examples, 40, SEED, at_once=at_once)
            estimates.append(errors / (40 * tiny_data.m))
        else:
            counts, _ = errors_per_weights(network, examples, None, 400, 300, SEED, at_once=at_once)
            total = sum(errors * times for errors, times in counts)
            estimates.append(total / (400 * 300))
    deviations = [float(values.std()) / math.sqrt(len(values)) for values in (gibbs, pairs)]
    for estimate, values, deviation in zip(estimates, (gibbs, pairs), deviations, strict=True):
        assert estimate == pytest.approx(float(values.mean()), abs=7 * deviation)
    # Two that were drawn once and judged twice would err at once as often as one.
    assert estimates[1] < 0.9 * estimates[0]
    # Examples differ in how hard they are; both sides are estimates.
    slack = 3 * (deviations[1] + 2 * estimates[0] * deviations[0])
    assert estimates[1] > estimates[0] ** 2 - slack


def test_one_at_a_time_is_what_it_was(tiny_settings: Settings, tiny_data: Dataset) -> None:
    """The noise of a Gibbs certificate is not moved by there being votes."""
    network = noisy(tiny_settings, tiny_data)
    inputs = network_inputs(tiny_settings, tiny_data.train_inputs)
    labels = torch.from_numpy(tiny_data.train_labels)
    expected = int(is_error(network(inputs, Noise(derive("risk chunk", SEED, 0))), labels).sum())
    assert errors_per_example(network, (inputs, labels), 1, SEED) == expected
    both = errors_per_example(network, (inputs, labels), 1, SEED, at_once=2)
    assert both < expected  # the first of each pair is the same network


# What follows for the vote ------------------------------------------------------------------


@st.composite
def electorates(draw: st.DrawFn) -> tuple[list[Fraction], list[list[int]], list[int]]:
    """Networks' weights, the class that each gives to each example, and the labels."""
    networks, examples = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    weights = draw(st.lists(st.integers(1, 9), min_size=networks, max_size=networks))
    classes = st.integers(0, 2)
    row = st.lists(classes, min_size=examples, max_size=examples)
    votes = draw(st.lists(row, min_size=networks, max_size=networks))
    return [Fraction(w, sum(weights)) for w in weights], votes, draw(row)


@given(electorates())
def test_a_vote_errs_at_most_twice_and_four_times_as_often(
    electorate: tuple[list[Fraction], list[list[int]], list[int]],
) -> None:
    """By enumeration, with three classes; a tie counts as an error of the vote."""
    weights, votes, labels = electorate
    m = len(labels)
    gibbs = tandem = vote = Fraction(0)
    for place, label in enumerate(labels):
        shares = [
            sum((w for w, row in zip(weights, votes, strict=True) if row[place] == k), Fraction(0))
            for k in range(3)
        ]
        wrong = 1 - shares[label]
        gibbs, tandem = gibbs + wrong / m, tandem + wrong**2 / m
        best = max(share for k, share in enumerate(shares) if k != label)
        vote += Fraction(shares[label] <= best, m)
    for predictor, risk in (("vote-gibbs", gibbs), ("vote-tandem", tandem)):
        assert vote <= checker.FACTORS[predictor][0] * risk


def test_smaller_factors_would_be_wrong() -> None:
    """Where half of the networks err everywhere, both bounds are what a vote with ties attains."""
    wrong = Fraction(1, 2)
    assert checker.FACTORS["vote-gibbs"][0] * wrong == 1
    assert checker.FACTORS["vote-tandem"][0] * wrong**2 == 1


def issued(settings: Settings, data: Dataset, folder: Path) -> dict[str, Certificate]:
    path = folder / "a.pt"
    train(change(settings, epochs=8), data, path)
    requests = {name: change(REQUEST, predictor=name) for name in ("gibbs", *VOTES)}
    return {name: certify(path, data, request) for name, request in requests.items()}


def test_the_formulas_against_fifty_digits(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    certificates = issued(tiny_settings, tiny_data, tmp_path)
    with mpmath.workdps(50):
        for predictor, (factor, networks) in (("vote-gibbs", (2, 1)), ("vote-tandem", (4, 2))):
            c = certificates[predictor]
            assert checker.FACTORS[predictor] == (factor, networks)
            indices = [entry.index for entry in (*c.prior.variances, *c.prior.choices)]
            nats = networks * mpmath.mpf(repr(c.kl.upper)) + mpmath.log(c.prior.trials)
            nats += sum(2 * mpmath.log(j) + mpmath.log(mpmath.pi**2 / 6) for j in indices)
            share, m = mpmath.mpf(repr(c.budget.pac_bayes)), c.data.m
            complexity = (nats + mpmath.log(2 * mpmath.sqrt(m) / share)) / m
            assert c.bound.inequality == "maurer"
            assert c.bound.complexity >= complexity
            assert c.bound.complexity == pytest.approx(float(complexity), rel=1e-14)
            q, p = mpmath.mpf(repr(c.risk.upper)), mpmath.mpf(repr(c.bound.value))
            kl = q * mpmath.log(q / p) + (1 - q) * mpmath.log((1 - q) / (1 - p))
            assert kl >= mpmath.mpf(repr(c.bound.complexity))
            assert float(kl) == pytest.approx(c.bound.complexity, rel=1e-9)
            exact = factor * Fraction(repr(c.bound.value))
            assert Fraction(repr(c.claim.risk_bound)) >= min(exact, 1)
            assert c.claim.risk_bound == pytest.approx(min(float(exact), 1.0), rel=1e-14)


@given(st.floats(1e-9, 1), st.sampled_from(VOTES))
def test_a_claim_is_rounded_up(value: float, predictor: str) -> None:
    exact = checker.FACTORS[predictor][0] * Fraction(repr(value))
    claim = Fraction(repr(claimed(predictor, value)))
    assert min(exact, 1) <= claim <= min(exact * (1 + Fraction(1, 10**15)), 1)


def test_pairs_pay_the_choice_of_the_prior_once(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    c = issued(tiny_settings, tiny_data, tmp_path)["gibbs"]
    paid = c.data.m, c.prior, c.kl.upper, c.risk.upper, Decimal("0.025"), "maurer"
    one, two = (vote_bound(*paid, predictor)[0].complexity for predictor in VOTES)
    assert (two - one) * c.data.m == pytest.approx(c.kl.upper, rel=1e-9)


@pytest.mark.parametrize("inequality", ["maurer", "mcallester"])
@pytest.mark.parametrize("posterior", ["diag", "k-nonlinear"])
def test_from_training_to_the_checker(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str, inequality: str
) -> None:
    settings = change(tiny_settings, posterior=posterior, flow_hidden=(6,))
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    risks = {}
    for predictor in ("gibbs", *VOTES):
        request = change(REQUEST, predictor=predictor, inequality=inequality)
        c = certify(path, tiny_data, request)
        assert checker.check(c.to_json()).reason == ""
        assert Certificate.from_json(c.to_json()) == c
        assert isinstance(c.risk, PerExampleRisk if posterior == "diag" else PerWeightsRisk)
        assert terms(c)[-1].total == pytest.approx(c.claim.risk_bound)
        risks[predictor] = empirical_risk(c)
        if predictor in VOTES:
            assert "majority vote of all networks" in c.claim.sentence
            others = dataclasses.astuple(c.also)
            assert set(others) == {None}
    assert risks["vote-gibbs"] == pytest.approx(risks["gibbs"], rel=0.02)
    assert risks["vote-tandem"] < 1.02 * risks["vote-gibbs"]  # networks may all err alike


# Forgeries of an issued certificate ---------------------------------------------------------


def test_a_vote_that_claims_or_pays_too_little_is_rejected(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    certificates = issued(tiny_settings, tiny_data, tmp_path)
    tandem, gibbs = (json.loads(certificates[name].to_json()) for name in reversed(VOTES))

    def reason(record: dict[str, object]) -> str:
        record["claim"]["sentence"] = checker.sentence(record)  # type: ignore[index]
        return checker.check(json.dumps(record)).reason

    twice = json.loads(json.dumps(tandem))
    twice["claim"]["risk_bound"] = min(2 * twice["bound"]["value"], 0.999)
    assert "claim.risk_bound is" in reason(twice)
    once = json.loads(json.dumps(tandem))
    once["bound"]["complexity"] = gibbs["bound"]["complexity"]
    assert once["bound"]["complexity"] < tandem["bound"]["complexity"]
    assert "bound.complexity is" in reason(once)
    half = json.loads(json.dumps(gibbs))
    half["claim"]["risk_bound"] = half["bound"]["value"]
    assert "claim.risk_bound is" in reason(half)
    alone = json.loads(json.dumps(tandem))
    alone["claim"]["predictor"] = "gibbs"
    assert "claim.predictor gibbs" in reason(alone)


def test_the_bound_is_above_the_vote_that_was_taken(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    """On the examples themselves: a vote of many explicit networks, against its two limits."""
    wrong = explicit_errors(tiny_settings, tiny_data, 500).double()
    share = wrong.mean(0)
    vote = float((share >= 0.5).double().mean())
    assert vote <= 2 * float(share.mean())
    assert vote <= 4 * float(share.square().mean())
