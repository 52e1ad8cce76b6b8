"""`pacbound verify`: exit codes, one line per file, and a quick start."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

import torch
from page_cases import case, certificate, text

from pacbound.networks.digests import tensors_digest
from pacbound.recipes import recipe
from pacbound.training.checkpoints import Checkpoint
from pacbound_cli import cli


def write_checkpoint(path: Path, value: float) -> str:
    """A checkpoint with one tensor, and the digest of that."""
    posterior = {"mean": torch.full((2,), value)}
    data = {"name": "letters", "sha256": "0", "m": 1, "classes": 2, "input_shape": [2]}
    Checkpoint(recipe("mlp-600"), data, "0", 1, posterior, None).save(path)
    return tensors_digest(posterior)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_checkpoint(Path("other.pt"), 2.0)
    digest = write_checkpoint(Path("mlp.pt"), 1.0)
    record = case("gibbs")
    record["model"]["sha256"] = digest
    words = ["pacbound-seed/2", "risk", digest, record["prior"]["sha256"], record["data"]["sha256"]]
    record["seeds"]["risk"] = hashlib.sha256((" ".join(words) + "\n").encode()).hexdigest()
    Path("good.json").write_text(text(record), encoding="utf-8")
    Path("mixed").mkdir()
    Path("mixed/good.json").write_text(text(record), encoding="utf-8")
    Path("mixed/state.json").write_text("{}", encoding="utf-8")
    Path("sampled.json").write_text(text(case("sampled")), encoding="utf-8")
    Path("classes.json").write_text(text(case("classes")), encoding="utf-8")
    record["evidence"]["nats"] = "1.000000"
    Path("bad.json").write_text(text(record), encoding="utf-8")
    Path("net.onnx").write_bytes(b"graph")
    fixed = case("fixed")
    fixed["model"]["sha256"] = hashlib.sha256(b"graph").hexdigest()
    Path("fixed.json").write_text(text(fixed), encoding="utf-8")
    Path("junk.json").write_text("no JSON", encoding="utf-8")
    Path("strict.yaml").write_text("max_risk: 0.01\npredictors: [draw]\n", encoding="utf-8")
    Path("loose.yaml").write_text("max_risk: 0.9\nmax_delta: 0.1\n", encoding="utf-8")
    Path("wrong.yaml").write_text("max_rsk: 0.9\n", encoding="utf-8")
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ("good.json", 0, "VERIFIED good.json: with probability at least 97 % its error"),
        ("good.json --max-risk 0.5 --checkpoint mlp.pt", 0, "VERIFIED good.json"),
        ("mixed", 0, "VERIFIED mixed/good.json"),
        ("mixed", 0, "skipped mixed/state.json: not a certificate"),
        ("sampled.json good.json", 0, "VERIFIED sampled.json"),
        ("bad.json", 1, "REJECTED bad.json: 9.4 "),
        ("good.json bad.json", 1, "REJECTED bad.json"),
        ("good.json --max-risk 0.01", 1, "is over 0.01"),
        ("good.json --max-class-risk 0.9", 1, "it claims the error of 0 true classes of 3"),
        ("classes.json --max-class-risk 0.9", 0, "VERIFIED classes.json"),
        ("classes.json --max-class-risk 0.5", 1, "for class 0 is over 0.5"),
        ("good.json --checkpoint other.pt", 1, "it is for other tensors"),
        ("good.json --checkpoint junk.json", 1, "it is for other tensors"),
        ("fixed.json --checkpoint net.onnx", 0, "VERIFIED fixed.json"),
        ("fixed.json --checkpoint mlp.pt", 1, "it is for another file"),
        ("good.json sampled.json --policy loose.yaml", 0, "VERIFIED good.json"),
        ("good.json --policy strict.yaml", 1, "VIOLATED good.json: max_risk: the bound"),
        ("good.json --policy strict.yaml", 1, "VIOLATED good.json: predictors: its predictor is"),
        ("bad.json --policy loose.yaml", 1, "REJECTED bad.json: 9.4 "),
        ("good.json junk.json --policy loose.yaml", 2, "REJECTED junk.json: 1.4 "),
        ("good.json --policy loose.yaml --max-risk 0.01", 1, "REJECTED good.json: its risk bound"),
        ("good.json --policy wrong.yaml", 2, "unknown rule 'max_rsk'; did you mean 'max_risk'?"),
        ("good.json --policy absent.yaml", 2, "absent.yaml cannot be read"),
        ("good.json --policy good.json", 2, "good.json: line 1: "),
        ("junk.json", 2, "1.4 "),
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
    done = CliRunner().invoke(cli, ["verify", *arguments.split()])
    assert done.exit_code == exit_code, done.output
    assert words in done.output


@pytest.mark.usefixtures("folder")
def test_verdicts_as_json() -> None:
    done = CliRunner().invoke(cli, ["verify", "good.json", "bad.json", "--json"])
    good, bad = json.loads(done.output)
    assert done.exit_code == 1
    assert good["accepted"] and good["risk_bound"] == certificate("gibbs").risk_bound
    assert not bad["accepted"] and bad["risk_bound"] is None and bad["check"] == "9.4"
    assert "certificate" not in good


@pytest.mark.usefixtures("folder")
def test_a_summary_for_a_build() -> None:
    arguments = ["good.json", "bad.json", "sampled.json", "--policy", "strict.yaml", "--json"]
    done = CliRunner().invoke(cli, ["verify", *arguments])
    found = json.loads(done.output)
    assert done.exit_code == 1 and found["policy"] == "strict.yaml" and found["passed"] is False
    good, bad, _ = found["certificates"]
    assert good["valid"] and not good["passed"]
    assert good["rules"] == ["max_risk", "predictors"]
    assert [each["rule"] for each in good["violations"]] == ["max_risk", "predictors"]
    assert not bad["valid"] and not bad["passed"] and bad["check"] == "9.4"
    done = CliRunner().invoke(cli, ["verify", "good.json", "--policy", "loose.yaml", "--json"])
    assert json.loads(done.output)["passed"] is True


@pytest.mark.parametrize("options", [[], ["--policy", "loose.yaml"]])
def test_nothing_heavy_is_imported(folder: Path, options: list[str]) -> None:
    code = (
        "import sys\n"
        "from pacbound_cli import cli\n"
        f"try: cli(['verify', 'good.json', *{options}])\n"
        "except SystemExit as end: assert end.code == 0\n"
        "heavy = {'torch', 'numpy', 'flint', 'rich', 'yaml'} & sys.modules.keys()\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
