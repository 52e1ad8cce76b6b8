"""`train --model`, `certify --model` and tables, as a user meets them."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused

from pacbound.data import Dataset
from pacbound_cli import cli

CODE = """
from torch import nn
open("imported", "a").write("x")
def network(input_shape, classes):
    return nn.Sequential(
        nn.Unflatten(1, (1, -1)), nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.GroupNorm(2, 4),
        nn.ReLU(), nn.Flatten(), nn.Linear(64, classes))
def other(classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(16, classes))
def batch_norm():
    return nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.BatchNorm1d(3))
"""
FAST = ["--epochs", 2, "--set", "batch=100", "--set", "learning_rate=0.02"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_networks.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.delitem(sys.modules, "own_networks", raising=False)
    return tmp_path


@pytest.fixture
def trained(folder: Path, tiny_file: Path) -> Path:
    path = folder / "mine.pt"
    result = run("train", "--model", "own_networks:network", "--data", tiny_file, *FAST, "-o", path)
    assert result.exit_code == 0, result.output
    assert f"next: pacbound certify {path} --model own_networks:network" in result.stdout
    return path


def test_train_certify_verify_export_predict(trained: Path, folder: Path) -> None:
    model = ["--model", "own_networks:network"]
    certify = ["certify", trained, *model, "--weights", 100]
    assert run(*certify, "-o", "a.json").exit_code == 0
    assert run("verify", "a.json", "--checkpoint", trained).exit_code == 0
    record = json.loads(Path("a.json").read_text())
    assert record["made"]["settings"]["model"] == "own_networks:network"
    assert record["claims"][0]["sampler"] in ("per-example", "per-weights")
    draw = ["certify", trained, *model, "--predictor", "draw", "--export", "net.pt", "-o", "b.json"]
    result = run(*draw)
    assert result.exit_code == 0, result.output
    assert set(torch.load("net.pt", weights_only=True)) == {
        "1.weight",
        "2.weight",
        "2.bias",
        "5.weight",
        "5.bias",
    }
    assert run("predict", trained, *model, "--samples", 2).exit_code == 0


def test_the_exported_network_counts_the_certificates_errors(
    trained: Path, tiny_data: Dataset
) -> None:
    from pacbound.networks.factory import module_from
    from pacbound.predictors.export import load_exported
    from pacbound.predictors.risk import is_error

    options = ["--predictor", "draw", "--export", "net.pt", "-o", "b.json"]
    assert run("certify", trained, "--model", "own_networks:network", *options).exit_code == 0
    module = module_from("own_networks:network", (4, 4), 3)
    logits = load_exported(Path("net.pt"), module)(tiny_data.train_inputs)
    wrong = is_error(logits, torch.from_numpy(tiny_data.train_labels)).sum()
    assert json.loads(Path("b.json").read_text())["claims"][0]["errors"] == wrong


def test_the_training_command_makes_the_checkpoint_again(trained: Path) -> None:
    options = ["--model", "own_networks:network", "--weights", 100, "-o", "a.json"]
    assert run("certify", trained, *options).exit_code == 0
    command = json.loads(Path("a.json").read_text())["made"]["training_command"]
    first = trained.read_bytes()
    trained.unlink()
    program, *words = shlex.split(command)
    assert program == "pacbound"
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert trained.read_bytes() == first


def test_a_run_continues_with_resume(trained: Path, tiny_file: Path) -> None:
    words = ["train", "--model", "own_networks:network", "--data", tiny_file, *FAST, "-o", trained]
    refused(run(*words), "--resume")
    assert run(*words, "--resume").exit_code == 0
    refused(run(*words, "--resume", "--seed", 3), "other settings")


def test_a_checkpoint_does_not_make_us_run_code(trained: Path, folder: Path) -> None:
    """Whatever a checkpoint names, nothing is imported unless the user names it."""
    del sys.modules["own_networks"]
    (folder / "imported").unlink()
    words = ["--model own_networks:network", "runs code"]
    refused(run("certify", trained, "-o", "a.json"), *words)
    refused(run("predict", trained), *words)
    refused(run("rotate", trained, "--digits", "0"), *words)
    assert not (folder / "imported").exists()
    assert "own_networks" not in sys.modules
    assert not (folder / "a.json").exists()


def test_models_that_are_refused(trained: Path, tiny_file: Path, folder: Path) -> None:
    certify = ["certify", trained, "-o", "a.json"]
    refused(
        run(*certify, "--model", "own_networks:other"),
        "layers differ from the settings",
        "structure",
    )
    refused(run(*certify, "--model", "own_networks:none"), "has no 'none'")
    train = ["train", "--data", tiny_file, "-o", "b.pt"]
    refused(run(*train, "--model", "own_networks:batch_norm"), "'2' (BatchNorm1d)", "statistics")
    refused(run(*train, "--model", "own_networks"), "package.module:factory")
    refused(run(*train, "--model", "nowhere:f"), "cannot import nowhere")
    refused(run(*train), "RECIPE", "--model")
    refused(run(*train, "module"), "--model")
    refused(run("train", "mlp-600", *train[1:], "--model", "own_networks:other"), "network module")
    forged = ["--set", f"structure={'a' * 64}"]
    refused(
        run(*train, "--model", "own_networks:other", *forged), "layers differ from the settings"
    )
    assert not (folder / "a.json").exists()
    assert not (folder / "b.pt").exists()
    assert not (folder / "b.log.jsonl").exists()


def test_a_built_in_network_takes_no_model(folder: Path, tiny_file: Path) -> None:
    small = ["--set", "hidden=[8]", *FAST]
    assert run("train", "mlp-600", "--data", tiny_file, *small, "-o", "m.pt").exit_code == 0
    refused(run("certify", "m.pt", "--model", "own_networks:network"), "built-in")


def test_a_table(folder: Path) -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 300)
    values = labels[:, None] + 0.3 * generator.normal(size=(300, 3))
    rows = [[*map(str, row), "pq"[label]] for row, label in zip(values, labels, strict=True)]
    lines = ["a,b,c,kind", *(",".join(row) for row in rows)]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    table = ["--data", "table.csv", "--label", "kind"]
    small = [*FAST, "--set", "hidden=[8]", "--set", "smoothing=0", "--set", "hidden_bias=0"]
    result = run("train", "mlp-600", *table, *small, "-o", "t.pt")
    assert result.exit_code == 0, result.output
    assert run("certify", "t.pt", "--draws", 3000, "-o", "t.json").exit_code == 0
    record = json.loads((folder / "t.json").read_text())
    assert record["data"]["name"] == "table (kind: p, q)"
    assert (record["data"]["m"], record["data"]["classes"]) == (300, 2)
    assert "--label kind" in record["made"]["training_command"]
    assert run("predict", "t.pt", "--samples", 2).exit_code == 0
    refused(run("train", "mlp-600", "--data", "table.csv", *small, "-o", "u.pt"), "--label")
    (folder / "text.csv").write_text("city,y\nOslo,0\nRome,1\n")
    wrong = ["train", "mlp-600", "--data", "text.csv", "--label", "y", "-o", "u.pt"]
    refused(run(*wrong), "column 'city' holds text")
    assert not (folder / "u.pt").exists()
