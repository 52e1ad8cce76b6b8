"""`pacbound monitor`: exit codes, words, figures and the report's page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from refusals import refused

sys.path.insert(0, str(Path(__file__).parents[1] / "monitoring"))

from outcome_cases import CLASSES, DRAW, EVERY, part, stream, write

from pacbound_cli import cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(DRAW, "draw.json")
    shutil.copy(CLASSES, "classes.json")
    write(Path("good.csv"), stream(3000, 0.004))
    write(Path("bad.csv"), stream(3000, 0.05))
    write(Path("half.csv"), part(stream(3000, 0.004), 0, 1500))
    write(Path("rest.csv"), part(stream(3000, 0.004), 1500, 3000))
    write(Path("pairs.csv"), stream(400, 0.1, classes=2))
    Path("words.csv").write_text("label,prediction\ncat,dog\n", encoding="utf-8")
    Path("junk.json").write_text("no JSON", encoding="utf-8")
    return tmp_path


def run(arguments: str) -> Result:
    return CliRunner().invoke(cli, ["monitor", *arguments.split()])


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ("draw.json good.csv", 0, "No claim is refuted after 3000 outcomes (alpha 0.01)."),
        ("draw.json bad.csv", 1, "REFUTED at outcome "),
        ("draw.json bad.csv --alpha 0.000001", 1, "(alpha 0.000001)"),
        ("classes.json pairs.csv", 0, "(alpha 0.01, divided among 3 claims)"),
        ("classes.json pairs.csv --claims overall", 0, "not watched: per-class (not selected)"),
        ("draw.json good.csv --state s.json", 0, "written to s.json"),
        ("draw.json good.csv --plot p.svg", 0, "written to p.svg"),
        ("--help", 0, "Outcomes must be unselected"),
        ("--help", 0, "divided among the claims"),
    ],
)
def test_exit_codes_and_words(arguments: str, exit_code: int, words: str) -> None:
    done = run(arguments)
    assert done.exit_code == exit_code, done.output
    assert " ".join(words.split()) in " ".join(done.output.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("draw.json words.csv", "row 2: label 'cat' is not a class from 0 to 9"),
        ("draw.json absent.csv", "absent.csv"),
        ("absent.json good.csv", "cannot read absent.json"),
        ("junk.json good.csv", "is rejected, so there is nothing to watch: 1.4"),
        ("draw.json good.csv --alpha 1", "1 is not between 0 and 1; 1 % is 0.01"),
        ("draw.json good.csv --alpha x", "x is not between 0 and 1"),
        ("draw.json good.csv --alpha nan", "nan is not between 0 and 1"),
        ("draw.json good.csv --claims overal", "did you mean 'overall'?"),
        ("draw.json good.csv --append", "give --state FILE"),
        ("draw.json good.csv --state junk.json", "junk.json is not the state of a monitor"),
        ("draw.json good.csv --state .", "it is not a regular file"),
        ("draw.json good.csv --state junk.json/s.json", "cannot write junk.json/s.json"),
        ("draw.json good.csv --plot p.jpeg", "a figure must end in .svg, .png or .pdf"),
    ],
)
def test_bad_input(arguments: str, words: str) -> None:
    before = sorted(os.listdir())
    refused(run(arguments), words)
    assert sorted(os.listdir()) == before


def test_a_state_continues_and_refuses_others() -> None:
    assert run("draw.json good.csv --state whole.json").exit_code == 0
    assert run("draw.json half.csv --state s.json --json").exit_code == 0
    done = run("draw.json good.csv --state s.json")
    assert "1500 of the 3000 outcomes are new." in done.output
    run("draw.json half.csv --state a.json")
    run("draw.json rest.csv --state a.json --append")
    whole = Path("whole.json").read_bytes()
    assert whole == Path("s.json").read_bytes() == Path("a.json").read_bytes()
    refused(run("draw.json bad.csv --state s.json"), "does not begin with the 3000 rows")
    refused(run("draw.json half.csv --state s.json"), "has 1500 rows")
    refused(run("classes.json pairs.csv --state s.json"), "state of another certificate")
    refused(run("draw.json good.csv --state s.json --alpha 0.1"), "begun with alpha 0.01")
    assert Path("s.json").read_bytes() == whole


def test_the_result_as_json() -> None:
    done = run("classes.json pairs.csv --alpha 0.03 --json")
    found = json.loads(done.stdout)
    assert found["refuted"] is False and found["outcomes"] == found["new_outcomes"] == 400
    assert [claim["share"] for claim in found["claims"]] == [0.01] * 3
    first, second, third = found["claims"]
    assert second["outcomes"] + third["outcomes"] == first["outcomes"] == 400
    assert second["class"] == 0 and second["subject"] == "true-class"
    assert first["lower_limit"] < first["mean"] < first["bound"]


def output_to(arguments: str, stdout: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pacbound_cli", "monitor", *arguments.split()]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


@pytest.mark.parametrize("form", ["", "--json"])
def test_a_reader_that_stops_changes_neither_exit_code_nor_state(form: str) -> None:
    for outcomes, code in (("good.csv", 0), ("bad.csv", 1)):
        reading, writing = os.pipe()
        os.close(reading)
        done = output_to(f"draw.json {outcomes} --state {outcomes}.json {form}", writing)
        os.close(writing)
        assert (done.returncode, done.stderr) == (code, "")
        run(f"draw.json {outcomes} --state whole-{outcomes}.json")
        assert Path(f"{outcomes}.json").read_bytes() == Path(f"whole-{outcomes}.json").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("form", ["", "--json"])
def test_a_result_that_cannot_be_shown_is_not_kept(form: str) -> None:
    run("draw.json half.csv --state s.json")
    before = Path("s.json").read_bytes()
    with Path("/dev/full").open("w") as full:
        done = output_to(f"draw.json rest.csv --state s.json --append {form}", full.fileno())
    assert done.returncode == 2 and "No space left" in done.stderr
    assert "Traceback" not in done.stderr and Path("s.json").read_bytes() == before


def test_outcomes_in_groups_without_a_claim_are_named() -> None:
    shutil.copy(EVERY, "every.json")
    columns = stream(100, 0.05, classes=3, columns="error group")
    write(Path("groups.csv"), columns | {"group": ["1.0"] * 100})
    done = run("every.json groups.csv --claims groups")
    assert "100 of the 100 new outcomes are in groups without a claim" in done.output
    assert "“north”" in done.output


def test_the_figure_is_drawn() -> None:
    assert run("draw.json bad.csv --plot p.svg").exit_code == 1
    picture = Path("p.svg").read_text(encoding="utf-8")
    assert "alarm at 100" in picture and "error, all inputs" in picture


def test_the_page_shows_what_was_found() -> None:
    run("draw.json bad.csv --state bad-state.json")
    run("classes.json pairs.csv --state fine.json")
    report = ["report", "draw.json", "classes.json", "-o", "page.html"]
    states = ["--monitor", "bad-state.json", "--monitor", "fine.json"]
    done = CliRunner().invoke(cli, [*report, *states, "--json"])
    assert done.exit_code == 0, done.output
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["draw"]["monitored"] == "refuted" and rows["draw"]["outcomes"] == 3000
    assert rows["classes"]["monitored"] == "not refuted"
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("After deployment") == 2
    assert "REFUTED at outcome" in page and "No claim is refuted after 400 outcomes" in page
    refused(CliRunner().invoke(cli, ["report", "draw.json", *states]), "not on the page")
    refused(CliRunner().invoke(cli, [*report, "--monitor", "junk.json"]), "junk.json is not")
