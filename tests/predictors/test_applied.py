"""What a certificate speaks of is what is run: draws, centres, fresh networks and votes of them."""

from __future__ import annotations

import dataclasses
import json
from decimal import Decimal
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.errors import CertificateError, CheckpointError, SettingError
from pacbound.predictors import PREDICTORS
from pacbound.predictors.applied import ABSTAINS, VOTERS, observed, predictions
from pacbound.predictors.claims import Wanted
from pacbound.predictors.export import (
    description_path,
    export_network,
    load_exported,
    network_drawn,
)
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, recipe
from pacbound.seeds import Noise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network

change = dataclasses.replace
REQUEST = Request(Decimal("0.035"), draws=3000, weights=100, samples=100)
SAMPLED = ("gibbs", "vote-gibbs", "vote-tandem")


def certified(
    settings: Settings, data: Dataset, folder: Path, predictor: str
) -> tuple[Certificate, Path]:
    path = folder / "a.pt"
    if not path.exists():
        train(settings, data, path)
    return certify(path, data, change(REQUEST, predictor=predictor)), path


def unseen(data: Dataset) -> np.ndarray:
    assert data.test_inputs is not None
    return data.test_inputs


# The theorem: a vote of an odd number of fresh networks, by enumeration ------------------------


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.data(),
    st.sampled_from([3, 5]),
)
def test_a_vote_of_a_few_fresh_networks_is_covered(
    weights: list[int], data: st.DataObject, voters: int
) -> None:
    """Every outcome of the draws, with three classes; a tie counts as an error."""
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(weights), max_size=len(weights)))
    shares = [Fraction(w, sum(weights)) for w in weights]
    wrong = sum((s for s, k in zip(shares, classes, strict=True) if k != 0), Fraction(0))
    risk = Fraction(0)
    for drawn in product(range(len(weights)), repeat=voters):
        counts = [sum(classes[i] == k for i in drawn) for k in range(3)]
        if counts[0] <= max(counts[1:]):
            chance = Fraction(1)
            for i in drawn:
                chance *= shares[i]
            risk += chance
    assert risk <= Fraction(2 * voters, voters + 1) * wrong
    assert risk <= Fraction(4 * voters, voters + 1) * wrong**2
    assert PREDICTORS["vote-gibbs"].factor >= Fraction(2 * voters, voters + 1)
    assert PREDICTORS["vote-tandem"].factor >= Fraction(4 * voters, voters + 1)


def test_an_even_number_would_not_be_covered() -> None:
    """A vote of two is tied or wrong with probability 1 − (1 − w)², above 4w² at small w."""
    w = Fraction(1, 10)
    assert 1 - (1 - w) ** 2 > 4 * w**2


# One network -----------------------------------------------------------------------------------


def test_the_drawn_network(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> None:
    c, path = certified(tiny_settings, tiny_data, tmp_path, "draw")
    applied = predictions(c, path, unseen(tiny_data))
    network, settings = network_drawn(path, tiny_data)
    with torch.no_grad():
        expected = network(network_inputs(settings, unseen(tiny_data))).argmax(1)
    assert applied.classes.tolist() == expected.tolist()
    assert (applied.networks, applied.shares) == (1, None)
    # It is the network whose errors the certificate has.
    on_train = predictions(c, Checkpoint.load(path), tiny_data.train_inputs)
    wrong = int((on_train.classes != tiny_data.train_labels).sum())
    assert c.claims[0].errors is not None
    assert wrong <= c.claims[0].errors <= wrong + 3  # near ties count as errors


def test_the_centre_of_a_learned_prior(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    overrides = {
        "data": tiny_settings.data,
        "hidden": [8],
        "epochs": 1,
        "prior_epochs": 2,
        "prior_learning_rate": 0.01,
        "batch": 100,
        "prior_batch": 50,
        "hidden_bias": 0,
    }
    settings = recipe("mlp-600-learned", overrides)
    c, path = certified(settings, tiny_data, tmp_path, "fixed")
    applied = predictions(c, path, unseen(tiny_data))
    learned = Checkpoint.load(path).learned_prior
    assert learned is not None
    plain = plain_network(settings, tiny_data.input_shape, tiny_data.classes)
    plain.load_state_dict(learned.center)
    with torch.no_grad():
        expected = plain(network_inputs(settings, unseen(tiny_data))).argmax(1)
    assert applied.classes.tolist() == expected.tolist()


LEARNED = {
    "hidden": [8],
    "epochs": 1,
    "prior_epochs": 30,
    "prior_learning_rate": 0.03,
    "batch": 100,
    "prior_batch": 50,
    "hidden_bias": 0,
}


@pytest.mark.parametrize("predictor", ["draw", "fixed"])
@pytest.mark.parametrize("above", ["0.6", "auto:0.02"])
def test_a_network_that_abstains(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, predictor: str, above: str
) -> None:
    settings = recipe("mlp-600-learned", {"data": tiny_settings.data, **LEARNED})
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    request = change(
        REQUEST, predictor=predictor, answer_above=above, wanted=Wanted(("overall", "answered"))
    )
    c = certify(path, tiny_data, request)
    threshold = float(c.model.answer_above)
    target = tmp_path / "net.pt"
    export_network(path, tiny_data, c, target)
    assert json.loads(description_path(target).read_text())["answer_above"] == c.model.answer_above
    with torch.no_grad():
        table = load_exported(target)(unseen(tiny_data)).double().softmax(1)
    sure = (table.max(1).values > threshold).numpy()
    applied = predictions(c, path, unseen(tiny_data))
    assert 0 < sure.sum() < len(sure)
    assert (applied.answered == sure).all()
    assert (applied.classes[sure] == table.argmax(1).numpy()[sure]).all()
    assert (applied.classes[~sure] == ABSTAINS).all()
    labels = tiny_data.test_labels
    assert labels is not None
    abstains, answered = observed(c.claims, applied, labels)
    assert (abstains.errors, answered.examples) == (int((~sure).sum()), int(sure.sum()))
    assert answered.errors == int((applied.classes != labels)[sure].sum())
    # The certificate counts the same network on the examples that the prior did not learn from.
    counted = split_of(settings, tiny_data).counted_data(tiny_data)
    again = predictions(c, path, counted.train_inputs)
    claims = {claim.subject + claim.loss: claim for claim in c.claims}
    assert claims["answeredzero-one"].m == pytest.approx(again.answered.sum(), abs=2)
    assert claims["allabstention"].errors == pytest.approx((~again.answered).sum(), abs=2)


def test_a_threshold_is_chosen_by_the_centre_on_its_validation_examples(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    """By hand: the last examples of the prior's part, and no counted example."""
    overrides = {"data": tiny_settings.data, **LEARNED, "prior_validation": 0.25}
    settings = recipe("mlp-600-learned", overrides)
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    wanted = Wanted(("answered",))
    asked = [
        change(REQUEST, predictor=name, answer_above="auto:0.1", wanted=wanted)
        for name in ("draw", "fixed")
    ]
    found = {certify(path, tiny_data, each).model.answer_above for each in asked}
    assert len(found) == 1
    threshold = float(found.pop())
    part = split_of(settings, tiny_data).learned_data(tiny_data)
    learned = Checkpoint.load(path).learned_prior
    assert learned is not None and learned.validation[0] == round(0.25 * part.m)
    plain = plain_network(settings, tiny_data.input_shape, tiny_data.classes)
    plain.load_state_dict(learned.center)
    held_out = slice(part.m - learned.validation[0], None)
    with torch.no_grad():
        table = plain(network_inputs(settings, part.train_inputs[held_out])).double().softmax(1)
    sure, wrong = (
        table.max(1).values.numpy(),
        table.argmax(1).numpy() != part.train_labels[held_out],
    )
    assert wrong[sure > threshold].mean() <= 0.1
    for lower in sure[sure < threshold - 0.01]:
        assert wrong[sure > lower].mean() > 0.1


def test_what_cannot_abstain_is_refused(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    wanted = Wanted(("answered",))
    with pytest.raises(SettingError, match="abstention cannot be claimed for gibbs"):
        certify(path, tiny_data, change(REQUEST, answer_above="0.9", wanted=wanted))
    request = change(REQUEST, predictor="draw", answer_above="auto:0.1", wanted=wanted)
    with pytest.raises(SettingError, match="this prior did not learn"):
        certify(path, tiny_data, request)
    with pytest.raises(SettingError, match="need each other"):
        change(REQUEST, answer_above="0.9")
    with pytest.raises(SettingError, match="need each other"):
        change(REQUEST, wanted=wanted)


# Fresh networks --------------------------------------------------------------------------------


@pytest.mark.parametrize("posterior", ["diag", "k-linear", "k-nonlinear"])
def test_every_input_has_networks_of_its_own(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str
) -> None:
    """The same input many times: votes are as frequent as among explicit whole networks."""
    settings = change(
        tiny_settings, posterior=posterior, flow_hidden=(6,), epochs=1, initial_scale=(0.7,)
    )
    c, path = certified(settings, tiny_data, tmp_path, "gibbs")
    same = np.repeat(unseen(tiny_data)[:1], 600, 0)
    given_classes = predictions(c, path, same).classes
    explicit = classes_of_draws(path, tiny_data, 600)[:, 0].argmax(1)
    frequencies = [np.bincount(x, minlength=3) / 600 for x in (given_classes, explicit)]
    assert len(set(given_classes.tolist())) > 1  # one shared network would give one class
    np.testing.assert_allclose(*frequencies, atol=5 * 0.5 * (2 / 600) ** 0.5)


@pytest.mark.parametrize("predictor", SAMPLED)
def test_convolutions_too(tiny_data: Dataset, tmp_path: Path, predictor: str) -> None:
    """Kernels are shared by positions, so weights are drawn: again for every input."""
    data = Dataset(
        "pictures",
        np.kron(tiny_data.train_inputs[:100], np.ones((4, 4), np.float32)),
        tiny_data.train_labels[:100],
        None,
        None,
        3,
    )
    overrides = {"hidden": [2, 3, 4], "epochs": 1, "batch": 50, "initial_scale": 0.7}
    c, path = certified(recipe("lenet-small", overrides), data, tmp_path, predictor)
    same = np.repeat(data.train_inputs[:1], 60, 0)
    applied = predictions(c, path, same, voters=None if predictor == "gibbs" else 3)
    assert len(set(applied.classes.tolist())) > 1


def test_votes(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> None:
    settings = change(tiny_settings, initial_scale=(0.3,), epochs=40)
    for predictor in ("vote-gibbs", "vote-tandem"):
        c, path = certified(settings, tiny_data, tmp_path, predictor)
        applied = predictions(c, path, unseen(tiny_data))
        assert applied.networks == VOTERS
        assert applied.shares is not None
        units = applied.shares * VOTERS
        np.testing.assert_allclose(units, units.round())
        assert (applied.shares > 1 / 3).all()  # of three classes one has more than a third
        again = predictions(c, path, unseen(tiny_data))
        assert again.classes.tolist() == applied.classes.tolist()
        assert "vote of 25 networks" in applied.words()
        few = predictions(c, path, unseen(tiny_data), voters=3)
        assert few.shares is not None
        assert set((few.shares * 3).round().tolist()) <= {1.0, 2.0, 3.0}
        for voters in (2, 4, 1, 0):
            with pytest.raises(SettingError, match="odd number"):
                predictions(c, path, unseen(tiny_data), voters=voters)


def test_a_vote_of_many_is_the_vote_of_all_where_that_is_clear(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    settings = change(tiny_settings, initial_scale=(0.3,), epochs=40)
    c, path = certified(settings, tiny_data, tmp_path, "vote-gibbs")
    applied = predictions(c, path, unseen(tiny_data), voters=201)
    shares = classes_of_draws(path, tiny_data, 300).mean(0)
    ordered = np.sort(shares, 1)
    clear = ordered[:, -1] - ordered[:, -2] > 0.3  # six standard deviations of 201 voters
    assert clear.sum() > 20
    assert (applied.classes == shares.argmax(1))[clear].all()


def classes_of_draws(path: Path, data: Dataset, count: int) -> np.ndarray:
    """What explicit whole networks give to the test examples, one-hot; (count, n, 3)."""
    checkpoint = Checkpoint.load(path)
    problem = posterior_of(checkpoint, data)
    inputs = network_inputs(checkpoint.settings, unseen(data))
    given_classes = []
    for number in range(count):
        weights = problem.network.draw_weights(Noise(derive("explicit", number)))
        problem.plain.load_state_dict(weights)
        with torch.no_grad():
            given_classes.append(problem.plain(inputs).argmax(1).numpy())
    return np.eye(3)[np.stack(given_classes)]


# What was observed ------------------------------------------------------------------------------


def test_what_was_observed_of_each_claim(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    wanted = Wanted(("overall", "per-class", "predicted-class"))
    c = certify(path, tiny_data, change(REQUEST, predictor="draw", wanted=wanted))
    applied = predictions(c, path, unseen(tiny_data))
    labels = tiny_data.test_labels
    assert labels is not None
    found = {each.claim.scope: each for each in observed(c.claims, applied, labels)}
    wrong = applied.classes != labels
    assert (found["all"].examples, found["all"].errors) == (200, int(wrong.sum()))
    for k in range(3):
        assert found[f"true class {k}"].examples == int((labels == k).sum())
        if f"predicted class {k}" in found:
            each = found[f"predicted class {k}"]
            assert each.errors == int(wrong[applied.classes == k].sum())
    assert sum(found[f"true class {k}"].errors for k in range(3)) == int(wrong.sum())


# Refusals ---------------------------------------------------------------------------------------


def test_another_checkpoint_is_refused(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    c, path = certified(tiny_settings, tiny_data, tmp_path, "gibbs")
    other = tmp_path / "b.pt"
    train(change(tiny_settings, epochs=1), tiny_data, other)
    with pytest.raises(CheckpointError, match="another network"):
        predictions(c, other, unseen(tiny_data))
    with pytest.raises(CheckpointError, match="inputs of shape"):
        predictions(c, path, unseen(tiny_data)[:, :3])


def test_a_certificate_that_does_not_hold_is_refused(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    c, path = certified(tiny_settings, tiny_data, tmp_path, "draw")
    (claim,) = c.claims
    smaller = change(c, claims=(change(claim, bound=claim.bound / 2 + Decimal("0E-10")),))
    with pytest.raises((CertificateError, ValueError)):
        predictions(smaller, path, unseen(tiny_data))
    with pytest.raises(SettingError, match="has no voters"):
        predictions(c, path, unseen(tiny_data), voters=3)


def test_a_fixed_predictor_that_is_in_no_checkpoint(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    from pacbound.data.digests import unnamed_digests
    from pacbound.predictors.fixed import fixed_certificate

    labels = tiny_data.train_labels
    c = fixed_certificate(
        labels, labels, 3, digests=unnamed_digests(labels), model_sha256="0" * 64, copies="unknown"
    )
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    with pytest.raises(SettingError, match="no checkpoint contains"):
        predictions(c, path, unseen(tiny_data))
