"""`train --prior-weights` as a user meets it, for a recipe's network and for a module."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result
from refusals import refused
from torch import nn

from pacbound_cli import cli

CODE = """
import math
from torch import nn

def network(input_shape, classes):
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(input_shape), 4), nn.BatchNorm1d(4), nn.ReLU(),
        nn.Linear(4, classes),
    )
"""
ORIGIN = ("--origin", "digits of 2019")
SMALL = ("--epochs", "1", "--set", "batch=100", "--posterior", "diag")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pretrained_code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pretrained_code", raising=False)
    return tmp_path


def test_a_recipe_starts_from_given_weights(tiny_file: Path, folder: Path) -> None:
    """Trained twice by the recorded command, it is the same; only its own values are drawn."""
    hidden = ("--set", "hidden=[8]", "--set", "hidden_bias=0", "--set", "smoothing=0")
    first = run("train", "mlp-600", "--data", tiny_file, *hidden, *SMALL, "-o", "a.pt")
    assert first.exit_code == 0, first.output
    exported = run("certify", "a.pt", "--predictor", "draw", "--export", "a-net.pt", "-o", "a.json")
    assert exported.exit_code == 0, exported.output
    second = run(
        "train",
        "mlp-600",
        "--data",
        tiny_file,
        *hidden,
        *SMALL,
        "--prior-weights",
        "a-net.pt",
        *ORIGIN,
        "--freeze",
        "*.bias",
        "-o",
        "b.pt",
    )
    assert second.exit_code == 0, second.output
    issued = run("certify", "b.pt", "--predictor", "draw", "-o", "b.json")
    assert issued.exit_code == 0, issued.output
    assert "declared to be free of the counted examples (“digits of 2019”)" in issued.output
    assert run("verify", "b.json", "--checkpoint", "b.pt").exit_code == 0
    certificate = json.loads(Path("b.json").read_text())
    assert certificate["prior"]["kind"] == "elsewhere"
    assert certificate["model"]["frozen"] == 8 + certificate["data"]["classes"]
    command = certificate["made"]["settings"]
    assert command["origin"] == "digits of 2019"
    for words in ("--prior-weights a-net.pt", "--origin 'digits of 2019'", "--freeze '*.bias'"):
        assert words in json.dumps(certificate["made"]), words


def test_bad_weights(tiny_file: Path, folder: Path) -> None:
    def attempt(*options: object) -> Result:
        words = ["--model", "pretrained_code:network", "--data", tiny_file, *SMALL]
        return run("train", *words, *options, "-o", "c.pt")

    state = nn.Sequential(nn.Flatten(), nn.Linear(3, 2)).state_dict()
    torch.save(state, "other.pt")
    Path("junk.pt").write_bytes(b"no weights")
    torch.save([1, 2], "list.pt")
    given = ("--prior-weights", "other.pt")
    refused(attempt(*given, *ORIGIN), "do not fit the network", "1.weight has shape (2, 3)")
    refused(attempt("--prior-weights", "junk.pt", *ORIGIN), "junk.pt")
    refused(attempt("--prior-weights", "list.pt", *ORIGIN), "no state dict")
    refused(attempt("--prior-weights", "gone.pt", *ORIGIN), "gone.pt")
    refused(attempt(*given), "--prior-weights and --origin go together")
    refused(attempt(*ORIGIN), "--prior-weights and --origin go together")
    refused(attempt("--freeze", "1.*"), "declare its origin")
    refused(attempt(*given, *ORIGIN, "--prior", "learned"), "leave out --prior")
    refused(attempt(*given, *ORIGIN, "--freeze", "features.*"), "matches no tensor")
    refused(attempt(), "BatchNorm1d", "--prior learned", "--prior-weights")
    assert not Path("c.pt").exists()
