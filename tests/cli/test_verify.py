"""`pacbound verify`: exit codes, one line per file, and a quick start."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "certificate"))

from certificate_cases import SAMPLED, issue

from pacbound_cli.verify import verify

VALID = issue()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mlp.pt").write_bytes(b"weights")
    record = VALID.to_mapping()
    record["model"]["checkpoint_sha256"] = hashlib.sha256(b"weights").hexdigest()
    Path("good.json").write_text(json.dumps(record), encoding="utf-8")
    Path("sampled.json").write_text(issue(SAMPLED).to_json(), encoding="utf-8")
    record["kl"]["upper"] *= 0.9
    Path("bad.json").write_text(json.dumps(record), encoding="utf-8")
    Path("junk.json").write_text("no JSON", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ("good.json", 0, "ok        good.json: risk ≤"),
        ("good.json --max-risk 0.5 --checkpoint mlp.pt", 0, "ok        good.json"),
        ("sampled.json good.json", 0, "m = 60000, k-nonlinear)"),
        ("bad.json", 1, "REJECTED  bad.json: kl.upper is"),
        ("good.json bad.json", 1, "REJECTED  bad.json"),
        ("good.json --max-risk 0.01", 1, "is over 0.01"),
        ("good.json --checkpoint junk.json", 1, "another checkpoint"),
        ("junk.json", 2, "not JSON"),
        ("absent.json", 2, "cannot be read"),
        ("good.json --checkpoint absent.pt", 2, "absent.pt cannot be read"),
        ("good.json --max-risk 25", 2, "25 % is 0.25"),
        ("good.json --max-risk x", 2, "not a valid float"),
        ("good.json --max-risk nan", 2, "nan is not in [0, 1]"),
        ("", 2, "Missing argument"),
        ("--help", 0, "Example"),
    ],
)
def test_exit_codes_and_words(arguments: str, exit_code: int, words: str) -> None:
    done = CliRunner().invoke(verify, arguments.split())
    assert done.exit_code == exit_code, done.output
    assert words in done.output


@pytest.mark.usefixtures("folder")
def test_verdicts_as_json() -> None:
    done = CliRunner().invoke(verify, ["good.json", "bad.json", "--json"])
    good, bad = json.loads(done.output)
    assert done.exit_code == 1
    assert good["accepted"] and good["risk_bound"] == VALID.claim.risk_bound
    assert not bad["accepted"] and bad["risk_bound"] is None and "kl.upper" in bad["reason"]


def test_nothing_heavy_is_imported(folder: Path) -> None:
    code = (
        "import sys\n"
        "from pacbound_cli import cli\n"
        "try: cli(['verify', 'good.json'])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'torch', 'numpy', 'flint', 'rich', 'yaml'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
