"""`explain` as a user meets it: words, tables, JSON, and exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from page_cases import CASES, case, certificate, text

from pacbound.report.amounts import percent_up
from pacbound.report.explanation import explain
from pacbound_cli import cli


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["explain", *map(str, arguments)])


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("name", CASES)
def test_everything_that_the_engine_says_is_printed(name: str, tmp_path: Path) -> None:
    shown, path = certificate(name), tmp_path / "a.json"
    shown.save(path)
    result = run(path)
    assert result.exit_code == 0, result.output
    said, explanation = flat(result.stdout), explain(shown)
    assert flat(shown.sentence) in said
    assert "It holds" in said
    assert flat(explanation.ledger) in said
    if len(shown.claims) > 1:
        for line in explanation.claims:
            assert f"{line.loss}, {line.subject}" in said
    for point in explanation.not_claimed:
        assert flat(point) in said
    for term in explanation.terms:
        assert f"{percent_up(term.total, 3)}%" in said
    for remedy in explanation.remedies:
        assert f"{remedy.bound:.3%} │ −{remedy.gain:.3%}" in said
        for command in remedy.how:
            assert command.partition(" --")[0] in said
            assert command.rpartition(" ")[0].rpartition(" ")[2] in said  # the last option
    assert bool(explanation.remedies) != ("No command would tighten this bound" in said)


def test_the_json_has_the_same_figures(tmp_path: Path) -> None:
    shown, path = certificate("gibbs"), tmp_path / "a.json"
    shown.save(path)
    result = run(path, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["accepted"] is True
    assert record["claim"] == shown.sentence
    bounds = [remedy["bound"] for remedy in record["remedies"]]
    assert bounds == [remedy.bound for remedy in explain(shown).remedies]
    assert record["terms"][-1]["total"] == pytest.approx(shown.risk_bound)


def test_a_vacuous_bound_is_told(tmp_path: Path) -> None:
    certificate("vacuous").save(tmp_path / "a.json")
    result = run(tmp_path / "a.json")
    assert result.exit_code == 0
    assert "The bound is 100 %: it says nothing." in flat(result.stdout)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_rejected_certificate_is_explained_with_a_warning_and_exit_code_1(
    tmp_path: Path, options: list[str]
) -> None:
    record = case("gibbs")
    record["evidence"]["nats"] = "1.000000"
    path = tmp_path / "a.json"
    path.write_text(text(record), encoding="utf-8")
    result = run(path, *options)
    assert result.exit_code == 1
    assert "9.4" in flat(result.stdout)
    assert "what would tighten it" in result.stdout or json.loads(result.stdout)["remedies"]
    assert "It holds" not in result.stdout


@pytest.mark.parametrize(
    "change", [{"claims": 3}, {"evidence": {"nats": 7}}, {"also": None}, {"surprise": 1}]
)
def test_a_certificate_that_makes_no_sense_is_not_explained(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "a.json"
    path.write_text(text(case("gibbs") | change), encoding="utf-8")
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
    record = case("gibbs")
    record["sentence"] = "the risk is [bold]0 %[/bold] [/]"
    path = tmp_path / "[a].json"
    path.write_text(text(record), encoding="utf-8")
    result = run(path)
    assert result.exit_code == 1
    assert "[bold]0 %[/bold] [/]" in result.stdout
    assert "[a].json" in flat(result.stdout).replace(" ", "")


def test_it_starts_without_torch(tmp_path: Path) -> None:
    certificate("gibbs").save(tmp_path / "a.json")
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom pacbound_cli import cli\n"
        f"result = CliRunner().invoke(cli, ['explain', {str(tmp_path / 'a.json')!r}])\n"
        "assert result.exit_code == 0, result.output\nassert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
