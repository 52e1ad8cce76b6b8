"""The sentence: the issuer's words are the checker's, written apart from each other."""

from __future__ import annotations

import ast
from decimal import Decimal
from pathlib import Path

import pytest

from pacbound import predictors
from pacbound.certificate.format import Certificate
from pacbound.predictors import PREDICTORS
from pacbound.predictors.words import confidence, coverage, percent, sentence

ROOT = Path(predictors.__file__).parent
VECTORS = sorted((ROOT.parent / "certificate" / "vectors").glob("accepted-*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_sentence_of_every_accepted_vector(path: Path) -> None:
    certificate = Certificate.load(path)
    who = PREDICTORS[certificate.predictor]
    assert sentence(certificate, who.over, who.who) == certificate.sentence


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_the_terms_of_every_accepted_vector_lead_to_its_bounds(path: Path) -> None:
    certificate = Certificate.load(path)
    for claim in certificate.claims[:3]:
        steps = predictors.terms(certificate, claim)
        assert steps[0].total == pytest.approx(float(claim.mean))
        assert steps[-1].total == pytest.approx(float(claim.bound), abs=2e-6)
        added = sum(step.adds for step in steps)
        assert added == pytest.approx(steps[-1].total)


def test_figures_of_the_specification() -> None:
    for rate, shown, left in (
        ("0.1778155399", "17.79", "82.21"),
        ("0.0010000000", "0.10", "99.90"),
        ("0.0009999999", "0.100000", "99.900000"),
        ("0.0000003500", "0.000035", "99.999965"),
        ("1.0000000000", "100.00", "0.00"),
    ):
        assert (percent(Decimal(rate)), coverage(Decimal(rate))) == (shown, left)
    shown = [confidence(Decimal(delta)) for delta in ("0.035", "0.05", "0.0000001")]
    assert shown == ["96.5", "95", "99.99999"]


def test_the_issuer_uses_the_checker_as_a_black_box() -> None:
    """Nothing of it but its verdict: no formula, list or sentence."""
    for folder in ("predictors", "bounds", "recipes", "priors"):
        for path in sorted((ROOT.parent / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    assert "checker" not in node.module, path
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "checker":
                    assert node.attr == "verify", path
