"""Explanations: the remedies' numbers against independent ones, and the words that are due."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

from certificate_cases import DRAWN, LEARNED, SAMPLED, VOTE, Primitives, issue

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, MonteCarloKL
from pacbound.errors import BadInput
from pacbound.report.explanation import Explanation, Remedy, explain
from pacbound.report.terms import empirical_risk, terms

CASES = {
    "gibbs": Primitives(),
    "sampled": SAMPLED,
    "theorem3": replace(SAMPLED, tail="theorem3"),
    "chernoff": replace(SAMPLED, limit="chernoff"),
    "draw": DRAWN,
    "learned": LEARNED,
    "vote-gibbs": replace(LEARNED, predictor="vote-gibbs", held_out=None),
    "vote-tandem": VOTE,
}
FILES = sorted((Path(__file__).parents[2] / "certificates").glob("*.json"))


def inverse(q: float, c: float) -> float:
    """kl⁻¹(q, c) by a root finder, in 30 digits."""
    with mpmath.workdps(30):
        q, c = mpmath.mpf(q), mpmath.mpf(c)

        def kl(p: float) -> float:
            p = mpmath.mpf(p)
            heads = q * mpmath.log(q / p) if q else mpmath.mpf(0)
            return float(heads + (1 - q) * mpmath.log((1 - q) / (1 - p)) - c)

        return float(brentq(kl, float(q), 1 - 1e-15, xtol=1e-15))


def nats(certificate: Certificate) -> float:
    """What is paid besides the KL."""
    entries = (*certificate.prior.variances, *certificate.prior.choices)
    indices = [entry.index for entry in entries if entry.index]
    grid = sum(2 * math.log(k) + math.log(math.pi**2 / 6) for k in indices)
    return grid + math.log(certificate.prior.trials)


def implied(
    certificate: Certificate,
    risk: float | None = None,
    kl: float | None = None,
    m: int | None = None,
    union: float | None = None,
    share: float | None = None,
    inequality: str = "",
) -> float:
    """The bound of a certificate with some figures changed, from the formulas of the papers."""
    risk = certificate.risk.upper if risk is None else risk
    kl = certificate.kl.upper if kl is None else kl
    m = m or certificate.data.m
    share = share or certificate.budget.pac_bayes
    pairs, factor = {"vote-gibbs": (1, 2), "vote-tandem": (2, 4)}.get(
        certificate.claim.predictor, (1, 1)
    )
    total = kl * pairs + (nats(certificate) if union is None else union)
    if (inequality or certificate.bound.inequality) == "mcallester":
        complexity = (total + math.log(m / share)) / (m - 1)
    else:
        complexity = (total + math.log(2 * math.sqrt(m) / share)) / m
    return min(factor * inverse(risk, complexity), 1.0)


def named(explanation: Explanation, words: str) -> Remedy:
    (found,) = [remedy for remedy in explanation.remedies if remedy.change.startswith(words)]
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_figures_give_the_claim_itself(name: str) -> None:
    certificate = issue(CASES[name])
    assert implied(certificate) == pytest.approx(certificate.claim.risk_bound, rel=1e-9)
    explanation = explain(certificate)
    assert explanation.claim == certificate.claim.sentence
    assert explanation.terms == tuple(terms(certificate))
    assert explanation.warnings == ()


CHANGES: dict[str, Callable[[Certificate], float]] = {
    "Maurer's inequality": lambda c: implied(c, inequality="maurer"),
    "infinitely many draws": lambda c: implied(c, risk=empirical_risk(c)),
    "half the KL": lambda c: implied(c, kl=c.kl.upper / 2),
    "half the empirical risk": lambda c: implied(c, risk=c.risk.upper - empirical_risk(c) / 2),
    "twice as many examples, at the same KL per": lambda c: implied(
        c, m=2 * c.data.m, kl=2 * c.kl.upper
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["gibbs", "sampled", "learned", "vote-tandem"])
def test_a_remedy_is_the_bound_with_one_figure_changed(name: str, change: str) -> None:
    certificate = issue(CASES[name])
    if change.startswith("Maurer") and certificate.bound.inequality == "maurer":
        assert all(change not in remedy.change for remedy in explain(certificate).remedies)
        return
    remedy = named(explain(certificate), change)
    assert remedy.bound == pytest.approx(CHANGES[change](certificate), rel=1e-9)
    assert remedy.gain == certificate.claim.risk_bound - remedy.bound


def test_more_draws_of_examples() -> None:
    certificate = issue()
    p = Primitives()
    n = 10 * p.passes * p.m
    risk = inverse(10 * p.errors / n, math.log(1 / float(p.risk)) / n)
    remedy = named(explain(certificate), "10 times as many draws")
    assert remedy.bound == pytest.approx(implied(certificate, risk=risk), rel=1e-9)
    assert remedy.how == "pacbound certify CKPT --draws 60000000"


@pytest.mark.parametrize(("name", "words"), [("sampled", "10 times as many draws of the risk")])
def test_more_draws_of_weights(name: str, words: str) -> None:
    """The betting limit is where the wealth Π(1 + p − X) reaches 1/δ."""
    certificate = issue(CASES[name])
    counts = [(x / SAMPLED.batch, 10 * times) for x, times in SAMPLED.counts]

    def excess(p: float) -> float:
        return sum(n * math.log(1 + p - x) for x, n in counts) - math.log(1 / float(SAMPLED.risk))

    risk = brentq(excess, 1e-6, 1, xtol=1e-15)
    remedy = named(explain(certificate), words)
    assert remedy.bound == pytest.approx(implied(certificate, risk=risk), rel=1e-8)
    assert remedy.how == "pacbound certify CKPT --weights 100000"


def test_the_tail_of_the_kl() -> None:
    """The other tail is in the certificate; more samples are computed from the primitives."""
    certificate = issue(CASES["theorem3"])
    kl = certificate.kl
    assert isinstance(kl, MonteCarloKL)
    explanation = explain(certificate)
    gaussian = named(explanation, "the Gaussian tail")
    assert gaussian.bound == pytest.approx(implied(certificate, kl=kl.gaussian.upper), rel=1e-9)
    best = named(explanation, "infinitely many samples")
    at_mean = sum(
        (group.mean_square / place.value - place.parameters) / 2
        + place.parameters * math.log(place.value) / 2
        - group.log_det
        for group, place in zip(kl.groups, certificate.prior.variances, strict=True)
    )
    assert best.bound == pytest.approx(implied(certificate, kl=at_mean), rel=1e-8)
    more = named(explanation, "10 times as many samples")
    assert best.bound < more.bound < certificate.claim.risk_bound
    assert all("tail" not in remedy.change for remedy in explain(issue(SAMPLED)).remedies)


def test_ten_times_the_samples_of_a_gaussian_tail() -> None:
    certificate = issue(SAMPLED)
    kl, level = certificate.kl, math.log(2 / float(SAMPLED.kl))
    assert isinstance(kl, MonteCarloKL)
    total, samples = 0.0, 10 * kl.samples
    for group, place in zip(kl.groups, certificate.prior.variances, strict=True):
        root = math.sqrt(group.mean_square) + group.lipschitz * math.sqrt(2 * level / samples)
        moment, d = root**2 + group.lipschitz**2 / samples, place.parameters
        total += (moment / place.value - d + d * math.log(place.value)) / 2 - group.log_det
    remedy = named(explain(certificate), "10 times as many samples")
    assert remedy.bound == pytest.approx(implied(certificate, kl=total), rel=1e-8)


def test_a_learned_prior_pays_for_its_own_choices_alone() -> None:
    certificate = issue(replace(Primitives(), trials=7))
    union = 4 * math.log(math.pi**2 / 6) + math.log(7)  # network, seed, split, fraction
    explanation = explain(certificate)
    half = named(explanation, "a prior that learned from half")
    assert half.bound == pytest.approx(implied(certificate, kl=0, union=union, m=30_000), rel=1e-9)
    other = named(explanation, "a prior that learned from other")
    assert other.bound == pytest.approx(implied(certificate, kl=0, union=union), rel=1e-9)


def test_a_prior_that_learned_could_learn_from_less() -> None:
    certificate = issue(LEARNED)  # of 6000 examples half
    fraction = next(x for x in certificate.prior.choices if x.name == "prior_fraction")
    union = nats(certificate) + 2 * math.log(5) - 2 * math.log(fraction.index)  # 0.4 is the fifth
    remedy = named(explain(certificate), "a prior that learned from 40%")
    assert remedy.bound == pytest.approx(implied(certificate, union=union, m=3600), rel=1e-9)


def test_one_draw_has_all_of_delta_and_no_allowance() -> None:
    certificate = issue()
    remedy = named(explain(certificate), "a certificate of one drawn network")
    expected = implied(
        certificate, risk=empirical_risk(certificate), share=0.035, inequality="maurer"
    )
    assert remedy.bound == pytest.approx(expected, rel=1e-9)


def test_a_vote_could_be_one_network_where_its_risk_is_known() -> None:
    single = named(explain(issue(CASES["vote-gibbs"])), "a certificate of the randomised")
    assert single.bound == pytest.approx(issue(CASES["vote-gibbs"]).bound.value, rel=1e-9)
    tandem = explain(issue(VOTE)).remedies
    assert not any("certificate of" in remedy.change for remedy in tandem)


def test_less_confidence() -> None:
    certificate = issue(DRAWN)
    remedy = named(explain(certificate), "less confidence")
    assert remedy.bound == pytest.approx(implied(certificate, share=0.1), rel=1e-9)


@settings(max_examples=25)
@given(
    name=st.sampled_from(sorted(CASES)),
    share=st.sampled_from(["0.001", "0.01", "0.05", "0.4"]),
    errors=st.floats(0, 0.9),
    scale=st.floats(0.3, 1.0),
    trials=st.integers(1, 1000),
)
def test_remedies_gain_and_are_sorted(
    name: str, share: str, errors: float, scale: float, trials: int
) -> None:
    case = CASES[name]
    if not case.batch:
        draws = case.m if case.predictor == "draw" else case.m * case.passes
        case = replace(case, errors=int(errors * draws))
    groups = tuple(
        (d, trace, distance * scale, log_det) for d, trace, distance, log_det in case.groups
    )
    certificate = issue(replace(case, pac_bayes=Decimal(share), trials=trials, groups=groups))
    assert checker.check(certificate.to_json()).accepted
    explanation = explain(certificate)
    bounds = [remedy.bound for remedy in explanation.remedies]
    assert bounds == sorted(bounds)
    estimate = empirical_risk(certificate)
    for remedy in explanation.remedies:
        assert 0 < remedy.gain == certificate.claim.risk_bound - remedy.bound
        assert remedy.bound >= 0
        if "risk" not in remedy.change and "vote" not in name:
            assert remedy.bound >= estimate * (1 - 1e-12)
        assert remedy.change and remedy.assumes


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_published_certificates_are_explained(path: Path) -> None:
    certificate = Certificate.from_json(path.read_bytes())
    explanation = explain(certificate)
    assert explanation.warnings == ()
    assert len(explanation.remedies) >= 4
    assert len(explanation.not_claimed) >= 7


# Words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gibbs", "One network:"),
        ("gibbs", "at most twice as often"),
        ("draw", "Any other network:"),
        ("vote-gibbs", "2 times the bound on the risk of one network"),
        ("vote-tandem", "4 times the bound on the risk that two networks err at once"),
        ("learned", "only its 3000 of the 6000 examples, and that one prior was tried"),
        ("gibbs", "That no more than one prior was tried"),
        ("gibbs", "The held-out set:"),
    ],
)
def test_what_is_not_claimed_is_that_of_the_predictor(name: str, words: str) -> None:
    points = explain(issue(CASES[name])).not_claimed
    assert sum(words in point for point in points) == 1
    assert all(": " in point for point in points)
    assert ("vote" in name) == all("held-out" not in point for point in points)


def test_a_gibbs_bound_gives_one_of_the_vote() -> None:
    certificate = replace(issue(), claim=replace(issue().claim, risk_bound=0.6))
    assert any("at most 100.00 %" in point for point in explain(certificate).not_claimed)


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (replace(Primitives(), errors=5_700_000), "no better than guessing among 10 classes"),
        (replace(Primitives(), errors=6_000_000), "The bound is 100 %"),
        (replace(Primitives(), risk=Decimal("0.03")), "Most of δ is spent on Monte Carlo"),
        (replace(Primitives(), pac_bayes=Decimal("0.2")), "a probability of 0.21"),
        (replace(Primitives(), held_out=(2500, 10_000)), "2500 errors in 10000 held-out"),
    ],
)
def test_warnings(case: Primitives, words: str) -> None:
    found = explain(issue(case)).warnings
    assert [warning for warning in found if words in warning] == list(found)
    assert len(found) == 1


def test_a_claim_that_is_larger_than_it_need_be() -> None:
    certificate = issue()
    loose = replace(certificate, claim=replace(certificate.claim, risk_bound=0.5)).in_words()
    assert checker.check(loose.to_json()).accepted
    assert any("larger than its own figures imply" in w for w in explain(loose).warnings)


def test_nonsense_is_refused() -> None:
    certificate = issue()
    for wrong in (
        replace(certificate, claim=replace(certificate.claim, predictor="oracle")),
        replace(certificate, risk=replace(certificate.risk, upper=2.0)),
        replace(certificate, budget=replace(certificate.budget, pac_bayes=0.0)),
        replace(certificate, prior=replace(certificate.prior, trials=0)),
    ):
        with pytest.raises(BadInput, match="cannot be explained"):
            explain(wrong)
