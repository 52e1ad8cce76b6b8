"""States of training that do not fit: refused in one line when training is to go on from them."""

from __future__ import annotations

import copy
import dataclasses
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from fuzzed_checkpoints import FIELDS, tiny_dataset
from torch import Tensor

from pacbound.errors import PacboundError
from pacbound.recipes import Settings, recipe
from pacbound.training.learned_prior import learn_prior
from pacbound.training.loop import train
from pacbound_cli import cli

SETTINGS = recipe("mlp-600", FIELDS)
FLOW = {"posterior": "k-nonlinear", "flow_hidden": (2,), "flow_steps": 1}
RUNS: dict[str, dict[str, Any]] = {
    "averaged": {"posterior": "diag", "epochs": 2, "averaging": 0.9},
    "flow": {**FLOW, "epochs": 2, "linear_epochs": 0},
    "trained": {"epochs": 2, "objective": "catoni-trained", "prior_variance": "trained"},
    "elbo": {"posterior": "diag", "epochs": 2, "objective": "elbo", "prior_variance": "fixed"},
}


class _Stopped(Exception):
    pass


def places(content: Any) -> Iterator[tuple[Any, Any]]:
    """Every container in it, with each of its keys or indices."""
    pairs = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in list(pairs):
        yield content, key
        if isinstance(value, dict | list):
            yield from places(value)


def odd(value: Any, draw: random.Random) -> Any:
    """Another value for this one: of another kind, shape or type, or one that cannot be."""
    choices: list[Any] = [None, "x", -1, 10**9, 10**30, 0.5, float("nan"), [], {}, [[]], True]
    choices += [torch.zeros(()), torch.zeros(3, 1, 2), {"x": 1}, [torch.ones(1)] * 3, ()]
    if isinstance(value, Tensor):
        kind = value.dtype
        choices += [value.long(), value.double(), value.unsqueeze(0), value.flatten()[:1]]
        choices += [torch.full_like(value, x) for x in (-1, 0)]
        choices += [value[:0] if value.ndim else value, value.new_zeros(value.shape)]
        if kind.is_floating_point:
            choices += [torch.full_like(value, x) for x in (1e38, -1e38, 1e-45, torch.nan, 100)]
    if isinstance(value, list):
        choices += [value + value, value[:-1]]
    return draw.choice(choices)


def mutated(content: Any, draw: random.Random) -> Any:
    content = copy.deepcopy(content)
    holder, key = draw.choice(list(places(content)))
    if draw.random() < 0.15:
        del holder[key]
    else:
        holder[key] = odd(holder[key], draw)
    return content


def outcomes(
    path: Path, use: Callable[[], object], part: str | None, count: int
) -> tuple[int, list[str]]:
    """How many mutants of a file are refused; and a complaint about each that crashes."""
    draw, refused, complaints = random.Random(0), 0, []
    content = torch.load(path, weights_only=True)
    for number in range(count):
        changed = mutated(content if part is None else content[part], draw)
        torch.save(changed if part is None else content | {part: changed}, path)
        try:
            use()
        except PacboundError as error:
            refused += 1
            if "\n" in str(error) or len(str(error)) > 400:
                complaints.append(f"{number}: not one line: {str(error)[:300]!r}")
        except Exception as error:  # the very thing that is looked for
            complaints.append(f"{number}: {type(error).__name__}: {error}")
    return refused, complaints


def unfinished(settings: Settings, path: Path) -> None:
    def stop(record: object) -> None:
        raise _Stopped

    with pytest.raises(_Stopped):
        train(settings, tiny_dataset(), path, on_epoch=stop)


@pytest.mark.parametrize("name", RUNS)
def test_no_mutated_training_state_crashes(name: str, tmp_path: Path) -> None:
    settings, path = dataclasses.replace(SETTINGS, **RUNS[name]), tmp_path / "a.pt"
    unfinished(settings, path)
    use = lambda: train(settings, tiny_dataset(), path, resume=True)  # noqa: E731
    refused, complaints = outcomes(path, use, "training", 40)
    assert complaints == []
    assert refused > 15


@pytest.mark.parametrize("epoch", [-5, 0, 2, 10**9])
def test_an_epoch_that_is_none_is_refused(epoch: int, tmp_path: Path) -> None:
    settings, path = dataclasses.replace(SETTINGS, **RUNS["averaged"]), tmp_path / "a.pt"
    unfinished(settings, path)
    content = torch.load(path, weights_only=True)
    torch.save(content | {"epoch": epoch}, path)
    with pytest.raises(PacboundError, match="of epoch"):
        train(settings, tiny_dataset(), path, resume=True)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("optimizer", {"state": {0: {"step": 1, "exp_avg": 2, "exp_avg_sq": 3}}}),
        ("optimizer", {"state": [1], "param_groups": "x"}),
        ("average", {"steps": 1, "average": torch.zeros(3)}),
        ("average", None),
        ("modules", {"0.layers": [[]]}),
        ("modules", [1, 2]),
    ],
)
def test_the_command_refuses_them_in_one_line(part: str, value: Any, tmp_path: Path) -> None:
    import numpy as np

    data, file, path = tiny_dataset(), tmp_path / "tiny.npz", tmp_path / "a.pt"
    np.savez(file, x=data.train_inputs, y=data.train_labels)
    settings = dataclasses.replace(SETTINGS, **RUNS["averaged"], data=str(file))
    unfinished(settings, path)
    content = torch.load(path, weights_only=True)
    torch.save(content | {"training": content["training"] | {part: value}}, path)
    before = path.read_bytes()
    words = ["train", "mlp-600", "--data", str(file), "--posterior", "diag", "--epochs", "2"]
    for setting in ("smoothing=0", "hidden=[2]", "hidden_bias=0", "batch=20", "averaging=0.9"):
        words += ["--set", setting]
    result = CliRunner().invoke(cli, [*words, "-o", str(path), "--resume"])
    assert result.exit_code == 2, result.output
    assert "training state does not fit" in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1, result.stderr
    assert path.read_bytes() == before


def test_no_mutated_prior_crashes(tmp_path: Path) -> None:
    settings = dataclasses.replace(
        SETTINGS, posterior="diag", prior_fraction=0.5, prior_epochs=2, prior_averaging=0.9
    )
    data, path = tiny_dataset(), tmp_path / "prior.pt"

    def stop(step: Any) -> None:
        if (step.epoch, step.step) == (2, 1):
            raise _Stopped

    with pytest.raises(_Stopped):
        learn_prior(settings, data, path, stop)
    use = lambda: learn_prior(settings, data, path)  # noqa: E731
    refused, complaints = outcomes(path, use, None, 60)
    assert complaints == []
    assert refused > 25
