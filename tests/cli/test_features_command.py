"""`features` as a user meets it: the file, what is resumed, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import load
from pacbound.networks.digests import module_digest
from pacbound.networks.factory import module_from
from pacbound_cli import cli

MODULE = """
import os, torch
from torch import nn

class Extractor(nn.Module):
    def __init__(self, side):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(side * side, 5)
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        if self.calls == int(os.environ.get("STOP_AT", 0)):
            raise KeyboardInterrupt
        return torch.relu(self.layer(x.flatten(1)))

def frozen(input_shape):
    return Extractor(input_shape[0])

def batchwise():
    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(16, track_running_stats=False))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "seen_elsewhere.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def run(data: object, *more: object, extractor: str = "seen_elsewhere:frozen") -> Result:
    words = ["features", "--extractor", extractor, "--data", data, "--batch", 4]
    return CliRunner().invoke(cli, [*map(str, words), *map(str, more)])


WHOLE = ("--origin", "other images", "-o", "f.npz")


def test_the_file_trains_and_the_json_says_what_is_in_it(folder: Path, tiny_file: Path) -> None:
    result = run(tiny_file, *WHOLE, "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    data, raw = load("f.npz"), load(str(tiny_file))
    assert (record["m"], record["test_m"], record["shape"]) == (raw.m, 200, [5])
    assert record["sha256"] == data.sha256
    module = module_from("seen_elsewhere:frozen", raw.input_shape, raw.classes)
    assert record["extractor_sha256"] == data.extractor_sha256 == module_digest(module)
    assert data.extractor_origin == "other images"
    assert [path.name for path in folder.glob("f.npz*")] == ["f.npz"]  # no chunks are left
    words = ["train", "table", "--data", "f.npz", "--epochs", "1", "-o", "head.pt"]
    assert CliRunner().invoke(cli, words).exit_code == 0


def test_ctrl_c_keeps_what_is_done(
    folder: Path, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOP_AT", "100")
    result = run(tiny_file, *WHOLE)
    assert result.exit_code == 130
    assert "of 800 examples done; the same command continues" in result.stderr
    assert not Path("f.npz").exists() and Path("f.npz.chunks").is_dir()
    monkeypatch.delenv("STOP_AT")
    result = run(tiny_file, *WHOLE, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["kept"] == 320
    again = run(tiny_file, "--origin", "other images", "-o", "g.npz")
    assert "5 features of 600 training and 200 test examples" in again.stdout
    assert load("f.npz").sha256 == load("g.npz").sha256


def test_bad_input_gets_one_line_and_leaves_nothing(folder: Path, tiny_file: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    refused(run(tiny_file, "--origin", "x", "-o", "f.csv"), ".npz file")
    refused(run(tiny_file, "--origin", " ", "-o", "f.npz"), "origin")
    refused(run("missing.npz", *WHOLE), "no file missing.npz")
    refused(run(tiny_file, *WHOLE, extractor="seen_elsewhere"), "package.module:factory")
    refused(run(tiny_file, *WHOLE, extractor="seen_elsewhere:none"), "has no 'none'")
    refused(run(tiny_file, *WHOLE, extractor="seen_elsewhere:batchwise"), "shape (1, 4, 4)")
    (folder / "no.npz").mkdir()
    refused(run(tiny_file, "--origin", "x", "-o", "no.npz"), "it is a folder")
    after = sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")
    assert [name for name in after if name != "no.npz"] == before


def test_chunks_of_another_extractor_are_refused(
    folder: Path, tiny_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STOP_AT", "100")
    run(tiny_file, *WHOLE)
    monkeypatch.delenv("STOP_AT")
    np.savez("other.npz", x=np.zeros((8, 4, 4), np.float32), y=np.arange(8) % 2)
    refused(run("other.npz", *WHOLE), "f.npz.chunks has chunks of other data")
