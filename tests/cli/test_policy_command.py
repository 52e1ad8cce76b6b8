"""`pacbound policy`: a first policy, which its certificates keep."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from refusals import refused

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))

from page_cases import forged, text

from pacbound_cli import cli

PUBLISHED = sorted((Path(__file__).parents[2] / "certificates").glob("*.json"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("certificates").mkdir()
    for path in PUBLISHED:
        shutil.copy(path, "certificates")
    Path("forged.json").write_text(text(forged()), encoding="utf-8")
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


NAMES = [f"certificates/{path.name}" for path in PUBLISHED]


def test_the_published_certificates_keep_their_first_policy() -> None:
    done = run("policy", *NAMES)
    assert done.exit_code == 0 and "written to policy.yaml" in done.output
    written = Path("policy.yaml").read_text(encoding="utf-8")
    assert yaml.safe_load(written)["files"].keys() == {path.name for path in PUBLISHED}
    assert run("verify", *NAMES, "--policy", "policy.yaml").exit_code == 0
    Path("policy.yaml").write_text(written.replace("max_delta: 0.035", "max_delta: 0.03"))
    done = run("verify", *NAMES, "--policy", "policy.yaml")
    assert done.exit_code == 1
    assert done.output.count("VIOLATED") == len(NAMES)


def test_what_a_first_policy_does_not_name_does_not_pass_unseen() -> None:
    first, *others = NAMES
    run("policy", *NAMES)
    done = run("verify", first, "--policy", "policy.yaml")
    assert done.exit_code == 1
    assert done.output.count("VIOLATED policy.yaml: files: no certificate") == len(others)
    assert run("verify", first, "--policy", "policy.yaml", "--partial").exit_code == 0
    found = json.loads(run("verify", first, "--policy", "policy.yaml", "--json").output)
    assert not found["passed"] and found["unmatched"] == [Path(name).name for name in others]
    refused(run("verify", first, "--partial"), "give --policy FILE")


def test_a_policy_is_replaced_by_force_alone() -> None:
    Path("policy.yaml").write_text("max_risk: 0.5", encoding="utf-8")
    refused(run("policy", *NAMES), "policy.yaml is already there", "--force")
    assert Path("policy.yaml").read_text(encoding="utf-8") == "max_risk: 0.5"
    done = run("policy", *NAMES, "--force", "--json")
    assert json.loads(done.output) == {"policy": "policy.yaml", "certificates": NAMES}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["forged.json"], "no policy is written: forged.json is rejected: 11.5"),
        (["absent.json"], "absent.json cannot be read"),
        ([NAMES[0], "-o", "certificates"], "already there"),
        ([NAMES[0], "-o", "forged.json/policy.yaml"], "cannot write forged.json/policy.yaml"),
        ([], "Missing argument"),
    ],
)
def test_bad_input(words: list[str], said: str) -> None:
    refused(run("policy", *words), said)
    assert not Path("policy.yaml").exists()
