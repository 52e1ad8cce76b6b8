"""Texts from files that try to steer the terminal, or to look like a line of the program's own."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from fuzzed_checkpoints import tiny_checkpoints, tiny_dataset

from pacbound.printable import printable, printable_json
from pacbound_cli import cli

ROOT = Path(__file__).parents[2]
CHECKER = ROOT / "pacbound/certificate/checker.py"
VECTOR = ROOT / "pacbound/certificate/vectors/accepted-gibbs-mnist-size.json"
TEXT = VECTOR.read_text(encoding="utf-8")
FORGED = "FORGED"
# A title, a bell, a cleared screen, new lines of every kind, the writing direction, and a control
# sequence in one character; then what would open a style or a formula.
EVIL = f"\x1b]0;t\x07\x1b[2J\r\n{FORGED}\v{FORGED}\x85{FORGED}\u2028{FORGED}\u202e\u2066\x9b1A\x7f"
EVIL = f"[red]a[/b] $\\frac$ {EVIL}"
NAME = EVIL.replace("\x00", "").replace("/", "")[:60]  # that a file may have


def run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def harmless(text: str) -> None:
    odd = {x for x in text if not x.isprintable() and x != "\n"}
    assert not odd, (odd, text[:500])
    assert not [line for line in text.split("\n") if line.startswith(FORGED)], text[:500]


def refused(result: Result) -> None:
    assert result.exit_code == 2, result.output
    harmless(result.output)
    assert len(result.stderr.strip().split("\n")) == 1, result.stderr


def hostile_certificates() -> Iterator[str]:
    """The certificate with the text in each field that is one, and as the name of each field."""

    def places(record: Any) -> Iterator[tuple[Any, Any]]:
        pairs = record.items() if isinstance(record, dict) else enumerate(record)
        for key, value in pairs:
            if isinstance(value, str):
                yield record, key
            elif isinstance(value, dict | list):
                yield from places(value)

    for number in range(len(list(places(json.loads(TEXT))))):
        record = json.loads(TEXT)
        holder, key = list(places(record))[number]
        holder[key] = EVIL
        yield json.dumps(record)
    for name in ("data", "ledger", "made"):
        record = json.loads(TEXT)
        yield json.dumps(record | {EVIL: 1})
        record[name][EVIL] = 1
        yield json.dumps(record)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, paths = tmp_path_factory.mktemp("certificates"), []
    for number, text in enumerate(hostile_certificates()):
        paths.append(folder / f"{number}.json")
        paths[-1].write_text(text, encoding="utf-8")
    paths.append(folder / f"{NAME}.json")
    paths[-1].write_text(TEXT, encoding="utf-8")
    assert len(paths) > 30
    return paths


def test_explain(certificates: list[Path]) -> None:
    for path in certificates:
        for words in ([], ["--json"]):
            result = run("explain", path, *words)
            assert result.exit_code in (0, 1), result.output
            harmless(result.output)


def test_verify_and_the_checker_alone(certificates: list[Path]) -> None:
    alone = [sys.executable, "-I", "-S", str(CHECKER), *map(str, certificates)]
    said = subprocess.run(alone, capture_output=True, check=False).stdout.decode()
    for text in (said, run("verify", *certificates).output):
        harmless(text)
        assert len(text.strip().split("\n")) == len(certificates)
    result = run("verify", *certificates, "--json")
    harmless(result.output)
    assert json.loads(result.stdout)[-1]["file"] == str(certificates[-1])


def test_report(certificates: list[Path], tmp_path: Path) -> None:
    for words in ([], ["--json"]):
        result = run("report", *certificates, "-o", tmp_path / "page.html", *words)
        assert result.exit_code == 1, result.output
        harmless(result.output)


# Checkpoints, logs and data


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained on a file whose name is hostile too."""
    folder, data = tmp_path_factory.mktemp("tiny"), tiny_dataset()
    np.savez(folder / f"{NAME}.npz", x=data.train_inputs, y=data.train_labels)
    path = tiny_checkpoints(folder)[0]
    content = torch.load(path, weights_only=True)
    content["settings"]["data"] = str(folder / f"{NAME}.npz")
    torch.save(content, path)
    return path


def test_predict_and_plot(checkpoint: Path, tmp_path: Path) -> None:
    log = tmp_path / f"{NAME}.log.jsonl"
    shutil.copy(checkpoint.with_suffix(".log.jsonl"), log)
    figure = tmp_path / "figure.svg"
    for words in ([], ["--json"]):
        result = run("predict", checkpoint, "--plot", figure, *words)
        assert result.exit_code == 0, result.output
        harmless(result.output)
        for logs in ([log], [log, log]):
            result = run("plot", *logs, "-o", figure, *words)
            assert result.exit_code == 0, result.output
            harmless(result.output)


@pytest.mark.parametrize(
    "change",
    [
        {EVIL: 1},
        {"settings": {EVIL: 1}},
        {"settings": {"posterior": EVIL}},
        {"settings": {"data": EVIL}},
        {"settings": {"model": EVIL, "network": "module"}},
        {"posterior": {EVIL: torch.zeros(1)}},
        {"format": EVIL},
    ],
    ids=["field", "setting", "posterior", "data", "model", "tensor", "format"],
)
def test_refusals_of_checkpoints(checkpoint: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    content = torch.load(checkpoint, weights_only=True)
    for name, value in change.items():
        content[name] = content[name] | value if isinstance(value, dict) else value
    torch.save(content, tmp_path / "a.pt")
    for command in ("predict", "certify"):
        refused(run(command, tmp_path / "a.pt"))


@pytest.mark.parametrize(
    "header", [f'"{EVIL}","{EVIL}",b', f'"{EVIL}",b', "a,c"], ids=["twice", "text", "none"]
)
def test_refusals_of_tables(tmp_path: Path, header: str) -> None:
    path = tmp_path / f"{NAME}.csv"
    path.write_text(f'{header}\n"{EVIL}",1\n', encoding="utf-8")
    refused(run("train", "mlp-600", "--data", path, "--label", "b", "-o", tmp_path / "a.pt"))


def test_refusals_of_logs(tmp_path: Path) -> None:
    path = tmp_path / "a.log.jsonl"
    path.write_text(json.dumps({EVIL: EVIL, "epoch": EVIL}) + "\n" + EVIL + "\n", encoding="utf-8")
    refused(run("plot", path, "-o", tmp_path / "a.svg"))


def test_json_is_the_same_when_it_is_printable() -> None:
    value = {EVIL: [EVIL, "≤ 3 %", "\ud800", "\U000e0001"]}
    for indent in (None, 1):
        text = printable_json(json.dumps(value, indent=indent, ensure_ascii=False))
        harmless(text)
        assert json.loads(text) == value
        assert "≤" in text


def test_what_is_printable_stays() -> None:
    assert printable("Größe ≤ 3 % of 名前") == "Größe ≤ 3 % of 名前"
    assert printable(EVIL).isprintable()
