"""The recorded run: parts are kept, found again, and belong to the code that made them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run.py")


def run(*arguments: object) -> str:
    command = [sys.executable, str(RUN), *map(str, arguments), "--workers", "1"]
    roots = [str(RUN.parents[2]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, roots))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_parts_are_kept_and_found_again(tmp_path: Path) -> None:
    kept = tmp_path / "new" / "fuzz.jsonl"
    first = run(20, 0, "--kept", kept)
    assert "1 parts, 0 of them kept" in first
    assert "PASSED certificates: 20 mutants, 0 complaints" in first.splitlines()[-1]
    whole = kept.read_text()
    kept.write_text(whole + whole[:40])  # stopped while a line was written
    again = run(20, 0, "--kept", kept)
    assert "1 parts, 1 of them kept" in again
    assert again.splitlines()[-1] == first.splitlines()[-1]
    assert "0 of them kept" in run(20, 0, "--kept", kept, "--seed", 1)
    assert len([x for x in kept.read_text().splitlines() if x.endswith("}")]) == 2
    kept.write_text(whole.replace('"identity": "', '"identity": "0'))
    assert "0 of them kept" in run(20, 0, "--kept", kept)  # of other checkers
