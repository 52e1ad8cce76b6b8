"""Variational inference: the ELBO, its annealing, fixed priors, the point, augmentation, VGG."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.nn import functional

from pacbound.api.plain_network import mapped
from pacbound.data import Dataset
from pacbound.devices import CPU
from pacbound.errors import PacboundError
from pacbound.files import file_digest
from pacbound.networks.initializers import prior_center
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.vgg import vgg
from pacbound.posteriors import posterior_named
from pacbound.predict import Predictor
from pacbound.predictors.issuing import Request, certify, issue
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, recipe
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs
from pacbound.training.objectives import Elbo, objective_of
from pacbound.training.prior_variance import PriorVariance
from pacbound.training.ranks import ALONE
from pacbound.training.run import TrainingRun
from pacbound.training.schedules import SCHEDULES

change = dataclasses.replace


@pytest.fixture
def variational(tiny_settings: Settings) -> Settings:
    return change(
        tiny_settings,
        objective="elbo",
        prior_variance="fixed",
        variance_groups="network",
        initializer="zeros",
        start="he-normal",
        beta_annealing=0.75,
        warm_start_epochs=1,
    )


# The objective ------------------------------------------------------------------------------


def test_the_elbo_is_cross_entropy_and_weighted_kl() -> None:
    objective = Elbo(1000, 0.05, classes=7, beta=0.3, annealing=0)
    logits, labels = torch.randn(50, 7), torch.randint(7, (50,))
    nats = torch.tensor(123.0)
    surrogate = functional.cross_entropy(logits, labels) / math.log(7)
    likelihood = torch.distributions.Categorical(logits=logits).log_prob(labels).mean()
    expected = -likelihood + 0.3 * nats / 1000
    torch.testing.assert_close(objective(surrogate, nats), expected)


def test_the_weight_of_the_kl_grows_linearly_from_nothing() -> None:
    objective = Elbo(10, 0.05, classes=2, beta=2.0, annealing=4)
    weights = []
    for _ in range(7):
        nats = torch.tensor(5.0, requires_grad=True)
        objective(torch.tensor(0.5), nats).backward()
        assert nats.grad is not None
        weights.append(10 * nats.grad.item() / 2.0)
    assert weights == pytest.approx([0, 0.25, 0.5, 0.75, 1, 1, 1])


def test_looking_at_the_objective_does_not_age_it() -> None:
    objective = Elbo(10, 0.05, classes=2, beta=1.0, annealing=4)
    with torch.no_grad():
        for _ in range(5):
            objective(torch.tensor(0.5), torch.tensor(5.0))
    assert objective.get_buffer("steps").item() == 0


@pytest.mark.parametrize("variance", [1.0, 0.1, 3.0])
@pytest.mark.parametrize("center", ["zeros", "he-normal"])
def test_the_kl_to_a_fixed_prior_is_the_one_of_torch(variance: float, center: str) -> None:
    module = mlp((2, 3), [5], 4)
    prior = prior_center(module, center, 0)
    mean = prior_center(module, "fan-in-uniform", 1)
    network = StochasticNetwork(module, mean, posterior_named("diag"), [0.2, 0.03])
    kl, union = PriorVariance(network, prior, "network", "fixed", None, (variance,))()
    expected = torch.zeros(())
    for scale, layer in zip((0.2, 0.03), ("1", "3"), strict=True):
        for leaf in ("weight", "bias"):
            loc, at = mean[f"{layer}.{leaf}"], prior[f"{layer}.{leaf}"]
            q = Independent(Normal(loc, scale), loc.dim())
            p = Independent(Normal(at, math.sqrt(variance)), loc.dim())
            expected = expected + kl_divergence(q, p)
    torch.testing.assert_close(kl, expected, rtol=1e-5, atol=1e-3)
    assert union == 0  # nothing was chosen


# The point ----------------------------------------------------------------------------------


def test_a_point_is_the_plain_network_with_weight_decay() -> None:
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    mean = prior_center(module, "he-normal", 0)
    zero = prior_center(module, "zeros", 0)
    network = StochasticNetwork(module, mean, posterior_named("point"), [0.1])
    variance = PriorVariance(network, zero, "network", "fixed", None, (0.5,))
    inputs = torch.randn(6, 1, 4, 4)
    noisy = network(inputs, TrainingNoise(derive("test")))
    torch.testing.assert_close(noisy, torch.func.functional_call(module, mean, (inputs,)))
    kl, _ = variance()
    squares = sum(float((value**2).sum()) for value in mean.values())
    assert kl.item() == pytest.approx(squares / (2 * 0.5), rel=1e-5)


def test_points_are_refused_where_a_bound_is_wanted(
    variational: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    from decimal import Decimal

    with pytest.raises(PacboundError, match="a point has no noise"):
        recipe("mlp-600", {"posterior": "point"})
    path = tmp_path / "point.pt"
    train(change(variational, posterior="point"), tiny_data, path)
    with pytest.raises(PacboundError, match="a point has no noise"):
        certify(path, tiny_data, Request(Decimal("0.05")))


# Training -----------------------------------------------------------------------------------


@pytest.mark.parametrize("posterior", ["point", "diag", "k-diag", "k-linear", "k-nonlinear"])
def test_training_by_the_elbo_learns(
    variational: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str
) -> None:
    more = {
        "epochs": 15,
        "beta_annealing": 0.1,
        "flow_hidden": (6,),
        "flow": "realnvp",
        "flow_learning_rate": 0.02,
    }
    settings = change(variational, posterior=posterior, beta=0.1, **more)
    path = tmp_path / "a.pt"
    train(settings, tiny_data, path)
    records = TrainingLog(log_path(path)).records()
    assert records[-1].risk < 0.2 < records[0].risk
    assert all(record.prior_variances == [1.0] for record in records)
    # nine steps of annealing, of which an epoch has six; the warm start has no KL to weigh
    weights = [record.beta for record in records]
    assert weights == [None, pytest.approx(0.1 * 6 / 9), *[0.1] * 14]


@pytest.mark.parametrize("stop_after", [1, 2, 3])
@pytest.mark.parametrize("posterior", ["point", "k-linear", "k-nonlinear"])
def test_resuming_remembers_the_annealing(
    variational: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str, stop_after: int
) -> None:
    settings = change(variational, posterior=posterior, averaging=0.9)
    train(settings, tiny_data, tmp_path / "whole.pt")

    class Stopped(Exception):
        pass

    def stop(record: EpochRecord) -> None:
        if record.epoch == stop_after:
            raise Stopped

    parts = tmp_path / "parts.pt"
    with pytest.raises(Stopped):
        train(settings, tiny_data, parts, on_epoch=stop)
    train(settings, tiny_data, parts, resume=True)
    assert file_digest(parts) == file_digest(tmp_path / "whole.pt")


def test_a_certificate_of_variational_inference_is_sound_and_says_when_it_is_vacuous(
    variational: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    from decimal import Decimal

    from pacbound.verification import verify

    path, out = tmp_path / "vi.pt", tmp_path / "vi.json"
    train(variational, tiny_data, path)
    certificate = certify(path, tiny_data, Request(Decimal("0.05"), draws=6000))
    certificate.save(out)
    assert verify(str(out), checkpoint=path).accepted
    assert certificate.prior.choices.initializer == "zeros"
    # λ is of the grid, whatever the fixed prior of training was: at most 0.1.
    assert all(variance.by == "grid" for variance in certificate.prior.variances)


def test_batch_statistics_cannot_be_certified(tmp_path: Path) -> None:
    from decimal import Decimal

    data = images(256)
    path = tmp_path / "vgg.pt"
    train(small_vgg(), data, path)
    with pytest.raises(PacboundError, match="batch normalisation learns statistics"):
        certify(path, data, Request(Decimal("0.05")))


# VGG ----------------------------------------------------------------------------------------


def images(m: int) -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, m)
    inputs = generator.integers(0, 128, (m, 3, 32, 32))
    inputs[:, 0] += 100 * labels[:, None, None]
    inputs = inputs.astype(np.uint8)
    return Dataset("images", inputs, labels, inputs[:64], labels[:64], 2)


def small_vgg(**more: object) -> Settings:
    values = {"hidden": [4, 4, 6, 6, 8], "epochs": 1, "batch": 64, "posterior": "diag", **more}
    return recipe("vi-vgg-16", values)


def test_vgg_has_the_blocks_that_its_name_says() -> None:
    module = vgg((3, 32, 32), [32, 64, 128, 256, 256], 10, batch_norm=True)
    kernels = [layer for layer in module if isinstance(layer, nn.Conv2d)]
    assert [layer.out_channels for layer in kernels] == [
        *[32] * 2,
        *[64] * 2,
        *[128] * 3,
        *[256] * 6,
    ]
    assert all(layer.kernel_size == (3, 3) and layer.padding == (1, 1) for layer in kernels)
    assert sum(isinstance(layer, nn.MaxPool2d) for layer in module) == 5
    last = module[-1]
    assert isinstance(last, nn.Linear)
    assert (last.in_features, last.out_features) == (256, 10)
    assert module(torch.rand(2, 3, 32, 32)).shape == (2, 10)
    without = vgg((3, 32, 32), [32, 64, 128, 256, 256], 10, batch_norm=False)
    assert not any(isinstance(layer, nn.BatchNorm2d) for layer in without)


@pytest.mark.parametrize("batch_norm", [True, False])
def test_the_likelihood_depends_on_every_parameter_of_vgg(batch_norm: bool) -> None:
    """Only the KL would move the others, up to the noise of the prior."""
    settings = small_vgg(batch_norm=batch_norm, initial_scale=0.05)
    data = images(64)
    split = split_of(settings, data)
    network = TrainingRun(settings, data, split, None, None, ALONE, CPU, None).network.train()
    outputs = network(torch.from_numpy(data.train_inputs).float() / 255, Noise(derive("noise")))
    functional.cross_entropy(outputs, torch.from_numpy(data.train_labels)).backward()
    gradients = {name: value.grad for name, value in network.named_parameters()}
    sizes = {
        name: 0.0 if found is None else float(found.abs().max())
        for name, found in gradients.items()
    }
    assert min(sizes.values()) > 1e-4 * max(sizes.values()), sizes


@pytest.mark.parametrize(
    ("shape", "channels", "words"),
    [
        ((3, 32, 32), [32, 64], "vgg needs 5 numbers of channels"),
        ((28, 28), [4, 4, 4, 4, 4], "vgg needs colour images of 32×32"),
        ((3, 28, 28), [4, 4, 4, 4, 4], "vgg needs colour images of 32×32"),
    ],
)
def test_vgg_refuses_what_does_not_fit(
    shape: tuple[int, ...], channels: list[int], words: str
) -> None:
    with pytest.raises(PacboundError, match=words):
        vgg(shape, channels, 10, batch_norm=False)


def by_layers(module: nn.Sequential, seen: Tensor, inputs: Tensor) -> Tensor:
    """The outputs for inputs if every batch normalisation knows its values for `seen` alone."""
    for layer in module:
        if isinstance(layer, nn.BatchNorm2d):
            mean = seen.mean((0, 2, 3), keepdim=True)
            centered = seen - mean
            n = seen.numel() / seen.shape[1]
            variance = centered.square().mean((0, 2, 3), keepdim=True)
            inputs = (inputs - mean) / (variance * n / (n - 1) + layer.eps).sqrt()
            seen = centered / (variance + layer.eps).sqrt()
        else:
            seen, inputs = layer(seen), layer(inputs)
    return inputs


def test_each_drawn_network_has_its_own_statistics_of_the_training_images(tmp_path: Path) -> None:
    data = images(256)
    path = tmp_path / "vgg.pt"
    train(small_vgg(initial_scale=0.1), data, path)
    predictor = Predictor.of(path, data)
    prediction = predictor.predict(data.test_inputs[:10], 3).probabilities
    plain = vgg(data.input_shape, [4, 4, 6, 6, 8], 2, batch_norm=True)
    seen, inputs = (
        torch.from_numpy(part).float() / 255 for part in (data.train_inputs, data.test_inputs[:10])
    )
    total = torch.zeros(10, 2)
    for number in range(3):
        weights = predictor.network.draw_weights(Noise(derive("network", predictor.seed, number)))
        plain.load_state_dict(weights, strict=False)
        with torch.no_grad():
            total += by_layers(plain, seen, inputs).softmax(1)
    np.testing.assert_allclose(prediction, (total / 3).numpy(), atol=1e-5)
    # One image at a time gives the same: no statistics of the predicted images are used.
    single = predictor.predict(data.test_inputs[:1], 3).probabilities
    np.testing.assert_allclose(single, prediction[:1], atol=1e-6)
    # Without the data of the training there are only the running ones.
    other = dataclasses.replace(data, train_labels=1 - data.train_labels)
    assert Predictor.of(path, other).statistics is None
    rows = Predictor.of(path, data, for_rows=True)
    assert rows.statistics is None
    running = dataclasses.replace(predictor, statistics=None)
    assert abs(running.predict(data.test_inputs, 3).probabilities[:10] - prediction).max() > 1e-3


def test_vgg_trains_augmented_and_predicts_rows_with_its_running_statistics(tmp_path: Path) -> None:
    data = images(256)
    path = tmp_path / "vgg.pt"
    settings = small_vgg(augmentation="flip-crop", warm_start_epochs=1, epochs=4)
    train(settings, data, path)
    records = TrainingLog(log_path(path)).records()
    assert records[-1].surrogate_risk < records[0].surrogate_risk
    saved = Checkpoint.load(path).posterior
    statistics = [name for name in saved if name.endswith("running_mean")]
    assert len(statistics) == 13
    predictor = Predictor.of(path, data, for_rows=True)
    prediction = predictor.predict(data.test_inputs[:10], 3).probabilities
    # By hand: the plain network with the saved statistics and the weights of each draw.
    plain = vgg(data.input_shape, [4, 4, 6, 6, 8], 2, batch_norm=True).eval()
    buffers = {
        name.removeprefix("module."): value for name, value in saved.items() if "running" in name
    }
    total = torch.zeros(10, 2)
    for number in range(3):
        source = Noise(derive("network", predictor.seed, number))
        state = {**predictor.network.draw_weights(source), **buffers}
        inputs = torch.from_numpy(data.test_inputs[:10]).float() / 255
        with torch.no_grad():
            total += torch.func.functional_call(plain, state, (inputs,)).softmax(1)
    np.testing.assert_allclose(prediction, (total / 3).numpy(), atol=1e-5)
    # One image at a time gives the same: no statistics of the batch are used.
    single = predictor.predict(data.test_inputs[:1], 3).probabilities
    np.testing.assert_allclose(single, prediction[:1], atol=1e-6)


@pytest.mark.parametrize("epochs", [4, 40])
def test_annealing_is_a_part_of_training_however_long_it_is(
    variational: Settings, epochs: int
) -> None:
    settings = change(variational, epochs=epochs, batch=100, beta_annealing=0.25)
    objective = objective_of(settings, m=950, classes=3)
    assert isinstance(objective, Elbo)
    assert objective.annealing == epochs * 10 / 4


def test_a_continued_run_keeps_the_whole_weight(
    variational: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    weights: list[float | None] = []

    def note(record: EpochRecord) -> None:
        weights.append(record.beta)

    path = tmp_path / "run.pt"
    settings = change(variational, epochs=4, beta=0.5, warm_start_epochs=0)
    train(settings, tiny_data, path, on_epoch=note)
    assert weights[0] is not None and weights[0] < 0.5 and weights[-1] == 0.5
    train(change(settings, epochs=6), tiny_data, path, resume=True, on_epoch=note)
    assert weights[4:] == [0.5, 0.5]


def test_log_scales_have_a_rate_of_their_own(variational: Settings, tiny_data: Dataset) -> None:
    """Adam's first step is the rate itself, in the direction of the gradient's sign."""
    moved = {}
    for rate in (1.0, 3.0):
        settings = change(
            variational,
            posterior="k-linear",
            epochs=1,
            batch=tiny_data.m,
            warm_start_epochs=0,
            beta_annealing=0.0,
            schedule="constant",
            learning_rate=0.01,
            scale_rate=rate,
        )
        split = split_of(settings, tiny_data)
        run = TrainingRun(settings, tiny_data, split, None, None, ALONE, CPU, None)
        before = {name: value.clone() for name, value in run.network.named_parameters()}
        run.epoch(1, lambda step: None)
        for name, value in run.network.named_parameters():
            moved[name, rate] = (value - before[name]).abs().max().item()
    scales = [name for name, rate in moved if name.endswith("log_scale") and rate == 1]
    assert scales
    for name, rate in moved:
        expected = 0.03 if rate == 3 and name in scales else 0.01
        if moved[name, rate]:  # the upper triangles stay
            assert moved[name, rate] == pytest.approx(expected, rel=1e-3)


def test_inputs_are_shifted_before_they_are_scaled(variational: Settings) -> None:
    settings = change(variational, input_shift=0.5, input_scale=4.0, smoothing=0.0)
    raw = np.array([[0, 51, 255]], np.uint8)
    seen = network_inputs(settings, raw)
    torch.testing.assert_close(seen, torch.tensor([[-2.0, -1.2, 2.0]]))
    torch.testing.assert_close(mapped(settings, torch.from_numpy(raw)), seen)
    with pytest.raises(PacboundError, match="certificates have no such shift"):
        change(settings, objective="quadratic", prior_variance="profiled")


def test_no_certificate_is_issued_for_shifted_inputs(
    variational: Settings, tiny_data: Dataset
) -> None:
    trained = train(change(variational, input_shift=0.5, epochs=1), tiny_data)
    with pytest.raises(PacboundError, match="input_shift=0"):
        issue(trained, tiny_data, Request(delta=0.05))


def test_one_cycle_rises_then_falls() -> None:
    rates = [SCHEDULES["one-cycle"](i / 100) for i in range(101)]
    top = rates.index(max(rates))
    assert (rates[0], max(rates), top) == (0.1, 1.0, 20)
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rates[-1] == pytest.approx(0.01)
