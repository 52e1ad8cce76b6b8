"""Every benchmark runs with `--quick`: on tiny sizes, without a data set and without a network.

A benchmark is a file of `benchmarks/` with a `main`. The others are what benchmarks share, and must
be imported by one: a script without a `main` does not go untested.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from warm_python import WarmPython

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(FOLDER.glob("*.py"))
LONGEST = 1800  # seconds, for what takes a few alone: a busy machine is not a fault


def is_benchmark(file: Path) -> bool:
    return re.search(r"^def main\(", file.read_text(encoding="utf-8"), re.MULTILINE) is not None


BENCHMARKS = [file for file in FILES if is_benchmark(file)]


def run_quick(file: Path, folder: Path, python: WarmPython) -> None:
    """Run a benchmark with `--quick` in an empty folder; fail if anything is wrong with that."""
    assert "--quick" in file.read_text(encoding="utf-8"), f"{file.name} does not know --quick"
    work, data = folder / "work", folder / "data"
    work.mkdir()
    environment = {
        **os.environ,
        "PACBOUND_DATA": str(data),  # where no data set is
        "http_proxy": "http://127.0.0.1:9",  # where nobody listens
        "https_proxy": "http://127.0.0.1:9",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, file, "--quick"]
    done = python.run(command, cwd=work, env=environment, timeout=LONGEST)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), f"{file.name} prints nothing"
    assert not list(work.iterdir()), f"{file.name} leaves files"
    assert not data.exists(), f"{file.name} gets a data set"


@pytest.mark.parametrize("file", BENCHMARKS, ids=lambda file: file.stem)
def test_benchmark_runs_quickly(file: Path, tmp_path: Path, warm_python: WarmPython) -> None:
    run_quick(file, tmp_path, warm_python)


def test_there_are_benchmarks() -> None:
    assert len(BENCHMARKS) >= 9


@pytest.mark.parametrize("file", sorted({*FILES} - {*BENCHMARKS}), ids=lambda file: file.stem)
def test_shared_code_is_imported(file: Path) -> None:
    line = re.compile(rf"^\s*from {file.stem} import ", re.MULTILINE)
    assert any(line.search(each.read_text(encoding="utf-8")) for each in BENCHMARKS)


WITHOUT_QUICK = {
    "print(0)": "does not know --quick",
    "argparse.ArgumentParser(description='not yet: --quick').parse_args()": "unrecognized",
    "print(end='--quick'[:0])": "prints nothing",
    "open('--quick.txt', 'w').close(), print(0)": "leaves files",
}


@pytest.mark.parametrize(("text", "flaw"), WITHOUT_QUICK.items(), ids=WITHOUT_QUICK.values())
def test_other_benchmarks_fail(
    text: str, flaw: str, tmp_path: Path, warm_python: WarmPython
) -> None:
    file = tmp_path / "new.py"
    file.write_text(f"import argparse\ndef main():\n    {text}\nmain()\n", encoding="utf-8")
    assert is_benchmark(file)
    with pytest.raises(AssertionError, match=flaw):
        run_quick(file, tmp_path, warm_python)
