"""`explain` as a user meets it: words, tables, JSON, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

from certificate_cases import DRAWN, SAMPLED, VOTE, Primitives, issue

from pacbound.report.explanation import explain
from pacbound_cli import cli

CASES = {"gibbs": Primitives(), "sampled": SAMPLED, "draw": DRAWN, "vote": VOTE}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["explain", *map(str, arguments)])


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", CASES)
def test_everything_that_the_engine_says_is_printed(name: str, tmp_path: Path) -> None:
    certificate, path = issue(CASES[name]), tmp_path / "a.json"
    certificate.save(path)
    result = run(path)
    assert result.exit_code == 0, result.output
    said, explanation = flat(result.stdout), explain(certificate)
    assert flat(certificate.claim.sentence) in said
    assert "it holds" in said
    for point in explanation.not_claimed:
        assert flat(point) in said
    for term in explanation.terms:
        assert f"{term.total:.3%}" in said
    for remedy in explanation.remedies:
        assert f"{remedy.bound:.3%} │ −{remedy.gain:.3%}" in said
        assert remedy.how in said


def test_the_json_has_the_same_figures(tmp_path: Path) -> None:
    certificate, path = issue(), tmp_path / "a.json"
    certificate.save(path)
    result = run(path, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["accepted"] is True
    assert record["claim"] == certificate.claim.sentence
    bounds = [remedy["bound"] for remedy in record["remedies"]]
    assert bounds == [remedy.bound for remedy in explain(certificate).remedies]
    assert record["terms"][-1]["total"] == pytest.approx(certificate.claim.risk_bound)


def test_a_vacuous_bound_is_told(tmp_path: Path) -> None:
    issue(replace(Primitives(), errors=5_900_000)).save(tmp_path / "a.json")
    result = run(tmp_path / "a.json")
    assert result.exit_code == 0
    assert "no better than guessing among 10 classes" in flat(result.stdout)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_rejected_certificate_is_explained_with_a_warning_and_exit_code_1(
    tmp_path: Path, options: list[str]
) -> None:
    record = issue().to_mapping()
    record["kl"]["upper"] *= 0.9
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record), encoding="utf-8")
    result = run(path, *options)
    assert result.exit_code == 1
    assert "kl.upper is" in flat(result.stdout)
    assert "what would tighten it" in result.stdout or json.loads(result.stdout)["remedies"]
    assert "it holds" not in result.stdout


@pytest.mark.parametrize(
    "change", [{"claim": 3}, {"risk": {"upper": 7}}, {"also": None}, {"surprise": 1}]
)
def test_a_certificate_that_makes_no_sense_is_not_explained(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(issue().to_mapping() | change), encoding="utf-8")
    result = run(path)
    assert result.exit_code == 1, result.output
    assert result.stdout.startswith("REJECTED")
    assert "what would tighten it" not in result.stdout
    assert json.loads(run(path, "--json").stdout)["accepted"] is False


@pytest.mark.parametrize("content", [None, "no JSON"])
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "a.json"
    if content is not None:
        path.write_text(content)
    result = run(path)
    assert result.exit_code == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert "a.json" in result.stderr


def test_markup_in_a_certificate_is_not_obeyed(tmp_path: Path) -> None:
    record = issue().to_mapping()
    record["claim"]["sentence"] = "the risk is [bold]0 %[/bold] [/]"
    path = tmp_path / "[a].json"
    path.write_text(json.dumps(record), encoding="utf-8")
    result = run(path)
    assert result.exit_code == 1
    assert "[bold]0 %[/bold] [/]" in result.stdout
    assert "[a].json" in flat(result.stdout).replace(" ", "")


def test_it_starts_without_torch(tmp_path: Path) -> None:
    issue().save(tmp_path / "a.json")
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom pacbound_cli import cli\n"
        f"result = CliRunner().invoke(cli, ['explain', {str(tmp_path / 'a.json')!r}])\n"
        "assert result.exit_code == 0, result.output\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
