"""The published tables say what the certificates say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.report.results import commands_table, results_table, updated
from pacbound.report.terms import terms

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "certificates"
FILES = sorted(FOLDER.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_certificates_hold(path: Path) -> None:
    verdict = checker.check(path.read_bytes())
    assert verdict.accepted, verdict.reason
    certificate = Certificate.from_json(path.read_bytes())
    assert certificate.to_json().encode() == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_terms_add_up_to_the_bound(path: Path) -> None:
    certificate = Certificate.from_json(path.read_bytes())
    steps = terms(certificate)
    assert sum(term.adds for term in steps) == pytest.approx(certificate.claim.risk_bound)
    assert all(term.adds >= 0 for term in steps)


def test_the_pages_are_up_to_date() -> None:
    for page, table in (
        (ROOT / "README.md", results_table(FOLDER)),
        (FOLDER / "README.md", commands_table(FOLDER)),
    ):
        text = page.read_text(encoding="utf-8")
        assert updated(text, table) == text, f"{page.name}: run `make results`"
