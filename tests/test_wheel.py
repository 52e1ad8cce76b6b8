"""The wheel of `make dist`, installed into an empty environment, does what a checkout does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("pacbound", "cli", "pyproject.toml", "README.md", "LICENSE")

USE = """
import os, sys
import pacbound
from click.testing import CliRunner
from pacbound_cli import cli

assert pacbound.__file__.startswith(sys.prefix), pacbound.__file__

def run(*words):
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == 0, (words, result.output)
    return result.output

rows = "".join(f"{k % 2 + k / 997:.4f},{'ab'[k % 2]}\\n" for k in range(200))
open("two.csv", "w").write("x,y\\n" + rows)
run("train", "table", "--data", "two.csv", "--label", "y", "--epochs", "2", "-o", "two.pt")
run("certify", "two.pt", "--predictor", "draw", "-o", "two.json")
assert "VERIFIED" in run("verify", "two.json", "--checkpoint", "two.pt")
run("explain", "two.json")
run("report", "two.json", "-o", "report.html")
run("report", "--verifier", "verify.html")
assert "mlp-600" in run("recipes")
assert "wdbc" in run("data", "list")
assert "k-linear" in run("bandit", "--help")
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by the command of `make dist`, from a copy, so that nothing is left in the checkout."""
    source = tmp_path_factory.mktemp("source")
    for name in PARTS:
        part = ROOT / name
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        if part.is_dir():
            shutil.copytree(part, source / name, ignore=ignored)
        else:
            shutil.copy(part, source / name)
    (line,) = re.findall(r"-m (pip wheel .*)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", *line.split(), "--no-index"]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (source / "dist").glob("*.whl")
    return made


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    for folder, package in ((ROOT, "pacbound"), (ROOT / "cli", "pacbound_cli")):
        for path in (folder / package).rglob("*"):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and "__pycache__" not in name:
                assert name in inside, name
    assert not [name for name in inside if name.startswith(("tests", "docs", "benchmarks"))]


def test_it_runs_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """The dependencies are those of the environment that runs the test; pacbound itself is not."""
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    install = ["pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", *install], check=True)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    options = {"cwd": tmp_path, "env": clean, "capture_output": True, "text": True}
    done = subprocess.run([python, "-c", USE], check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    vector = packages / "pacbound/certificate/vectors/accepted-spec-b-gibbs.json"
    said = subprocess.run([home / "bin" / "pacbound", "verify", vector], check=True, **options)
    assert said.stdout.startswith("VERIFIED")
    assert (home / "bin" / "pacbound").read_text(encoding="utf-8").startswith(f"#!{python}")
