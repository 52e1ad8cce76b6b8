"""What people expect of a repository is there, and agrees with the code."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import pacbound

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pacbound"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMED = set(re.findall(r"`([\w./-]+)`", ARCHITECTURE))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
FOLDERS = sorted(
    {path.parent for path in PACKAGE.rglob("*") if path.suffix in (".py", ".json")} - {PACKAGE}
)


def read_yaml(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    ["ARCHITECTURE.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md"],
)
def test_the_file_is_there(name: str) -> None:
    assert (ROOT / name).stat().st_size > 500


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    for part in ("Install", "Two commands", "A first certificate", "Your own model", "In CI"):
        assert f"\n## {part}\n" in text
    assert text.count("|---|---|---|---|") == 1  # the results are one table


def test_no_registry_is_named() -> None:
    """Packages are fetched by their clients, with the settings of the user."""
    hosts = ("pypi" + ".org", "npmjs" + ".org", "deb.debian" + ".org", "pythonhosted" + ".org")
    for folder in ("pacbound", "cli", "docs", "tests", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".md", ".yaml", ".toml", ".html", ".js"):
                text = path.read_text(encoding="utf-8")
                assert not [host for host in hosts if host in text], path


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_architecture_names_the_folder(folder: Path) -> None:
    assert f"{folder.relative_to(ROOT).as_posix()}/" in NAMED


def test_the_paths_of_the_architecture_exist() -> None:
    paths = [name for name in NAMED if "/" in name]
    assert len(paths) > 60
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_registrations_that_the_architecture_names_are_in_their_files() -> None:
    found = re.findall(
        r"`(register|TUPLES|TABLES|FLOWS|LAYERS|build|engine_for)\b[^`]*` (?:of|in)\s`([\w./]+)`",
        ARCHITECTURE,
    )
    assert len(found) >= 10
    for name, path in found:
        assert name in (ROOT / path).read_text(encoding="utf-8"), path


def test_the_citation_is_of_this_version() -> None:
    citation = read_yaml("CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert citation["version"] == pacbound.__version__ == PYPROJECT["project"]["version"]
    assert citation["license"] == PYPROJECT["project"]["license"]
    (paper,) = citation["references"]
    assert paper["title"] == "Stochastic Neural Network with Kronecker Flow"
    assert [author["family-names"] for author in paper["authors"]][::5] == ["Huang", "Courville"]


def test_the_changelog_has_this_version_and_what_comes_next() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## \[(.+?)\]", text, re.MULTILINE)
    assert titles[0] == "Unreleased"
    assert pacbound.__version__ in titles


def test_the_workflow_runs_the_tests_on_python_from_the_oldest_on() -> None:
    workflow = read_yaml(".github/workflows/test.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML 1.1 reads `on` so
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    assert "make test" in [step.get("run") for step in job["steps"]]
    versions = job["strategy"]["matrix"]["python"]
    assert PYPROJECT["project"]["requires-python"] == f">={versions[0]}"
    for classifier in PYPROJECT["project"]["classifiers"]:
        if found := re.search(r"Python :: (3\.\d+)$", classifier):
            assert found[1] in versions
    assert "secrets" not in (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")


def test_hooks_of_the_repository_are_lint_types_and_certificates() -> None:
    (repository,) = read_yaml(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert set(hooks) == {"ruff-check", "ruff-format", "mypy", "certificates"}
    program = shlex.split(hooks["certificates"]["entry"])[0]
    assert (ROOT / program).exists()
    pattern = hooks["certificates"]["files"]
    published = list((ROOT / "certificates").glob("*.json"))
    assert published
    assert all(re.search(pattern, path.relative_to(ROOT).as_posix()) for path in published)


@pytest.mark.parametrize("package", ["pacbound", "pacbound_cli"])
def test_types_are_shipped(package: str) -> None:
    folder = PACKAGE if package == "pacbound" else ROOT / "cli" / package
    assert (folder / "py.typed").exists()
    assert "py.typed" in PYPROJECT["tool"]["setuptools"]["package-data"][package]
