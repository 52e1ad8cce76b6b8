"""`simulate` as a user meets it: the table, the files, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.experiments.simulation import simulate
from pacbound.experiments.simulation.outcome import Outcome, Simulation
from pacbound_cli import cli

SMALL = ["--shapes", "2x3,2x2,2x2x2", "--trials", 3, "--starts", 2]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["simulate", *map(str, arguments)])


def test_the_table_and_the_files(tmp_path: Path) -> None:
    result = run(*SMALL, "-o", tmp_path / "new")
    assert result.exit_code == 0, result.output
    assert "3 of 3" in result.stdout
    assert "9 of 9 trials" in result.stdout
    figure = tmp_path / "new" / "simulation.svg"
    assert ElementTree.parse(figure).getroot().tag.endswith("svg")
    record = json.loads((tmp_path / "new" / "simulation.json").read_text())
    assert [entry["shape"] for entry in record["shapes"]] == [[2, 3], [2, 2], [2, 2, 2]]
    assert record["holds"]
    for entry in record["shapes"]:
        for family in ("diag", "k-diag", "k-linear"):
            found = entry[family]
            assert found["converged"] == len(found["kl"]) == 3
            assert found["mean"] == pytest.approx(sum(found["kl"]) / 3)
            low, high = found["band"]
            assert (low + high) / 2 == pytest.approx(found["mean"])
            assert f"{found['mean']:.2f}" in result.stdout


def test_the_same_seed_gives_the_same_json() -> None:
    first, again = run(*SMALL, "--json"), run(*SMALL, "--json")
    assert first.exit_code == 0, first.output
    assert first.stdout == again.stdout
    other = run(*SMALL, "--seed", 1, "--json")
    assert json.loads(other.stdout)["shapes"] != json.loads(first.stdout)["shapes"]
    more = run(*SMALL[:2], "--trials", 5, "--starts", 2, "--json")
    pairs = zip(json.loads(first.stdout)["shapes"], json.loads(more.stdout)["shapes"], strict=True)
    for few, many in pairs:  # a trial is the same however many there are
        assert many["diag"]["kl"][:3] == pytest.approx(few["diag"]["kl"])
        assert many["k-diag"]["kl"][:3] == pytest.approx(few["k-diag"]["kl"])


def test_one_trial_and_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("--shapes", "2×2", "--trials", 1, "--starts", 1)
    assert result.exit_code == 0, result.output
    assert "1 of 1 trial\n" in result.stdout
    assert not list(tmp_path.iterdir())


def test_families_out_of_order_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    kl = {"diag": (1.0, 2.0), "k-diag": (1.5, 1.9), "k-linear": (0.5, 0.5)}
    outcome = Outcome((2, 2), kl, dict.fromkeys(kl, 2))
    assert (outcome.ordered, outcome.k_diag_never_better, outcome.k_linear_never_worse) == (
        1,
        False,
        True,
    )
    wrong = Simulation(2, 0, 1, (outcome,))
    monkeypatch.setattr("pacbound.experiments.simulation.simulate", lambda *arguments: wrong)
    result = run("--shapes", "2x2")
    assert result.exit_code == 1
    assert "1 of 2 trials" in result.stdout
    assert run("--shapes", "2x2", "--json").exit_code == 1


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object) -> Simulation:
        raise KeyboardInterrupt

    monkeypatch.setattr("pacbound.experiments.simulation.simulate", interrupted)
    result = run(*SMALL, "-o", tmp_path)
    assert result.exit_code == 130
    assert result.stderr == "stopped; the same command starts again\n"
    assert not list(tmp_path.iterdir())


def test_progress_ends_at_the_total() -> None:
    calls: list[tuple[int, int]] = []
    simulate([(2, 2), (2, 3)], 1, 0, 2, lambda done, total: calls.append((done, total)))
    assert len(calls) == 5
    assert calls == sorted(calls)
    assert calls[0][0] == 0
    assert calls[-1][0] == calls[-1][1]


def test_bad_input(tmp_path: Path) -> None:
    for shapes in ("", "2", "2x", "2y3", "2x1", "2x-3", "2x3,,4x4", "1x1"):
        refused(run("--shapes", shapes))
    refused(run("--shapes", "3xa"), "'3xa' is not a shape", "3x4")
    refused(run("--shapes", "2x2,20x20"), "20×20 has 400 entries", "at most 256")
    refused(run("--trials", 0), "--trials")
    refused(run("--starts", 0), "--starts")
    refused(run("--seed", -1), "--seed")
    (tmp_path / "file").write_text("")
    refused(run("--shapes", "2x2", "-o", tmp_path / "file"), "cannot write")
