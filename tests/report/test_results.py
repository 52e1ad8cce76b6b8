"""The published tables say what the certificates say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pacbound.certificate import checker
from pacbound.certificate.format import Certificate
from pacbound.report.pages import TABLES, PageTable, updated
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


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.page + table.part)
def test_the_pages_are_up_to_date(table: PageTable) -> None:
    text = (ROOT / table.page).read_text(encoding="utf-8")
    made = table.make(ROOT / table.source)
    assert updated(text, table.begin, made) == text, f"{table.page}: run `make results`"


def test_a_page_without_markers_is_not_touched() -> None:
    with pytest.raises(ValueError, match="has no <!-- made from certificates -->"):
        updated("a page", TABLES[0].begin, "a table")
