"""Explanations: figures against independent ones in mpmath, and the words that are due."""

from __future__ import annotations

import copy
import itertools
import math
import shlex
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_cases import GOOD, record

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

import formulas as f
from building import FACTOR, finish, inequality_of_the_rule, to_bytes

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.errors import PacboundError
from pacbound.fixed.certifying import certify_fixed
from pacbound.report.explanation import Explanation, Remedy, explain
from pacbound.report.ledger import ledger_in_words
from pacbound.report.situation import Situation, factor
from pacbound.report.terms import observed, principal, terms

SAMPLED = ("gibbs", "vote-gibbs", "vote-tandem")


def certificate(name: str) -> Certificate:
    return Certificate.from_mapping(record(name))


def named(explanation: Explanation, words: str) -> Remedy:
    (found,) = [remedy for remedy in explanation.remedies if remedy.change.startswith(words)]
    return found


# Figures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GOOD)
def test_the_figures_of_a_claim_give_its_bound(name: str) -> None:
    shown = certificate(name)
    for claim in shown.claims[:6]:
        # two units of rounding, and one more where a vectors' figures are shown one unit larger
        assert Situation.of(shown, claim).bound() == pytest.approx(float(claim.bound), abs=4e-9)


@pytest.mark.parametrize("name", GOOD)
def test_terms_lead_from_what_was_observed_to_the_bound(name: str) -> None:
    shown = certificate(name)
    claim = principal(shown)
    steps = terms(shown)
    assert steps[0].total == steps[0].adds == observed(claim)
    assert steps[-1].total == float(claim.bound)
    for before, step in itertools.pairwise(steps):
        assert step.total - before.total == pytest.approx(step.adds, abs=1e-12)
        if not step.name.startswith("ln dq/dp of the draw"):  # may be negative
            assert step.adds >= -1e-9, step
    assert ("Monte Carlo allowance" in [step.name for step in steps]) == (claim.limit is not None)
    vote = steps[-1].name == "from networks to their vote"
    assert vote == (shown.predictor in FACTOR)


@pytest.mark.parametrize("name", GOOD)
def test_nats_of_the_terms_add_up(name: str) -> None:
    """To what the inequality is evaluated at, from the certificate's own figures."""
    shown = certificate(name)
    claim, inequality = principal(shown), shown.bound.inequality
    if claim.m == 1 and inequality == "mcallester":
        return  # it is void
    paid = [step.amount for step in terms(shown) if step.amount.endswith(" nats")]
    total = sum(float(amount.removesuffix(" nats")) for amount in paid)
    networks = 2 if shown.predictor == "vote-tandem" else 1
    ratio = 0.0 if shown.evidence is None else networks * float(shown.evidence.nats)
    code, ledger = float(shown.bound.code), float(shown.bound.ledger)
    m, delta = claim.m, float(claim.delta)
    if inequality == "binomial":
        own = (
            code if shown.predictor == "fixed" else float(f.draw_level(f.number(str(ratio + code))))
        )
        expected = own + ledger + math.log(1 / delta)
    elif inequality == "catoni":
        expected = ratio + code + ledger + math.log(1 / delta)
    elif inequality == "mcallester":
        expected = ratio + code + ledger + math.log(m / delta)
    else:
        complexity = f.complexity(inequality, f.number(0), m, f.number(str(claim.delta)))
        expected = ratio + code + ledger + float(complexity) * m
    assert total == pytest.approx(expected, abs=0.06 * len(paid), rel=1e-3)


# What would tighten it ----------------------------------------------------------------------------


def at_next_place(found: dict[str, Any]) -> None:
    found["ledger"]["certificates"]["counted"] = "place"
    found["ledger"]["certificates"]["number"] += 1


def more_draws(found: dict[str, Any]) -> None:
    at_next_place(found)
    for claim in found["claims"]:
        for field in ("draws", "errors"):
            if field in claim:
                claim[field] *= 10
        if "histogram" in claim:
            claim["histogram"] = [[value, 10 * times] for value, times in claim["histogram"]]


def betting(found: dict[str, Any]) -> None:
    at_next_place(found)
    for claim in found["claims"]:
        claim["limit_by"] = "betting"


def more_samples(found: dict[str, Any]) -> None:
    at_next_place(found)
    found["evidence"]["samples"] *= 10


def gaussian(found: dict[str, Any]) -> None:
    at_next_place(found)
    found["evidence"]["tail"] = "gaussian"


def other_inequality(found: dict[str, Any], name: str) -> None:
    found["ledger"]["user"]["candidates"] *= 2
    found["bound"]["inequality"] = name
    is_rule = inequality_of_the_rule(found) == name
    found["bound"]["selected"] = "rule" if is_rule else "candidate"


CHANGES = {
    "10 times as many draws of the risk": more_draws,
    "the betting limit of the risk": betting,
    "10 times as many samples of the KL": more_samples,
    "the Gaussian tail of the KL": gaussian,
    "Maurer's with the constant ξ(m) instead": lambda found: other_inequality(found, "xi"),
    "Catoni's instead": lambda found: other_inequality(found, "catoni"),
    "the binomial tail of a draw instead": lambda found: other_inequality(found, "binomial"),
    "the density ratio of a draw instead": lambda found: other_inequality(found, "density"),
}


@pytest.mark.parametrize("name", [name for name in GOOD if not name.startswith("fixed")])
def test_following_a_remedy_gives_a_certificate_with_its_bound(name: str) -> None:
    """Built from primitives in mpmath, with what the remedy says to declare, and accepted."""
    good = record(name)
    for remedy in explain(Certificate.from_mapping(good)).remedies:
        for words, change in CHANGES.items():
            if remedy.change.startswith(words):
                changed = copy.deepcopy(good)
                change(changed)
                built = finish(changed)
                first = principal(Certificate.from_mapping(built))
                assert remedy.bound == pytest.approx(float(first.bound), abs=5e-8), words
                assert checker.verify(to_bytes(built)).accepted
                declared = built["ledger"]
                (command,) = remedy.how
                if "--place" in command:
                    assert f"--place {declared['certificates']['number']}" in command
                else:
                    assert f"--candidates {declared['user']['candidates']}" in command


def test_every_change_is_met() -> None:
    met = {remedy.change for name in GOOD for remedy in explain(certificate(name)).remedies}
    for words in CHANGES:
        if words.startswith(("the binomial", "Catoni's")):
            continue  # the vectors have none that would gain by more than the candidate costs
        assert any(change.startswith(words) for change in met), words


def test_a_learned_prior_pays_for_its_default_choices_and_for_the_look() -> None:
    shown = certificate("gibbs-mnist-size")
    claim = principal(shown)
    remedy = named(explain(shown), "a prior that learned from half")
    level = f.number(str(math.log(math.pi**2 * 4 / 6 / float(claim.delta_risk or 1))))
    limit = f.kl_inverse(f.number(claim.mean), level / claim.draws)
    nats = f.number(str(math.log(10 / 9) + math.log(2)))
    bound = f.kl_inverse(limit, f.complexity("xi", nats, 30_000, f.number(str(claim.delta))))
    assert remedy.bound == pytest.approx(float(bound), rel=1e-6)
    assert remedy.how == (
        "pacbound train mlp-600 --prior learned",
        "pacbound certify CKPT --predictor gibbs --delta 0.03 --looks 1 --place 2",
    )
    assert "a look at the counted examples" in remedy.ledger


def test_a_prior_that_learned_could_learn_from_less() -> None:
    good = record("gibbs-learned-exact-betting-xi")
    good["data"]["examples"], good["claims"][0]["m"] = 200_000, 100_000
    good["evidence"]["groups"][0]["log_det"] = "-3000"  # a KL for which m matters
    good["claims"][0]["histogram"] = [[v, 10_000 * t] for v, t in good["claims"][0]["histogram"]]
    good = finish(good)
    assert checker.verify(to_bytes(good)).accepted
    remedy = named(explain(Certificate.from_mapping(good)), "a prior that learned from 40%")
    at_next_place(good)
    good["ledger"]["user"]["looks"] += 1
    good["prior"]["choices"]["prior_fraction"] = "0.4"
    good["claims"][0]["m"] = 120_000
    built = finish(good)
    assert checker.verify(to_bytes(built)).accepted
    assert remedy.bound == pytest.approx(float(built["claims"][0]["bound"]), abs=5e-8)
    looks = built["ledger"]["user"]["looks"]
    user = built["ledger"]["user"]
    assert remedy.how[1] == (
        f"pacbound certify CKPT --predictor gibbs --delta {built['delta']} "
        f"--candidates {user['candidates']} --looks {looks} --place 3"
    )


@pytest.mark.parametrize("name", GOOD)
def test_a_suggestion_declares_what_was_declared_and_is_for_the_same_delta(name: str) -> None:
    """Without the ledger of this certificate the next one would claim too much."""
    shown = certificate(name)
    user = shown.ledger.user
    for remedy in explain(shown).remedies:
        words = shlex.split(remedy.how[-1])
        given = dict(zip(words, [*words[1:], ""], strict=True))
        assert float(given.get("--delta", "0.035")) == float(shown.delta)
        assert int(given.get("--candidates", 1)) >= user.candidates
        assert int(given.get("--looks", 0)) >= user.looks
        assert given.get("--copies", "counted") == shown.data.copies


def test_a_suggestion_repeats_the_commands_of_the_certificate() -> None:
    shown = certificate("gibbs-mnist-size")
    made = replace(
        shown.made,
        command="pacbound certify runs/a.pt --claims overall,per-class --delta=0.035 -o a.json",
        training_command="pacbound train mlp-600 --data mine.npz -o runs/a.pt",
    )
    explanation = explain(replace(shown, made=made))
    remedy = named(explanation, "a prior that learned from half")
    assert remedy.how == (
        "pacbound train mlp-600 --data mine.npz -o runs/a-again.pt --prior learned",
        "pacbound certify runs/a-again.pt --predictor gibbs --claims overall,per-class "
        "--delta 0.035 --looks 1 --place 2",
    )
    drawn = named(explanation, "a certificate of one drawn network")
    assert drawn.how == (
        "pacbound certify runs/a.pt --predictor draw --claims overall,per-class --delta 0.035 "
        "--place 2",
    )
    hostile = replace(made, command="pacbound certify 'a", training_command="x; rm -rf '")
    for remedy in explain(replace(shown, made=hostile)).remedies:
        assert not any("rm" in shlex.split(command) for command in remedy.how)


def test_one_draw_has_all_of_delta_and_no_allowance() -> None:
    shown = certificate("gibbs-mnist-size")
    claim, evidence = principal(shown), shown.evidence
    assert evidence is not None and claim.delta_risk is not None
    remedy = named(explain(shown), "a certificate of one drawn network")
    place = math.log(math.pi**2 * 4 / 6)
    nats = float(evidence.nats + shown.bound.code + shown.bound.ledger) + place
    delta = f.number(str(claim.delta + claim.delta_risk))
    complexity = f.complexity("xi", f.number(str(nats)), claim.m, delta)  # that of `density`
    bound = f.kl_inverse(f.number(claim.mean), complexity)
    assert remedy.bound == pytest.approx(float(bound), rel=1e-7)


def test_a_vote_could_be_one_network_where_its_risk_is_known() -> None:
    shown = certificate("vote-gibbs-elsewhere-exact-per-example-xi")
    single = named(explain(shown), "a certificate of the randomised")
    assert single.bound == pytest.approx(shown.risk_bound / 2, abs=1e-9)
    tandem = explain(certificate("vote-tandem-every-claim")).remedies
    assert not any("certificate of" in remedy.change for remedy in tandem)


@pytest.mark.parametrize("name", GOOD)
def test_only_what_a_command_does_is_suggested_with_its_ledger(name: str) -> None:
    shown = certificate(name)
    explanation = explain(shown)
    bounds = [remedy.bound for remedy in explanation.remedies]
    assert bounds == sorted(bounds)
    for remedy in explanation.remedies:
        assert 0 < remedy.gain == float(principal(shown).bound) - remedy.bound
        assert remedy.how and all(command.startswith("pacbound ") for command in remedy.how)
        declared = any(f"--{x} " in remedy.how[-1] for x in ("place", "candidates", "looks"))
        assert declared or remedy.ledger.startswith("nothing")
        assert remedy.change and remedy.assumes and remedy.ledger
    if shown.predictor == "fixed":
        assert explanation.remedies == ()


# Words --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gibbs-mnist-size", "One network:"),
        ("gibbs-mnist-size", "at most twice as often"),
        ("gibbs-mnist-size", "The held-out set:"),
        ("gibbs-mnist-size", "A single prediction, class or group:"),
        ("gibbs-every-claim-per-weights", "classes or groups without a claim"),
        ("draw-learned-binomial", "Any other network:"),
        ("vote-gibbs-every-claim", "2 times the bound on the risk of one network"),
        ("vote-tandem-every-claim", "4 times the bound on the risk that two networks err at once"),
        ("vote-tandem-every-claim", "predict averages the probabilities of some draws"),
        ("draw-learned-binomial", "only its 30000 of the 60000 examples"),
        ("fixed-centre-default", "That the predictor saw only its 30000 of the 60000 examples"),
        ("draw-elsewhere-density", "That the prior was made without the counted examples"),
        ("fixed-estimator", "That the predictor was fixed before the counted examples were seen"),
        ("fixed-every-claim", "“ImageNet”, “a dictionary”"),
        ("fixed-every-claim", "That the threshold 0.8 was fixed"),
        ("fixed-every-claim", "That the 400 exact copies are independent"),
        ("fixed-copies-unknown", "copies cannot be detected"),
        ("fixed-cost-only", "The error over all inputs: no claim"),
        ("fixed-cost-only", "or of costs other than those named"),
    ],
)
def test_what_is_not_claimed(name: str, words: str) -> None:
    points = explain(certificate(name)).not_claimed
    assert sum(words in point for point in points) == 1
    assert all(": " in point for point in points)
    assert any("than the ledger declares" in point for point in points)


def test_a_vote_is_not_said_to_cover_predict() -> None:
    for name in GOOD:
        if name.startswith("vote"):
            explanation = explain(certificate(name))
            (point,) = [x for x in explanation.not_claimed if "pacbound predict" in x]
            assert point.startswith("A vote of a few networks, and what pacbound predict prints:")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("spec-b-fixed", "Declared: 5 candidates, 0 looks at the counted examples, 1 certificate"),
        ("fixed-declared-five", "5 certificates"),
        ("gibbs-learned-exact-betting-xi", "place 2 in the order of certificates"),
        ("fixed-estimator", "One candidate, no look at the counted examples and one certificate"),
    ],
)
def test_the_ledger_in_words(name: str, words: str) -> None:
    shown = certificate(name)
    assert words in ledger_in_words(shown)
    if shown.predictor in SAMPLED and factor(shown) > 1:
        assert "divides the Monte Carlo shares of δ" in ledger_in_words(shown)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gibbs-always-wrong", "The bound is 100 %"),
        ("fixed-all-but-one-wrong", "no better than guessing among 2 classes"),
    ],
)
def test_warnings(name: str, words: str) -> None:
    assert any(words in warning for warning in explain(certificate(name)).warnings)


def test_more_warnings() -> None:
    shown = certificate("gibbs-mnist-size")
    claim = principal(shown)
    share = replace(shown, claims=(replace(claim, delta_risk=claim.delta * 2),))
    assert any("Most of δ" in warning for warning in explain(share).warnings)
    unsure = replace(shown, delta=Decimal("0.2"))
    assert any("of up to 0.2" in warning for warning in explain(unsure).warnings)
    held_out = replace(shown.also[-1], errors=9000, examples=10_000)
    wrong = replace(shown, also=(*shown.also[:-1], held_out))
    assert any("9000 errors in 10000 held-out" in warning for warning in explain(wrong).warnings)


def test_nonsense_is_refused() -> None:
    shown = certificate("gibbs-mnist-size")
    claim = principal(shown)
    for wrong in (
        replace(shown, predictor="oracle", bound=replace(shown.bound, inequality="oracle")),
        replace(shown, claims=(replace(claim, limit=Decimal(2)),)),
        replace(shown, claims=(replace(claim, delta=Decimal(0)),)),
    ):
        with pytest.raises(PacboundError, match="cannot be explained"):
            explain(wrong)


def test_the_principal_claim_of_a_predictor_that_abstains_is_on_its_error() -> None:
    probabilities = np.array([[0.95, 0.05], [0.6, 0.4]] * 50)
    shown = certify_fixed(probabilities, np.zeros(100, int), answer_above=0.9)
    assert [claim.loss for claim in shown.claims] == ["abstention", "zero-one"]
    assert principal(shown).subject == "answered"
    assert explain(shown).terms[-1].total == float(shown.claims[1].bound)
