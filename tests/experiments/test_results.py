"""The published tables say what the certificates say."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pacbound.certificate import checker
from pacbound.certificate.format import FORMAT, Certificate
from pacbound.experiments.learned.page import elsewhere_table, learned_table
from pacbound.experiments.pac_bayes.page import (
    NONE_YET,
    commands_table,
    published,
    results_table,
)
from pacbound.experiments.pages import TABLES, PageTable, updated
from pacbound.experiments.summary_page import summary_table
from pacbound.priors import prior_of
from pacbound.report.amounts import percent_up
from pacbound.report.terms import principal, terms

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "certificates"
VECTORS = ROOT / "pacbound/certificate/vectors"
EXAMPLES = ROOT / "results/examples"
PUBLISHED = sorted([*FOLDER.glob("*.json"), *EXAMPLES.glob("*.json")])
FILES = [path for path in PUBLISHED if FORMAT.encode() in path.read_bytes()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_certificates_hold(path: Path) -> None:
    verdict = checker.verify(path.read_bytes())
    assert verdict.accepted, verdict.reason
    certificate = Certificate.from_json(path.read_bytes())
    assert certificate.to_json().encode() == path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_terms_add_up_to_the_bound(path: Path) -> None:
    certificate = Certificate.from_json(path.read_bytes())
    steps = terms(certificate)
    assert sum(term.adds for term in steps) == pytest.approx(float(principal(certificate).bound))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.page + table.part)
def test_the_pages_are_up_to_date(table: PageTable) -> None:
    text = (ROOT / table.page).read_text(encoding="utf-8")
    made = table.make(ROOT / table.source)
    assert updated(text, table.begin, made) == text, f"{table.page}: run `make results`"


def test_a_page_without_markers_is_not_touched() -> None:
    with pytest.raises(ValueError, match="has no <!-- made from certificates: summary -->"):
        updated("a page", TABLES[0].begin, "a table")


@pytest.mark.parametrize("make", [results_table, commands_table, learned_table, summary_table])
def test_tables_of_vectors(make: Callable[[Path], str], tmp_path: Path) -> None:
    """As if the vectors were published; and a folder without certificates says so."""
    assert make(tmp_path) == NONE_YET
    (tmp_path / "old.json").write_text('{"format": "pacbound-certificate/1"}', encoding="utf-8")
    assert make(tmp_path) == NONE_YET
    for path in VECTORS.glob("accepted-*.json"):
        shutil.copy(path, tmp_path)
    head, line, *rows = make(tmp_path).splitlines()
    assert len(rows) > 10 and set(line) <= set("|-")
    assert {row.count("|") for row in (head, line, *rows)} == {head.count("|")}


def test_the_results_link_every_certificate_without_data(tmp_path: Path) -> None:
    for path in VECTORS.glob("accepted-*.json"):
        shutil.copy(path, tmp_path)
    made = results_table(tmp_path)
    for name, certificate in published(tmp_path):
        expected = prior_of(certificate).is_free_of_data and certificate.evidence is not None
        assert made.count(f"/{name})") == expected


def test_the_summary_shows_what_the_recipe_fixes(tmp_path: Path) -> None:
    """A better bound of another posterior or objective is not shown: nobody paid for the choice."""
    gibbs = Certificate.from_json((FOLDER / "mlp-600-blocks-k-linear-gibbs.json").read_bytes())
    for name, changed in {
        "own": {},
        "a": {"posterior": "diag"},
        "z": {"objective": "catoni"},
    }.items():
        made = replace(gibbs.made, settings=gibbs.made.settings | changed)
        (tmp_path / f"{name}.json").write_text(replace(gibbs, made=made).to_json())
    (row,) = summary_table(tmp_path).splitlines()[2:]
    bound = f"[**{percent_up(gibbs.risk_bound)}**](certificates/own.json)"
    assert row.startswith(f"| mlp-600-blocks | free of data | – | – | {bound} |")


def test_the_table_of_figures_from_elsewhere_has_our_lowest_bounds() -> None:
    head, _, *rows = elsewhere_table(FOLDER).splitlines()
    assert len(rows) == 9 and {row.count("|") for row in rows} == {head.count("|")}
    (draw,) = [row for row in rows if row.startswith("| mnist | draw |")]
    assert "mnist-resnet-learned-draw.json" in draw and "Viallard 1.10" in draw
