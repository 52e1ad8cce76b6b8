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
from single_losses import errors_per_example, errors_per_weights

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.predictors import PREDICTORS, terms
from pacbound.predictors.issuing import Request, certify
from pacbound.predictors.risk import is_error
from pacbound.recipes import Settings
from pacbound.seeds import Noise, derive
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build_for

change = dataclasses.replace
SEED = "ab" * 32
VOTES = ("vote-gibbs", "vote-tandem")
REQUEST = Request(Decimal("0.035"), draws=3000, weights=100, samples=100)


def noisy(settings: Settings, data: Dataset) -> StochasticNetwork:
    """A network whose draws often err, and often do not."""
    return build_for(change(settings, initial_scale=(0.6,)), data).network


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
        assert vote <= PREDICTORS[predictor].factor * risk


def test_smaller_factors_would_be_wrong() -> None:
    """Where half of the networks err everywhere, both bounds are what a vote with ties attains."""
    wrong = Fraction(1, 2)
    assert PREDICTORS["vote-gibbs"].factor * wrong == 1
    assert PREDICTORS["vote-tandem"].factor * wrong**2 == 1


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
            assert c.evidence is not None
            (claim,) = c.claims
            nats = networks * c.evidence.nats + c.bound.code + c.bound.ledger
            m = mpmath.mpf(claim.m)
            x = (
                1
                + (
                    mpmath.sqrt(2 * mpmath.pi * m) * mpmath.exp(1 / (12 * m))
                    - mpmath.mpf(2) / 3
                    - 8 / (135 * (m + mpmath.mpf(8) / 45))
                )
                / 2
            )
            share = mpmath.mpf(str(claim.delta))
            complexity = (mpmath.mpf(str(nats)) + mpmath.log(x / share)) / m
            assert c.bound.inequality == "xi"
            if claim.bound == 1:
                continue
            q, p = mpmath.mpf(str(claim.limit)), mpmath.mpf(str(claim.bound)) / factor
            unit = mpmath.mpf(10) ** -10 / factor
            for rate, above in ((p, True), (p - 2 * unit, False)):
                kl = q * mpmath.log(q / rate) + (1 - q) * mpmath.log((1 - q) / (1 - rate))
                assert (kl >= complexity) == above


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
        assert checker.verify(c.to_json().encode()).reason == ""
        assert Certificate.from_json(c.to_json()) == c
        sampler = "per-example" if posterior == "diag" else "per-weights"
        assert c.claims[0].sampler == sampler
        assert terms(c)[-1].total == pytest.approx(c.risk_bound)
        risks[predictor] = float(c.claims[0].mean)
        if predictor in VOTES:
            assert "majority vote of all networks" in c.sentence
            assert c.held_out is None
    assert risks["vote-gibbs"] == pytest.approx(risks["gibbs"], rel=0.02)
    assert risks["vote-tandem"] < 1.02 * risks["vote-gibbs"]  # networks may all err alike


# Forgeries of an issued certificate ---------------------------------------------------------


@pytest.mark.parametrize("other", ["gibbs", "vote-gibbs"])
def test_a_vote_that_pays_too_little_is_rejected(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, other: str
) -> None:
    record = issued(tiny_settings, tiny_data, tmp_path)["vote-tandem"].to_mapping()
    record["predictor"] = other
    if record["claims"][0]["bound"] != "1.0000000000":
        assert checker.verify(json.dumps(record).encode()).check == "11.6"
    record["predictor"] = "vote-tandem"
    record["claims"][0]["bound"] = "0.1000000000"
    assert checker.verify(json.dumps(record).encode()).check == "11.5"


def test_the_bound_is_above_the_vote_that_was_taken(
    tiny_settings: Settings, tiny_data: Dataset
) -> None:
    """On the examples themselves: a vote of many explicit networks, against its two limits."""
    wrong = explicit_errors(tiny_settings, tiny_data, 500).double()
    share = wrong.mean(0)
    vote = float((share >= 0.5).double().mean())
    assert vote <= 2 * float(share.mean())
    assert vote <= 4 * float(share.square().mean())
