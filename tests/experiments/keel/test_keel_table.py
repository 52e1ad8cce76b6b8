"""The table of KEEL: sound choices, figures that can be recomputed, and what is published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from pacbound.certificate import checker
from pacbound.data import Dataset
from pacbound.errors import ResultError
from pacbound.experiments.keel import cell as cells
from pacbound.experiments.keel.cell import RESULT, KeelCell, plain_limit, read_result, scaled
from pacbound.experiments.keel.choosing import CANDIDATES, choose, settings_of
from pacbound.experiments.keel.page import keel_summary, keel_table
from pacbound.experiments.keel.rows import figures
from pacbound.priors.scaling import set_aside
from pacbound.priors.split import split_of

PUBLISHED = Path(__file__).parents[3] / "results/keel"
FILES = sorted(PUBLISHED.glob("*.json"))
QUICK = ({"prior_learning_rate": 0.01, "prior_epochs": 2}, {"hidden": [4], "prior_epochs": 3})


def made(m: int = 300) -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, m)
    inputs = generator.normal(2.0 * labels[:, None], 1.0, (m, 3)) * [1, 1000, 0.01]
    return Dataset("keel-made", inputs.astype(np.float32), labels, None, None, 2)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    data = made()
    monkeypatch.setattr("pacbound.data.load", lambda name, *more: data)
    monkeypatch.setattr(
        cells, "choose", lambda data, threads, report: choose(data, threads, report, QUICK)
    )
    return data


@pytest.fixture
def finished(quick: Dataset, tmp_path: Path) -> Path:
    KeelCell("wdbc", draws=1000).run(tmp_path, 1, lambda progress: None)
    return tmp_path


def test_a_cell_has_three_certificates_of_one_training(finished: Path) -> None:
    cell = KeelCell("wdbc", draws=1000)
    assert cell.finished(finished).finished
    assert not KeelCell("wdbc", draws=2000).finished(finished).finished
    assert not KeelCell("wine", draws=1000).finished(finished).finished
    record = read_result(finished / RESULT)
    fixed, draw, gibbs = (record["certificates"][name] for name in ("fixed", "draw", "gibbs"))
    assert fixed.data == draw.data == gibbs.data
    assert (fixed.data.examples, fixed.data.m) == (270, 135)  # a tenth scales, half is the prior's
    assert draw.model.sha256 == gibbs.model.sha256
    assert {str(c.delta) for c in (fixed, draw, gibbs)} == {"0.035"}
    row = figures(record)
    assert row["fixed_ratio"] == pytest.approx(float(fixed.risk_bound) / record["plain"])
    assert {measured.stage for measured in cell.measured(finished)} == set(cell.work())


def test_a_table_that_is_made_again_declares_its_place(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read_result(finished / RESULT)["certificates"]
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / "wdbc.json").write_bytes((finished / RESULT).read_bytes())
    monkeypatch.setattr(cells, "published_folder", lambda name: folder)
    cell, again = KeelCell("wdbc", draws=1000, place=3), tmp_path / "again"
    again.mkdir()
    cell.run(again, 1, lambda progress: None)
    assert cell.digest != KeelCell("wdbc", draws=1000).digest
    assert cell.finished(again).finished and not cell.finished(finished).finished
    made = read_result(again / RESULT)["certificates"]
    for kind in ("draw", "gibbs"):
        entry = made[kind].ledger.certificates
        assert (entry.counted, entry.number) == ("place", 3)
        assert made[kind].risk_bound > first[kind].risk_bound
    assert made["fixed"] == first["fixed"]  # the same centre needs no other certificate

    monkeypatch.setattr(cells, "published_folder", lambda name: tmp_path / "nothing")
    cell.run(again, 1, lambda progress: None)
    assert read_result(again / RESULT)["certificates"]["fixed"].ledger.certificates.number == 3
    # What is published may be at any place: users see it as it is.
    assert KeelCell("wdbc", draws=1000).published(again).finished


def test_a_changed_result_is_noticed(finished: Path) -> None:
    path = finished / RESULT
    record: dict[str, Any] = json.loads(path.read_text())
    record["certificates"]["draw"]["claims"][0]["bound"] = "0.0000000001"
    path.write_text(json.dumps(record))
    verdict = KeelCell("wdbc", draws=1000).finished(finished)
    assert not verdict.finished and "draw does not verify" in verdict.flaw
    path.write_text("{")
    with pytest.raises(ResultError, match="not a complete result"):
        read_result(path)


def test_the_choice_never_sees_a_counted_example(monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = made(), []
    counted = split_of(settings_of({}), data).counted_data(data).digests

    def watched(settings: Any, part: Dataset, **more: Any) -> Any:
        seen.append(part)
        return type(
            "Learned",
            (),
            {"validation": (40, {(): 7, (4,): 5}[settings.hidden]), "center": {}},
        )

    def bears(settings: Any, unseen: Dataset, center: Any) -> float:
        seen.append(unseen)
        return 0.25

    monkeypatch.setattr("pacbound.training.learned_prior.learn_prior", watched)
    monkeypatch.setattr("pacbound.training.choosing._borne_spread", bears)
    chosen = choose(data, 1, lambda done, total: None, QUICK)
    assert (chosen.settings.hidden, chosen.errors, chosen.examples) == ((4,), (7, 5), 40)
    assert chosen.settings.prior_spread == 0.25
    assert [part.m for part in seen] == [150, 150, 40]
    for part in seen:
        assert not {row.tobytes() for row in part.digests} & {row.tobytes() for row in counted}


def test_candidates_set_what_the_recipe_sets_for_a_prior() -> None:
    for candidate in CANDIDATES:
        assert {"prior_learning_rate", "prior_weight_decay"} <= set(candidate)
        settings = settings_of(candidate)
        assert settings.prior_fraction == 0.5 and settings.prior_validation == 0
        assert settings.prior_batch == 50 and settings.prior_epochs in (50, 200)


def test_columns_are_scaled_by_examples_that_are_not_counted(quick: Dataset) -> None:
    data = scaled("keel-wdbc")
    assert data.m == 270 and "scaled by 30 others" in data.name
    raw = quick.train_inputs.astype(np.float64)
    aside, rest = set_aside(raw, quick.train_labels, 0.1)
    assert sorted([*aside, *rest]) == list(range(300)) and len(aside) == 30
    others = raw[aside]
    expected = np.arcsinh((raw[rest] - others.mean(0)) / others.std(0))
    assert np.allclose(data.train_inputs, expected, atol=1e-5)
    assert np.array_equal(data.train_labels, quick.train_labels[rest])


@pytest.mark.parametrize(("errors", "n"), [(0, 30), (3, 100), (61, 10_000), (99, 100), (5, 5)])
def test_the_plain_limit_is_that_of_the_binomial_distribution(errors: int, n: int) -> None:
    found = plain_limit(errors, n, "0.035")
    if errors == n:
        assert found == 1
    else:
        assert binom.cdf(errors, n, found) == pytest.approx(0.035, rel=1e-6)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_published_results_hold(path: Path) -> None:
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["table"] == path.stem
    for certificate in record["certificates"].values():
        verdict = checker.verify(json.dumps(certificate, ensure_ascii=False).encode())
        assert verdict.accepted, verdict.reason
    centre = record["certificates"]["fixed"]["claims"][0]
    if centre["errors"] < centre["m"]:
        tail = binom.cdf(centre["errors"], centre["m"], record["plain"])
        assert tail == pytest.approx(float(record["delta"]), rel=1e-6)
    assert float(centre["bound"]) <= 1.05 * record["plain"]


def test_the_page_has_every_published_table() -> None:
    lines = keel_table(PUBLISHED).splitlines()[2:]
    assert len(lines) == len(FILES)
    for path in FILES:
        assert any(f"[{path.stem}]" in line for line in lines)
    assert f"{len(FILES)} tables" in keel_summary(PUBLISHED)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    assert keel_summary(tmp_path) == "Nothing is published yet."
