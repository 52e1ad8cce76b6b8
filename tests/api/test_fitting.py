"""`fit`: forms of data, learned priors, continued runs, optimisers and callbacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from own_modules import SMALL, arrays, certified, dense, trained
from torch.utils.data import DataLoader, TensorDataset

import pacbound
from pacbound.data import Dataset
from pacbound.data.given import dataset_given
from pacbound.errors import (
    CheckpointError,
    DataError,
    SettingError,
)
from pacbound.priors import Learned
from pacbound.training.descent import Step
from pacbound.training.log import EpochRecord


@pytest.mark.parametrize("kind", ["loader", "shuffled", "dictionaries", "batches", "dataset"])
def test_all_forms_of_data_are_the_same_data(tiny_data: Dataset, kind: str) -> None:
    x, y = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    pairs = TensorDataset(x, y)
    named = [{"image": a.numpy(), "label": int(b)} for a, b in zip(x, y, strict=True)]
    given: dict[str, object] = {
        "loader": DataLoader(pairs, batch_size=7),
        "shuffled": DataLoader(pairs, batch_size=64, shuffle=True),
        "dictionaries": named,
        "batches": DataLoader(named, batch_size=9),
        "dataset": pairs,
    }
    assert dataset_given(given[kind]).sha256 == tiny_data.sha256


def test_data_that_would_count_wrongly_is_refused(tiny_data: Dataset) -> None:
    x, y = torch.from_numpy(tiny_data.train_inputs), torch.from_numpy(tiny_data.train_labels)
    with pytest.raises(DataError, match="drops its last batch"):
        dataset_given(DataLoader(TensorDataset(x, y), batch_size=7, drop_last=True))
    with pytest.raises(ValueError, match="name the key of the classes"):
        dataset_given([{"image": x[0], "kind": 1}])
    with pytest.raises(DataError, match="the inputs a, b"):
        dataset_given([{"a": x[0], "b": x[0], "label": 1}])
    with pytest.raises(DataError, match="empty"):
        dataset_given([])


def test_a_learned_prior_is_declared_in_python(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = pacbound.stochastic(dense(), "diag", Learned(fraction=0.5, epochs=3, batch=20))
    net.fit(data, epochs=1, progress=False)
    certificate = certified(net, data, predictor="draw")
    assert certificate.prior.kind == "learned"
    part = certificate.prior.part
    assert part is not None
    assert certificate.data.m == tiny_data.m - part.examples
    with pytest.raises(CheckpointError, match="prior learned from a part of other data"):
        net.fit((data[0], np.roll(data[1], 1)), progress=False)


def test_a_second_fit_goes_on_from_the_first(tiny_data: Dataset) -> None:
    data = arrays(tiny_data)
    net = trained(data, epochs=5)
    once = certified(net, data).risk_bound
    net.fit(data, epochs=20, progress=False)
    assert net.settings.epochs == 25
    assert [record.epoch for record in net.history] == list(range(1, 26))
    assert certified(net, data).risk_bound < once


def test_a_finished_run_is_continued_from_its_file(tiny_data: Dataset, tmp_path: Path) -> None:
    """And stopped and resumed in between, it ends with the same weights."""
    path, other = tmp_path / "a.pt", tmp_path / "b.pt"
    for each in (path, other):
        trained(tiny_data, checkpoint=each)
    again = pacbound.stochastic(dense(), posterior="diag")
    again.fit(tiny_data, **{**SMALL, "epochs": 6}, checkpoint=path, resume=True)
    assert again.settings.earlier_epochs == 3

    def stop(record: EpochRecord) -> None:
        if record.epoch == 5:
            raise KeyboardInterrupt

    parts = pacbound.stochastic(dense(), posterior="diag")
    more: dict[str, Any] = {**SMALL, "epochs": 6, "checkpoint": other, "resume": True}
    with pytest.raises(KeyboardInterrupt):
        parts.fit(tiny_data, **more, callbacks=[pacbound.Callback(on_epoch=stop)])
    parts.fit(tiny_data, **more)
    one, two = again.state_dict(), parts.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)
    with pytest.raises(SettingError, match="give more to continue it"):
        parts.fit(tiny_data, **{**more, "epochs": 2})


def test_the_users_own_optimiser_and_callbacks(tiny_data: Dataset, tmp_path: Path) -> None:
    steps: list[Step] = []
    path = tmp_path / "sgd.pt"
    made: dict[str, Any] = {
        **SMALL,
        "optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.3, momentum=0.9),
        "callbacks": [pacbound.Callback(on_step=steps.append)],
    }
    whole = pacbound.stochastic(dense(), posterior="diag").fit(tiny_data, **made)
    assert steps[0].bound is None
    assert whole.history[0].learning_rate == pytest.approx(0.3, rel=0.3)

    def stop(record: EpochRecord) -> None:
        raise KeyboardInterrupt

    parts = pacbound.stochastic(dense(), posterior="diag")
    with pytest.raises(KeyboardInterrupt):
        stopping = [pacbound.Callback(on_epoch=stop)]
        parts.fit(tiny_data, **{**made, "callbacks": stopping}, checkpoint=path)
    parts.fit(tiny_data, **made, checkpoint=path, resume=True)
    one, two = whole.state_dict(), parts.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_a_callback_may_be_a_subclass_with_methods(tiny_data: Dataset) -> None:
    class Watch(pacbound.Callback):
        seen: ClassVar[list[int]] = []

        def on_epoch(self, record: EpochRecord) -> None:
            self.seen.append(record.epoch)

    trained(tiny_data, callbacks=[Watch(), Watch(on_step=lambda step: Watch.seen.append(0))])
    steps, epochs = Watch.seen.count(0), [epoch for epoch in Watch.seen if epoch]
    assert steps > 0 and epochs == sorted(2 * list(range(1, max(epochs) + 1)))


def test_nothing_is_written_without_being_asked_for(
    tiny_data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.mkdtemp", None)
    monkeypatch.setattr("tempfile.mkstemp", None)
    net = pacbound.stochastic(dense(), "diag", Learned(epochs=1)).fit(tiny_data, **SMALL)
    certified(net, tiny_data)
    net.draw(tiny_data)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"), [("split_seed", 1), ("prior_fraction", 0.7), ("prior_epochs", 9)]
)
def test_a_learned_prior_keeps_the_split_that_it_learned_from(
    tiny_data: Dataset, name: str, value: object
) -> None:
    """Under another split, examples that it learned from would be counted."""
    net = pacbound.stochastic(dense(), "diag", Learned(epochs=2)).fit(tiny_data, **SMALL)
    with pytest.raises(SettingError, match=f"already made with other settings .{name}"):
        net.fit(tiny_data, **SMALL, settings={name: value})
    net.fit(tiny_data, **SMALL)
    assert certified(net, tiny_data, predictor="draw").data.m == tiny_data.m // 2
