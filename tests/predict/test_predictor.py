"""The posterior predictive: the same networks as when drawn one by one, in any chunks."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.files import file_digest
from pacbound.networks.initializers import prior_center
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import POSTERIORS, posterior_named
from pacbound.predict import Predictor, predictor
from pacbound.predict.ensemble import Dense, Separate, ensemble
from pacbound.recipes import Settings, recipe
from pacbound.seeds import Noise, derive
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build_for

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]

NETWORKS: dict[str, dict[str, Any]] = {
    "mlp-600": {"hidden": [7, 5]},
    "lenet-5": {"hidden": [2, 3, 6]},
}


def made(name: str, posterior: str) -> tuple[Predictor, np.ndarray]:
    """A predictor whose every parameter, also those of the flows, is away from its start."""
    overrides = {"posterior": posterior, "initial_scale": 0.3, "hidden_bias": 0, **NETWORKS[name]}
    settings = recipe(name, overrides)
    generator = np.random.default_rng(0)
    images = generator.random((23, 18, 17), dtype=np.float32)
    data = Dataset("made", images, np.arange(23) % 4, None, None, 4)
    problem = build_for(settings, data)
    torch.manual_seed(0)
    with torch.no_grad():
        for key, parameter in problem.network.named_parameters():
            change = 0.1 * torch.randn_like(parameter)
            parameter += change.tril(-1) if key.endswith("below") else change
    module = plain_network(settings, data.input_shape, data.classes)
    return Predictor(settings, problem.network, module, derive("test")), images


def one_by_one(predictor: Predictor, images: np.ndarray, samples: int) -> np.ndarray:
    """The probabilities by networks that are drawn and run each for itself."""
    inputs = network_inputs(predictor.settings, images)
    outputs = []
    for number in range(samples):
        source = Noise(derive("network", predictor.seed, number))
        weights = predictor.network.draw_weights(source)
        with torch.no_grad():
            logits = functional_call(predictor.module, weights, (inputs,))
        outputs.append(logits.double().softmax(1).numpy())
    return np.stack(outputs)


@pytest.mark.parametrize("posterior", NOISY)
@pytest.mark.parametrize("name", NETWORKS)
def test_it_averages_networks_that_are_drawn_whole(name: str, posterior: str) -> None:
    predictor, images = made(name, posterior)
    expected = one_by_one(predictor, images, 5)
    assert expected.std(0).max() > 0.02  # the networks differ
    np.testing.assert_allclose(predictor.sampled(images, 5), expected, atol=1e-5)
    prediction = predictor.predict(images, 5)
    np.testing.assert_allclose(prediction.probabilities, expected.mean(0), atol=1e-5)
    np.testing.assert_allclose(prediction.probabilities.sum(1), 1)
    aleatoric = -(expected * np.log(expected)).sum(2).mean(0)
    total = -(expected.mean(0) * np.log(expected.mean(0))).sum(1)
    np.testing.assert_allclose(prediction.entropies.aleatoric, aleatoric, atol=1e-4)
    np.testing.assert_allclose(prediction.entropies.epistemic, total - aleatoric, atol=1e-4)


@pytest.mark.parametrize("name", NETWORKS)
def test_chunks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made_predictor, images = made(name, "k-linear")
    whole = made_predictor.predict(images, 7).probabilities
    for kind in (Dense, Separate):
        monkeypatch.setattr(kind, "batch", 4)
    monkeypatch.setattr(predictor, "DRAWS", 3)
    steps: list[tuple[int, int]] = []
    parts = made_predictor.predict(images, 7, lambda what, done, total: steps.append((done, total)))
    np.testing.assert_allclose(parts.probabilities, whole, atol=1e-5)
    assert steps[-1] == (7 * 23, 7 * 23)
    assert steps == sorted(steps)


def test_large_networks_are_held_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made_predictor, images = made("mlp-600", "diag")
    held: list[int] = []

    def watched(module: nn.Module, weights: list[Any]) -> Any:
        held.append(len(weights))
        return ensemble(module, weights)

    monkeypatch.setattr(predictor, "ensemble", watched)
    made_predictor.predict(images, 5)
    monkeypatch.setattr(predictor, "WEIGHTS", 10)
    made_predictor.predict(images, 5)
    assert held == [5, 1, 1, 1, 1, 1]


def test_more_samples_are_more_networks_and_not_others() -> None:
    made_predictor, images = made("mlp-600", "k-linear")
    few, many = made_predictor.sampled(images, 3), made_predictor.sampled(images, 9)
    np.testing.assert_allclose(few, many[:3], atol=1e-6)
    assert len({row.tobytes() for row in many}) == 9


@pytest.mark.parametrize("bias", [True, False])
def test_dense_layers_with_and_without_bias(bias: bool) -> None:
    module = nn.Sequential(
        nn.Flatten(), nn.Linear(6, 5, bias=bias), nn.ReLU(), nn.Linear(5, 3, bias=bias)
    )
    center = prior_center(module, "he-normal", 0)
    network = StochasticNetwork(module, center, posterior_named("diag"), [0.5])
    weights = [network.draw_weights(Noise(derive("bias", k))) for k in range(4)]
    inputs = torch.randn(9, 2, 3, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        chosen = ensemble(module, weights)
        assert isinstance(chosen, Dense)
        torch.testing.assert_close(chosen(inputs), Separate(module, weights)(inputs))


def test_only_dense_layers_and_relus_are_batched() -> None:
    linear, relu = nn.Linear(4, 4), nn.ReLU()
    assert Dense.fits(nn.Sequential(nn.Flatten(), linear, relu, linear))
    assert not Dense.fits(nn.Sequential(nn.Conv2d(1, 1, 3), nn.Flatten(), linear))
    assert not Dense.fits(nn.Sequential(linear, nn.BatchNorm1d(4)))
    assert not Dense.fits(nn.Sequential(linear, nn.Flatten(0), relu))
    assert not Dense.fits(nn.Sequential(relu))
    assert not Dense.fits(linear)


def test_convolutions_have_channels_last_whatever_their_number() -> None:
    """Also of one channel, where `contiguous(memory_format=…)` changes nothing."""
    made_predictor, images = made("lenet-5", "diag")
    weights = made_predictor.network.draw_weights(Noise(derive("layout")))
    chosen = Separate(made_predictor.module, [weights])
    kernels = [value for value in chosen.weights[0].values() if value.dim() == 4]
    assert [kernel.shape[1] for kernel in kernels] == [1, 2]
    inputs = network_inputs(made_predictor.settings, images)[:, None]
    with torch.no_grad():
        assert nn.functional.conv2d(inputs, kernels[0]).stride(1) == 1


def test_products_in_bfloat16_are_those_of_autocast() -> None:
    predictor, images = made("lenet-5", "k-linear")
    reduced = dataclasses.replace(predictor, products="bfloat16")
    with torch.autocast("cpu", torch.bfloat16):
        expected = one_by_one(predictor, images, 5)
    found, exact = reduced.sampled(images, 5), predictor.sampled(images, 5)
    np.testing.assert_allclose(found, expected, atol=0.01)
    assert 0 < abs(found - exact).max() < 0.05


# From checkpoints ---------------------------------------------------------------------------


def test_a_checkpoint_predicts_the_same_each_time(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.pt"
    train(dataclasses.replace(tiny_settings, epochs=40), tiny_data, path)
    assert tiny_data.test_inputs is not None
    first, second = (
        Predictor.of(path, tiny_data).predict(tiny_data.test_inputs, 6) for _ in range(2)
    )
    assert first.probabilities.tobytes() == second.probabilities.tobytes()
    seed = Predictor.of(path, tiny_data).seed
    assert seed == derive("prediction", file_digest(path), tiny_data.sha256)
    accuracy = (first.probabilities.argmax(1) == tiny_data.test_labels).mean()
    assert accuracy > 0.5  # of three classes; the networks differ from run to run with the path


def test_an_unfinished_checkpoint_is_refused(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    path = tmp_path / "tiny.pt"

    class Stopped(Exception):
        pass

    def stop(record: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        train(tiny_settings, tiny_data, path, on_epoch=stop)
    with pytest.raises(PacboundError, match=r"not finished: it is at epoch 1 .* --resume"):
        Predictor.of(path, tiny_data)
