"""Training: same seed same result, resuming, the log, averaging, warm start."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch

from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.files import file_digest
from pacbound.recipes import Settings
from pacbound.training import checkpoints
from pacbound.training.checkpoints import Checkpoint, restored
from pacbound.training.linear_phase import after_linear_phase, linear_settings
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.training.objectives import OBJECTIVES, objective_named

change = dataclasses.replace


class _Stopped(Exception):
    pass


def same(a: Checkpoint, b: Checkpoint) -> bool:
    return all(torch.equal(a.posterior[name], b.posterior[name]) for name in a.posterior)


def test_same_seed_same_result(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> None:
    first = train(tiny_settings, tiny_data, tmp_path / "a.pt")
    again = train(tiny_settings, tiny_data, tmp_path / "b.pt")
    other = train(change(tiny_settings, seed=1), tiny_data, tmp_path / "c.pt")
    assert same(first, again)
    assert file_digest(tmp_path / "a.pt") == file_digest(tmp_path / "b.pt")
    assert not same(first, other)


@pytest.mark.parametrize("stop_after", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "changes",
    [
        {"averaging": 0.9, "warm_start_epochs": 2},
        {"averaging": 0.0, "objective": "catoni-trained", "prior_variance": "trained"},
        {"posterior": "diag", "variance_groups": "network", "warm_start_epochs": 1},
        {"alignment": "deskew", "hidden_bias": -1.0, "initial_scale": (0.1, 0.03)},
        {"posterior": "k-nonlinear", "flow_hidden": (6,), "weight_draws": 3},
        {"posterior": "k-nonlinear", "flow_hidden": (6,), "linear_epochs": 2, "averaging": 0.9},
    ],
)
def test_resumed_equals_uninterrupted(
    tiny_settings: Settings,
    tiny_data: Dataset,
    tmp_path: Path,
    changes: dict[str, object],
    stop_after: int,
) -> None:
    settings = change(tiny_settings, **changes)
    whole = train(settings, tiny_data, tmp_path / "whole.pt")

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise _Stopped

    parts = tmp_path / "parts.pt"
    try:
        train(settings, tiny_data, parts, on_epoch=stop)
    except _Stopped:
        train(settings, tiny_data, parts, resume=True)
    assert same(whole, Checkpoint.load(parts))
    records = [TrainingLog(log_path(tmp_path / f"{n}.pt")).records() for n in ("whole", "parts")]
    assert [r.bound for r in records[0]] == [r.bound for r in records[1]]
    assert file_digest(tmp_path / "whole.pt") == file_digest(parts)


def test_the_log_survives_a_line_cut_short(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"

    def stop(record: EpochRecord) -> None:
        if record.epoch == 2:
            raise _Stopped

    with pytest.raises(_Stopped):
        train(tiny_settings, tiny_data, path, on_epoch=stop)
    with log_path(path).open("a") as stream:
        stream.write('{"epoch": 3, "ris')
    train(tiny_settings, tiny_data, path, resume=True)
    lines = log_path(path).read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [1, 2, 3]


@pytest.mark.parametrize(
    "changed",
    [
        {"epoch": "1"},
        {"epoch": 1.5},
        {"epoch": None},
        {"seconds": "x"},
        {"seconds": -1.0},
        {"bound": "x"},
        {"bound": None},
        {"kl": [1]},
        {"phase": 1},
        {"prior_variances": 1},
        {"lipschitz": ["x"]},
        {"unknown": 1},
    ],
    ids=str,
)
def test_a_line_of_the_log_that_is_none_is_as_good_as_lost(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, changed: dict[str, object]
) -> None:
    path = tmp_path / "a.pt"
    train(change(tiny_settings, epochs=2), tiny_data, path)
    first, second = log_path(path).read_text().splitlines()
    for lines in ([json.dumps(json.loads(first) | changed), second], ["[" * 10**5, second]):
        log_path(path).write_text("\n".join(lines) + "\n")
        assert TrainingLog(log_path(path)).restart(2) == []


def test_training_lowers_the_bound(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    settings = change(tiny_settings, epochs=30)
    records: list[EpochRecord] = []
    train(settings, tiny_data, tmp_path / "a.pt", on_epoch=records.append)
    assert records[-1].bound < 0.6 < 0.9 < records[0].bound + 0.3
    assert records[-1].risk < 0.5 * records[0].risk


def test_profiled_variance_is_the_best_one(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    from pacbound.bounds.gaussian_kl import gaussian_kl
    from pacbound.training.prior_variance import PriorVariance, Tail
    from pacbound.training.problem import build_for

    problem = build_for(tiny_settings, tiny_data)
    with torch.no_grad():
        for parameter in problem.network.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    variance = PriorVariance(
        problem.network, problem.center, "layer", "profiled", Tail(100, 0.01)
    ).double()
    kl = variance()[0].item()
    moments = [t.item() for t in variance.second_moments()]
    log_det = sum(q.log_det().item() for _, q, _ in problem.network.posteriors(problem.center))
    for factor in (0.9, 1.1):
        other = sum(
            gaussian_kl(t, 0.0, d, factor * t / d)
            for t, d in zip(moments, variance.sizes, strict=True)
        )
        assert kl < other - log_det
    best = sum(gaussian_kl(t, 0.0, d, t / d) for t, d in zip(moments, variance.sizes, strict=True))
    assert kl == pytest.approx(best - log_det, rel=1e-5)


@pytest.mark.parametrize(
    ("grouping", "scales", "starts"),
    [
        ("layer", [0.05], [0.05**2, 0.05**2]),
        ("layer", [0.1, 0.03], [0.1**2, 0.03**2]),
        ("network", [0.05], [0.05**2]),
        ("network", [0.1, 0.03], [(0.1**2 + 0.03**2) / 2]),
    ],
)
def test_a_trained_variance_starts_with_the_mean_square_of_the_scales(
    tiny_settings: Settings,
    tiny_data: Dataset,
    grouping: str,
    scales: list[float],
    starts: list[float],
) -> None:
    from pacbound.training.prior_variance import PriorVariance, Tail
    from pacbound.training.problem import build_for

    problem = build_for(change(tiny_settings, initial_scale=tuple(scales)), tiny_data)
    variance = PriorVariance(problem.network, problem.center, grouping, "trained", Tail(100, 0.01))
    assert variance.log_variance is not None
    assert variance.log_variance.exp().tolist() == pytest.approx(starts, rel=1e-5)


def test_weight_draws_matter_where_examples_share_weights(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    nonlinear = {"posterior": "k-nonlinear", "flow_hidden": (6,), "epochs": 1}
    for changes, matters in (({"epochs": 1}, False), (nonlinear, True)):
        one, three = (
            train(
                change(tiny_settings, weight_draws=draws, **changes), tiny_data, tmp_path / "a.pt"
            )
            for draws in (1, 3)
        )
        assert same(one, three) != matters


def test_scales_for_another_number_of_layers_are_refused_before_training(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(PacboundError, match="one for each of 2 layers"):
        train(change(tiny_settings, initial_scale=(0.1,) * 3), tiny_data, tmp_path / "a.pt")
    assert list(tmp_path.iterdir()) == []


def test_resume_refuses_other_settings_and_other_data(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "a.pt"
    train(tiny_settings, tiny_data, path)
    with pytest.raises(PacboundError, match=r"learning_rate=0\.02 there, 0\.01 now"):
        train(change(tiny_settings, learning_rate=0.01), tiny_data, path, resume=True)
    labels = tiny_data.train_labels.copy()
    labels[0] = (labels[0] + 1) % 3
    with pytest.raises(PacboundError, match="other data"):
        train(tiny_settings, change(tiny_data, train_labels=labels), path, resume=True)


def test_divergence_is_said_in_one_line(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(PacboundError, match="diverged"):
        train(change(tiny_settings, learning_rate=1e12), tiny_data, tmp_path / "a.pt")


@pytest.mark.parametrize("blocks", [(), ((1, 3, 5),)])
@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear", "k-nonlinear"])
def test_a_checkpoint_has_as_many_numbers_as_its_settings_ask_for(
    tiny_settings: Settings,
    tiny_data: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    posterior: str,
    blocks: tuple[tuple[int, ...], ...],
) -> None:
    """Networks above HARMLESS are counted before they are built; here all are."""
    monkeypatch.setattr(checkpoints, "HARMLESS", 0)
    settings = change(tiny_settings, posterior=posterior, flow_hidden=(6,), blocks=blocks, epochs=1)
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    restored(Checkpoint.load(path))
    larger = change(settings, hidden=(80,), blocks=tuple((*block[:-1], 77) for block in blocks))
    with pytest.raises(PacboundError, match="larger network"):
        restored(change(Checkpoint.load(path), settings=larger))


def test_averaging_is_an_exponential_mean() -> None:
    from pacbound.training.averaging import PolyakAverage

    module = torch.nn.Linear(1, 1, bias=False)
    average = PolyakAverage(module, 0.75)
    seen = []
    for value in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0):
        module.weight.data.fill_(value)
        average.update()
        seen.append(average.average[0].item())
    expected = [1.0, 1.5, 2.0, 2.5]  # even weights while 1 − 1/n is below the decay
    expected.append(0.75 * expected[-1] + 0.25 * 5)
    expected.append(0.75 * expected[-1] + 0.25 * 6)
    assert seen == pytest.approx(expected)
    average.swap()
    assert module.weight.item() == pytest.approx(seen[-1])
    assert math.isclose(average.average[0].item(), 6.0)


FLOWS = {"posterior": "k-nonlinear", "flow_hidden": (6,), "linear_epochs": 2, "epochs": 1}


@pytest.mark.parametrize("warm", [0, 1])
def test_a_finished_linear_training_is_the_linear_phase(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, warm: int
) -> None:
    settings = change(tiny_settings, warm_start_epochs=warm, averaging=0.9, **FLOWS)
    first = linear_settings(settings)
    assert first is not None and first.epochs == 2 and not first.linear_epochs
    linear = train(change(first, flow_hidden=(9,)), tiny_data)
    begun = after_linear_phase(settings, tiny_data, linear)
    assert begun.epoch == warm + 2 and begun.settings == settings
    assert all(
        torch.equal(begun.posterior[name], linear.posterior[name]) for name in linear.posterior
    )
    path = tmp_path / "a.pt"
    begun.save(path)
    seen: list[EpochRecord] = []
    made = train(settings, tiny_data, path, resume=True, on_epoch=seen.append)
    assert [(record.epoch, record.phase) for record in seen] == [(warm + 3, "bound")]
    assert same(made, train(settings, tiny_data)) and not same(made, begun)


@pytest.mark.parametrize("other", [{"epochs": 3}, {"seed": 1}, {"averaging": 0.5}])
def test_another_training_is_not_the_linear_phase(
    tiny_settings: Settings, tiny_data: Dataset, other: dict[str, object]
) -> None:
    settings = change(tiny_settings, **FLOWS)
    first = linear_settings(settings)
    assert first is not None
    linear = train(change(first, **other), tiny_data)
    with pytest.raises(PacboundError, match="linear phase"):
        after_linear_phase(settings, tiny_data, linear)


@pytest.mark.parametrize(
    "trained", [{"prior_variance": "trained"}, {"objective": "catoni-trained"}]
)
def test_what_is_trained_beside_the_posterior_is_not_in_the_checkpoint_of_the_linear_phase(
    tiny_settings: Settings, tiny_data: Dataset, trained: dict[str, object]
) -> None:
    settings = change(tiny_settings, **trained, **FLOWS)
    assert linear_settings(settings) is None  # so nothing is inherited, nor left out of forecasts
    first = linear_settings(change(tiny_settings, **FLOWS))
    assert first is not None
    linear = train(change(first, **trained), tiny_data)
    with pytest.raises(PacboundError, match="linear phase"):
        after_linear_phase(settings, tiny_data, linear)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objectives_say_whether_they_are_trained(name: str) -> None:
    parameters = [*objective_named(name, 100, 0.05).parameters()]
    assert bool(parameters) == OBJECTIVES[name].is_trained


def test_only_some_settings_have_a_linear_phase(tiny_settings: Settings) -> None:
    assert linear_settings(tiny_settings) is None
    assert linear_settings(change(tiny_settings, **(FLOWS | {"linear_epochs": 0}))) is None
    # The weight of the KL would grow over both phases, not over the linear one.
    assert linear_settings(change(tiny_settings, beta_annealing=0.5, **FLOWS)) is None
