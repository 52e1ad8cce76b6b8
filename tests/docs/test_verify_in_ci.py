"""The GitHub action and the pre-commit hook, run as GitHub and pre-commit run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from page_examples import ROOT, blocks

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
VECTORS = ROOT / "pacbound/certificate/vectors"
VALID = json.loads((VECTORS / "accepted-spec-b-gibbs.json").read_text(encoding="utf-8"))


def put_certificate(path: Path, **changes: Any) -> None:
    record = {**VALID, **changes}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    put_certificate(tmp_path / "certificates" / "good.json")
    put_certificate(tmp_path / "certificates" / "deep" / "with space.json")
    put_certificate(tmp_path / "forged" / "100%, bad.json", delta="0.01")
    (tmp_path / "forged" / "junk.json").write_text("no JSON")
    (tmp_path / "strict.yaml").write_text("max_risk: 0.01\n")
    (tmp_path / "loose.yaml").write_text("max_risk: 0.9\n")
    (tmp_path / "absent.yaml").write_text("max_risk: 0.9\nfiles: {absent.json: {max_risk: 1}}\n")
    (tmp_path / "net.pt").write_bytes(b"PK" + bytes(100))
    (tmp_path / "wrong.yaml").write_text("max_rsk: 0.9\n")
    return tmp_path


def act(folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the steps of the action with these inputs, underscores for dashes."""
    given = {name: field["default"] for name, field in ACTION["inputs"].items()}
    given |= {name.replace("_", "-"): value for name, value in inputs.items()}
    assert set(given) == set(ACTION["inputs"])
    (step,) = ACTION["runs"]["steps"]
    assert step["shell"] == "bash"
    assert "${{" not in step["run"], "an input in the script's text could be a command"
    contexts = {f"inputs.{name}": value for name, value in given.items()}
    contexts["github.action_path"] = str(ROOT)
    env = {
        name: re.sub(r"\$\{\{ (.+?) \}\}", lambda found: contexts[found[1]], value)
        for name, value in step["env"].items()
    }
    script = folder / "script.sh"
    script.write_text(step["run"], encoding="utf-8")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **env},
        capture_output=True,
        text=True,
        check=False,
    )


def annotations(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stdout.splitlines() if line.startswith("::error")]


@pytest.mark.parametrize(
    ("inputs", "files"),
    [
        ({}, ["certificates/good.json"]),
        ({"max_risk": "0.9"}, ["certificates/good.json"]),
        ({"max_class_risk": "0.4"}, ["certificates/good.json"]),
        ({"policy": "loose.yaml"}, ["certificates/good.json"]),
        (
            {"certificates": "certificates/**/*.json\n"},
            ["certificates/deep/with space.json", "certificates/good.json"],
        ),
        (
            {"certificates": "certificates/good.json\n\ncertificates/deep/with space.json"},
            ["certificates/good.json", "certificates/deep/with space.json"],
        ),
    ],
)
def test_good_certificates_pass(folder: Path, inputs: dict[str, str], files: list[str]) -> None:
    done = act(folder, **inputs)
    assert done.returncode == 0, done.stdout + done.stderr
    checked = re.findall(r"^VERIFIED (.*?): with", done.stdout, re.MULTILINE)
    assert checked == files
    assert not annotations(done)


@pytest.mark.parametrize(
    ("inputs", "exit_code", "annotation"),
    [
        (
            {"max_risk": "0.01"},
            1,
            "::error file=certificates/good.json,title=rejected certificate::its risk bound",
        ),
        (
            {"max_class_risk": "0.3"},
            1,
            "::error file=certificates/good.json,title=rejected certificate::its risk bound",
        ),
        (
            {"certificates": "certificates/*.json\nforged/1*.json"},
            1,
            "::error file=forged/100%25%2C bad.json,title=rejected certificate::6.1 the shares",
        ),
        (
            {"certificates": "forged/junk.json"},
            2,
            "::error file=forged/junk.json,title=rejected certificate::1.4 not JSON",
        ),
        ({"certificates": "absent.json"}, 2, "::error file=absent.json"),
        (
            {"certificates": "certificates/*.json\nnothing/*.json"},
            2,
            "::error title=pacbound verify::no file matches nothing/*.json",
        ),
        ({"certificates": " \n".strip()}, 2, "::error title=pacbound verify::the input"),
        ({"checkpoint": "forged/junk.json"}, 1, "::error file=certificates/good.json"),
        (
            {"policy": "strict.yaml"},
            1,
            "::error file=certificates/good.json,title=violated policy::max_risk: the bound",
        ),
        (
            {"policy": "loose.yaml", "certificates": "forged/1*.json"},
            1,
            "::error file=forged/100%25%2C bad.json,title=rejected certificate::6.1 the shares",
        ),
        (
            {"policy": "absent.yaml"},
            1,
            "::error file=absent.yaml,title=violated policy::files: no certificate that was given",
        ),
        ({"python": "no-such-python"}, 2, "::error title=pacbound verify::no-such-python is not"),
    ],
)
def test_what_does_not_pass_is_annotated(
    folder: Path, inputs: dict[str, str], exit_code: int, annotation: str
) -> None:
    done = act(folder, **inputs)
    assert done.returncode == exit_code, done.stdout + done.stderr
    (line,) = annotations(done)
    assert line.startswith(annotation)


def test_a_wrong_limit_is_an_error(folder: Path) -> None:
    done = act(folder, max_risk="25")
    assert done.returncode == 2
    assert "--max-risk must be in [0, 1]" in done.stderr


def test_every_violated_rule_is_annotated(folder: Path) -> None:
    (folder / "strict.yaml").write_text("max_risk: 0.01\nmax_looks: 1\n")
    done = act(folder, policy="strict.yaml")
    assert done.returncode == 1
    assert [line.split("::")[2].split(":")[0] for line in annotations(done)] == [
        "max_risk",
        "max_looks",
    ]


def test_a_wrong_policy_is_an_error(folder: Path) -> None:
    done = act(folder, policy="wrong.yaml")
    assert done.returncode == 2
    assert "did you mean 'max_risk'?" in done.stderr
    assert act(folder, policy="$(touch owned)").returncode == 2
    assert not (folder / "owned").exists()


def test_a_file_of_tensors_is_an_error(folder: Path) -> None:
    for policy in ("", "loose.yaml"):
        done = act(folder, checkpoint="net.pt", policy=policy)
        assert done.returncode == 2
        assert "net.pt: a file of tensors needs `pacbound verify --checkpoint`" in done.stderr


def test_inputs_and_certificates_are_no_commands(folder: Path) -> None:
    assert act(folder, certificates="$(touch owned)\n`touch owned`").returncode == 2
    assert act(folder, python="python3; touch owned").returncode == 2
    assert not (folder / "owned").exists()
    record = {**VALID, "data": VALID["data"] | {"name": "##[error]x"}}
    (folder / "certificates" / "good.json").write_text(json.dumps(record), encoding="utf-8")
    lines = act(folder).stdout.splitlines()
    (stop,) = [line for line in lines if line.startswith("::stop-commands::")]
    end = f"::{stop.removeprefix('::stop-commands::')}::"
    said = [place for place, line in enumerate(lines) if "##[error]x" in line]
    assert said and all(lines.index(stop) < place < lines.index(end) for place in said)


def test_the_page_uses_inputs_that_there_are() -> None:
    used: set[str] = set()
    for page in ("README.md", "docs/continuous-integration.md"):
        text = "\n".join(block.text for block in blocks(page) if block.language == "yaml")
        assert "uses: OWNER/pacbound@TAG" in text
        used |= set(
            re.findall(r"\b(certificates|max-risk|max-class-risk|checkpoint|policy|python): ", text)
        )
    assert used <= set(ACTION["inputs"])
    table = (ROOT / "docs/continuous-integration.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in table for name in ACTION["inputs"])


# pre-commit ---------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.autocrlf=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what the hook is made of, as it is in the checkout."""
    folder = tmp_path_factory.mktemp("hooks")
    for path in (
        ROOT / ".pre-commit-hooks.yaml",
        ROOT / "pacbound/__init__.py",
        ROOT / "pacbound/errors.py",
        ROOT / "pacbound/printable.py",
        ROOT / "pacbound/certificate/__init__.py",
        ROOT / "pacbound/certificate/checker.py",
        *(ROOT / "pacbound/policy").glob("*.py"),
    ):
        place = folder / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)  # with its mode
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "hooks")
    return folder


def pre_commit(
    folder: Path, hooks: Path, page: str = "docs/continuous-integration.md"
) -> subprocess.CompletedProcess[str]:
    """Run the hook of a page's own configuration on all files."""
    (text,) = [
        block.text
        for block in blocks(page)
        if block.language == "yaml" and "pacbound-verify" in block.text
    ]
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=hooks, capture_output=True, text=True, check=True
    ).stdout.strip()
    text = text.replace("https://github.com/OWNER/pacbound", str(hooks)).replace("TAG", revision)
    (folder / ".pre-commit-config.yaml").write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    env = {**os.environ, "PRE_COMMIT_HOME": str(folder.parent / "pre-commit"), "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_hook_lets_good_certificates_pass(tmp_path: Path, hooks: Path) -> None:
    put_certificate(tmp_path / "repository" / "certificates" / "good one.json")
    done = pre_commit(tmp_path / "repository", hooks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_the_hook_stops_what_is_forged_and_ignores_other_files(tmp_path: Path, hooks: Path) -> None:
    repository = tmp_path / "repository"
    put_certificate(repository / "elsewhere" / "data.json", delta="0.01")
    done = pre_commit(repository, hooks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no files to check" in done.stdout
    put_certificate(repository / "certificates" / "forged.json", delta="0.01")
    done = pre_commit(repository, hooks)
    assert done.returncode == 1
    assert "REJECTED certificates/forged.json: 6.1 the shares" in done.stdout
    assert "elsewhere" not in done.stdout


def test_the_hook_takes_a_policy(tmp_path: Path, hooks: Path) -> None:
    repository = tmp_path / "repository"
    put_certificate(repository / "certificates" / "good.json")
    # The commit has one of the certificates that the policy names.
    (repository / "policy.yaml").write_text("max_risk: 0.9\nfiles: {other.json: {max_risk: 1}}\n")
    done = pre_commit(repository, hooks, "docs/policies.md")
    assert done.returncode == 0, done.stdout + done.stderr
    (repository / "policy.yaml").write_text("max_risk: 0.01\n")
    done = pre_commit(repository, hooks, "docs/policies.md")
    assert done.returncode == 1
    assert "VIOLATED certificates/good.json: max_risk: the bound" in done.stdout
