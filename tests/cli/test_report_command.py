"""`pacbound report`: exit codes, the page, and the summary."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from page_cases import case, certificate, forged, text, write_log

from pacbound_cli import cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("good/gibbs", "good/deep/draw", "mixed/vacuous"):
        path = Path(f"{name}.json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text(case(path.stem)), encoding="utf-8")
    Path("mixed/forged.json").write_text(json.dumps(forged()), encoding="utf-8")
    Path("other").mkdir()
    Path("other/result.json").write_text("{}", encoding="utf-8")
    Path("junk.json").write_text("no JSON", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ("good", 0, "2 of 2 verify; written to page.html"),
        ("good/gibbs.json good", 0, "2 of 2 verify"),
        ("mixed/vacuous.json", 0, "vacuous     mixed/vacuous.json: the bound is no better"),
        ("mixed", 1, "rejected    mixed/forged.json: 11.5"),
        ("good junk.json", 1, "unreadable  junk.json: 1.4"),
        ("other/result.json", 1, "rejected    other/result.json: 1.7"),
        ("other", 2, "no certificates in other"),
        ("absent", 2, "no such file or folder: absent"),
        ("good -o good", 2, "cannot write good: it is a folder"),
        ("good -o junk.json/page.html", 2, "cannot write junk.json/page.html"),
        ("good --logs absent", 2, "'absent' does not exist"),
        ("", 2, "Missing argument"),
        ("--help", 0, "Examples:"),
    ],
)
def test_exit_codes_and_words(arguments: str, exit_code: int, words: str) -> None:
    chosen = [] if "-o" in arguments else ["-o", "page.html"]
    done = CliRunner().invoke(cli, ["report", *arguments.split(), *chosen])
    assert done.exit_code == exit_code, done.output
    assert words in done.output
    assert Path("page.html").exists() == (exit_code < 2 and "--help" not in arguments)


@pytest.mark.usefixtures("folder")
def test_the_summary_as_json() -> None:
    done = CliRunner().invoke(cli, ["report", "mixed", "good", "--json"])
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert done.exit_code == 1 and Path("report.html").exists()
    assert {name: row["status"] for name, row in rows.items()} == {
        "forged": "rejected",
        "vacuous": "vacuous",
        "gibbs": "verified",
        "deep/draw": "verified",
    }
    assert rows["gibbs"]["risk_bound"] == certificate("gibbs").risk_bound
    assert rows["forged"]["risk_bound"] is None and rows["forged"]["reason"].startswith("11.5 ")


@pytest.mark.usefixtures("folder")
def test_logs_are_found_from_another_folder() -> None:
    Path("runs").mkdir()
    write_log(Path("runs/mlp.log.jsonl"))  # the certificate's commands name mlp.pt

    def curves(*options: str) -> int:
        CliRunner().invoke(cli, ["report", "good/gibbs.json", "-o", "page.html", *options])
        return Path("page.html").read_text(encoding="utf-8").count('<figure class="curve">')

    assert curves() == 0
    assert curves("--logs", "runs") == 2


@pytest.mark.usefixtures("folder")
def test_a_page_is_replaced_whole_or_stays() -> None:
    Path("page.html").write_text("the old page", encoding="utf-8")
    assert CliRunner().invoke(cli, ["report", "other", "-o", "page.html"]).exit_code == 2
    assert Path("page.html").read_text(encoding="utf-8") == "the old page"
    assert CliRunner().invoke(cli, ["report", "good", "-o", "page.html"]).exit_code == 0
    assert Path("page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.usefixtures("folder")
def test_the_page_that_checks_needs_no_certificate() -> None:
    done = CliRunner().invoke(cli, ["report", "--verifier", "verify.html"])
    assert done.exit_code == 0 and "written to verify.html" in done.output
    page = Path("verify.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "pacboundVerifier" in page
    both = CliRunner().invoke(cli, ["report", "good", "-o", "page.html", "--verifier", "v.html"])
    assert both.exit_code == 0 and Path("page.html").exists() and Path("v.html").exists()
