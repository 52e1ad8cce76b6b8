"""A prior that is trained again: the same bits on the same machine, a distance elsewhere.

What differs was measured with torch 2.13.0 (MKL 2024.2, oneDNN 3.12.0) on an AMD EPYC with AVX-512,
`mlp-600-learned` and `lenet-5-learned` on 1500 digits, three epochs. Relative distance of weights:

| against one thread, nothing overridden | mlp | lenet |
|---|---|---|
| the same again | 0 | 0 |
| ATEN_CPU_CAPABILITY=avx2 | 4e-8 | 3e-7 |
| ATEN_CPU_CAPABILITY=default | 6e-7 | 7e-7 |
| ONEDNN_MAX_CPU_ISA=AVX2 | 0 | 1e-5 |
| MKL_ENABLE_INSTRUCTIONS=AVX2 | 0 | 0 |
| MKL_CBWR=COMPATIBLE | 2e-7 | 4e-7 |
| two threads | 2e-8 | 4e-8 |

So torch's own kernels, MKL, oneDNN (convolutions) and the number of threads each decide bits.
MKL_ENABLE_INSTRUCTIONS did nothing here, perhaps as the processor is not Intel's. The variances
differed in their last digits wherever the weights did; the validation errors were the same
everywhere. These are short trainings: how far the distance grows in long ones was not measured.
"""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.func import functional_call

from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.near_ties import is_error
from pacbound.priors.split import split_of
from pacbound.recipes import Settings
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.descent import Step
from pacbound.training.learned_prior import learn_prior
from pacbound.training.loop import train
from pacbound.training.machine import OVERRIDES, machine_record
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.replay import Replay, compare_priors

change = dataclasses.replace


@pytest.fixture
def settings(tiny_settings: Settings) -> Settings:
    return change(
        tiny_settings,
        prior_fraction=0.5,
        prior_epochs=2,
        prior_batch=20,
        prior_learning_rate=0.02,
        epochs=1,
    )


@pytest.fixture
def part(settings: Settings, tiny_data: Dataset) -> Dataset:
    return split_of(settings, tiny_data).learned_data(tiny_data)


def test_the_record_has_what_rounding_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    record = machine_record(2)
    assert {"processor", "instructions", "capability", "torch", "mkl", "onednn"} <= set(record)
    assert record["threads"] == "2"
    assert record["torch"] == torch.__version__
    assert record == machine_record(2) != machine_record(1)
    for name in OVERRIDES:
        monkeypatch.setenv(name, "something")
        assert machine_record(2)[name] == "something"


def test_on_the_same_machine_it_is_the_same_to_the_bit(settings: Settings, part: Dataset) -> None:
    first, again = learn_prior(settings, part), learn_prior(settings, part)
    replay = compare_priors(first, again, settings, part)
    assert replay == Replay(True, True, 0.0, 0.0)
    assert "bit for bit" in replay.words()


def test_other_bits_are_refused_there_and_measured_elsewhere(
    settings: Settings, part: Dataset
) -> None:
    first = learn_prior(settings, part)
    other = learn_prior(change(settings, prior_seed=1), part)
    with pytest.raises(PacboundError, match="trained again from its seed") as refusal:
        compare_priors(first, other, settings, part)
    assert "\n" not in str(refusal.value)
    wider = change(first, variances=tuple(2 * v for v in first.variances))
    with pytest.raises(PacboundError, match="its variances differ"):
        compare_priors(wider, first, settings, part)
    elsewhere = {"machine": {**first.machine, "processor": "another"}}
    replay = compare_priors(change(first, **elsewhere), other, settings, part)
    assert not replay.same_machine
    assert not replay.identical
    assert replay.weight_distance > 0.1
    assert 0 < replay.prediction_disagreement < 1
    assert "does not prove it" in replay.words()
    assert compare_priors(change(wider, **elsewhere), first, settings, part).variance_ratio == 2
    same = compare_priors(change(first, **elsewhere), first, settings, part)
    assert same == Replay(False, True, 0.0, 0.0)
    assert "another kind of machine, is the same bit for bit" in same.words()


SCRIPT = """
import sys, torch
from pathlib import Path
from pacbound.data.loading import load
from pacbound.priors.split import split_of
from pacbound.training.checkpoints import Checkpoint
from pacbound.predictors.issuing import replay_prior
checkpoint = Checkpoint.load(Path(sys.argv[1]))
replay = replay_prior(checkpoint, load(checkpoint.settings.data))
print(replay.same_machine, replay.weight_distance < 1e-3, replay.prediction_disagreement < 0.01)
"""


@pytest.mark.parametrize(
    ("override", "same"), [({}, True), ({"ATEN_CPU_CAPABILITY": "default"}, False)]
)
def test_another_machine_is_emulated(
    settings: Settings, tiny_data: Dataset, tmp_path: Path, override: dict[str, str], same: bool
) -> None:
    """By the instructions that torch may use."""
    if any(name in os.environ for name in OVERRIDES):
        pytest.skip("the instruction set is overridden here")
    train(settings, tiny_data, tmp_path / "a.pt")
    output = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "a.pt")],
        env={**os.environ, **override},
        capture_output=True,
        text=True,
        check=False,
    )
    assert output.stdout.split() == [str(same), "True", "True"], output.stderr


def test_a_run_that_was_continued_elsewhere_says_so(
    settings: Settings, part: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopped(Exception):
        pass

    def stop(step: Step) -> None:
        if step.epoch == 2:
            raise Stopped

    path = tmp_path / "prior.pt"
    with pytest.raises(Stopped):
        learn_prior(settings, part, path, on_step=stop)
    monkeypatch.setenv("MKL_CBWR", "here")  # read by the record; the library has long started
    prior = learn_prior(settings, part, path)
    assert "'MKL_CBWR': 'here'" in prior.machine["continued on"]
    monkeypatch.delenv("MKL_CBWR")
    assert learn_prior(settings, part, path).machine == prior.machine  # it is finished


# A validation part -------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "examples"), [(0.0, 0), (0.1, 30), (0.305, 92), (0.5, 150)])
def test_the_last_of_its_part_are_for_validation(
    settings: Settings, part: Dataset, share: float, examples: int
) -> None:
    settings = change(settings, prior_validation=share)
    prior = learn_prior(settings, part)
    rows = slice(part.m - examples, None)
    network = plain_network(settings, part.input_shape, part.classes)
    with torch.no_grad():
        logits = functional_call(
            network, prior.center, (network_inputs(settings, part.train_inputs),)
        )
    wrong = is_error(logits, torch.from_numpy(part.train_labels))
    assert prior.validation == (examples, int(wrong[rows].sum()) if examples else 0)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_neither_centre_nor_variances_are_fitted_to_the_validation(
    settings: Settings, part: Dataset, share: float
) -> None:
    settings = change(settings, prior_validation=share)
    first = learn_prior(settings, part)
    aside = first.validation[0]
    inputs, labels = part.train_inputs.copy(), part.train_labels.copy()
    inputs[-aside:], labels[-aside:] = np.nan, (labels[-aside:] + 1) % 3
    poisoned = learn_prior(settings, change(part, train_inputs=inputs, train_labels=labels))
    assert (poisoned.sha256, poisoned.variances) == (first.sha256, first.variances)
    assert poisoned.validation == (aside, aside)
    inputs = part.train_inputs.copy()
    inputs[-aside - 1] += 1
    assert learn_prior(settings, change(part, train_inputs=inputs)).sha256 != first.sha256


def test_a_validation_of_everything_is_refused(settings: Settings, part: Dataset) -> None:
    with pytest.raises(PacboundError, match="leaves no example"):
        learn_prior(change(settings, prior_validation=0.999), part)
    with pytest.raises(PacboundError, match="prior_validation"):
        change(settings, prior_validation=1.0)


def test_the_checkpoint_keeps_both(settings: Settings, tiny_data: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    settings = change(settings, prior_validation=0.2)
    trained = train(settings, tiny_data, path).learned_prior
    kept = Checkpoint.load(path).learned_prior
    assert trained is not None and kept is not None
    assert kept.machine == trained.machine == machine_record(kept.threads)
    assert kept.validation == trained.validation
    assert kept.validation[0] == 60


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"machine": {"processor": 3}}, "on which machine"),
        ({"machine": {"processor": "x" * 10_000}}, "on which machine"),
        ({"machine": []}, "cannot be read"),
        ({"validation": (3, 4)}, "no valid validation counts"),
        ({"validation": (3, -1)}, "no valid validation counts"),
        ({"validation": (3,)}, "no valid validation counts"),
        ({"validation": (3.0, 1)}, "no valid validation counts"),
    ],
)
def test_what_a_file_says_of_them_is_looked_at(
    settings: Settings, tiny_data: Dataset, tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    path = tmp_path / "a.pt"
    checkpoint = train(settings, tiny_data, path)
    assert checkpoint.learned_prior is not None
    change(checkpoint, stored_prior=change(checkpoint.learned_prior, **changes)).save(path)
    with pytest.raises(PacboundError, match=words):
        Checkpoint.load(path)
