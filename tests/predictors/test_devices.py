"""Posteriors, training, certificates and predictions on every device that is there.

Where there is no GPU, torch's device `meta`, whose tensors have no values, shows that nothing is
left on the CPU.
"""

from __future__ import annotations

import copy
import dataclasses
from decimal import Decimal
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from torch import Tensor, nn

from pacbound.certificate import checker
from pacbound.data import Dataset
from pacbound.devices import Arithmetic, available, device_named
from pacbound.errors import PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.vgg import vgg
from pacbound.posteriors import POSTERIORS, posterior_named
from pacbound.predict import Predictor
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import Settings
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.augmentation import augmented
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.training.objectives import objective_named
from pacbound.training.prior_variance import PriorVariance
from pacbound_cli import cli

change = dataclasses.replace
FLOW = {"kind": "iaf", "hidden": [4], "steps": 2, "seed": "0"}
REQUEST = Request(Decimal("0.035"), draws=3000, weights=200, samples=100)
devices = pytest.mark.parametrize("device", available())
NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]
families = pytest.mark.parametrize("family", sorted(NOISY))
ABSENT = sorted({"cuda", "mps"} - set(available()))


def network_of(family: str) -> tuple[StochasticNetwork, dict[str, Tensor]]:
    """A convolution and a dense layer, with every parameter moved."""
    module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3))
    center = prior_center(module, "he-normal", 0)
    network = StochasticNetwork(module, center, posterior_named(family, **FLOW), [0.2])
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator))
            if name.endswith("below"):
                parameter.tril_(-1)
    return network, center


def moved(tensors: dict[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {name: value.to(device) for name, value in tensors.items()}


@devices
@families
def test_outputs_and_kl_are_those_of_the_cpu(family: str, device: str) -> None:
    network, center = network_of(family)
    place = device_named(device)
    inputs = torch.randn(6, 1, 4, 4, generator=torch.Generator().manual_seed(1))

    def figures(network: StochasticNetwork, where: torch.device) -> list[Tensor]:
        source = TrainingNoise(derive("devices"), where)
        outputs = network(inputs.to(where), source, 2)
        variance = PriorVariance(network, moved(center, where), "layer", "profiled", None)
        kl, union = variance()
        gradients = torch.autograd.grad(
            outputs.square().mean() + kl, list(network.parameters()), allow_unused=True
        )
        used = [g for g in gradients if g is not None]
        return [value.detach().cpu() for value in (outputs, kl, union, *used)]

    here = figures(copy.deepcopy(network), torch.device("cpu"))
    there = figures(copy.deepcopy(network).to(place), place)
    for one, other in zip(here, there, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-3, atol=1e-4)


@devices
@pytest.mark.parametrize("kind", [Noise, TrainingNoise])
def test_noise_is_the_same_everywhere(kind: type[Noise], device: str) -> None:
    here, there = kind(derive("noise")), kind(derive("noise"), device_named(device))
    assert torch.equal(there.normal(3, 4).cpu(), here.normal(3, 4))
    assert torch.equal(there.uniform(5).cpu(), here.uniform(5))
    assert torch.equal(there.choice(9, 7).cpu(), here.choice(9, 7))
    assert torch.equal(there.permutation(20).cpu(), here.permutation(20))
    assert there.normal(1).device.type == device


@devices
@pytest.mark.parametrize("posterior", ["diag", "k-nonlinear"])
def test_training_certifying_and_predicting_agree_with_the_cpu(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str, device: str
) -> None:
    flow = {"flow_hidden": (6,), "linear_epochs": 1} if posterior == "k-nonlinear" else {}
    settings = change(tiny_settings, posterior=posterior, averaging=0.9, **flow)
    place = device_named(device)
    paths = [tmp_path / "here.pt", tmp_path / "there.pt"]
    train(settings, tiny_data, paths[0])
    train(settings, tiny_data, paths[1], arithmetic=Arithmetic(place))
    here, there = (Checkpoint.load(path).posterior for path in paths)
    for name, value in here.items():
        assert there[name].device.type == "cpu"
        torch.testing.assert_close(there[name], value, rtol=1e-2, atol=1e-3)
    request = change(REQUEST, device=device)
    certificates = [certify(paths[0], tiny_data, asked) for asked in (REQUEST, request)]
    assert all(checker.verify(each.to_json().encode()).accepted for each in certificates)
    # The same draws: only near ties, which rounding decides, may differ.
    bounds = [each.risk_bound for each in certificates]
    assert bounds[1] == pytest.approx(bounds[0], abs=0.002)
    probabilities = [
        Predictor.of(paths[0], tiny_data, device=at).predict(tiny_data.test_inputs, 3).probabilities
        for at in (torch.device("cpu"), place)
    ]
    torch.testing.assert_close(*map(torch.from_numpy, probabilities), rtol=1e-3, atol=1e-4)


def test_float64_is_resumed_and_leaves_float32(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    double = Arithmetic.named("cpu", "float64")

    class Stopped(Exception):
        pass

    def stop(record: object) -> None:
        raise Stopped

    path = tmp_path / "double.pt"
    with pytest.raises(Stopped):
        train(tiny_settings, tiny_data, path, on_epoch=stop, arithmetic=double)
    train(tiny_settings, tiny_data, path, resume=True, arithmetic=double)
    train(tiny_settings, tiny_data, tmp_path / "whole.pt", arithmetic=double)
    train(tiny_settings, tiny_data, tmp_path / "single.pt")
    resumed, whole, single = (
        Checkpoint.load(tmp_path / f"{name}.pt").posterior for name in ("double", "whole", "single")
    )
    for name, value in whole.items():
        assert value.dtype == torch.float32
        assert torch.equal(resumed[name], value)
    assert any(not torch.equal(single[name], whole[name]) for name in whole)
    certify(path, tiny_data, REQUEST)


# Devices that are not there -----------------------------------------------------------------


@pytest.mark.parametrize("device", ABSENT)
@pytest.mark.parametrize(
    "command", [["train", "mlp-600"], ["certify", "a.pt"], ["predict", "a.pt"], ["vi", "vgg-16"]]
)
def test_a_device_that_is_not_there_is_refused_in_one_line(command: list[str], device: str) -> None:
    result = CliRunner().invoke(cli, [*command, "--device", device])
    assert result.exit_code == 2
    assert result.stderr == f"Error: there is no device {device} here, only cpu\n"


def test_what_a_device_cannot_do_is_refused() -> None:
    with pytest.raises(PacboundError, match="mps has no float64"):
        Arithmetic.named("mps", "float64")
    with pytest.raises(PacboundError, match="unknown device"):
        device_named("cude")
    with pytest.raises(PacboundError, match="a GPU is cuda"):
        device_named("gpu")
    result = CliRunner().invoke(cli, ["certify", "a.pt", "--predictor", "draw", "--device", "cpu"])
    assert result.exit_code == 2
    assert "the others do not sample" in result.stderr


@pytest.mark.parametrize("family", sorted(NOISY))
def test_nothing_of_a_pass_is_left_on_the_cpu(family: str) -> None:
    module = vgg((3, 32, 32), [2, 2, 3, 3, 4], 5, batch_norm=True)
    center = prior_center(module, "he-normal", 0)
    network = StochasticNetwork(module, center, posterior_named(family, **FLOW), [0.2]).to("meta")
    there = moved(center, torch.device("meta"))
    source = TrainingNoise(derive("nowhere"), "meta")
    total = network(torch.empty(6, 3, 32, 32, device="meta"), source, 3).sum()
    for grouping in ("layer", "network"):
        # Prior variances that are chosen have a price, which reads their values.
        variance = PriorVariance(network, there, grouping, "fixed", None)
        total = total + sum(variance()) + sum(variance.second_moments())
    assert total.is_meta


@pytest.mark.parametrize("kind", ["flip", "flip-crop", "distort"])
def test_nothing_of_an_augmentation_is_left_on_the_cpu(kind: str) -> None:
    images = torch.empty(6, 3, 32, 32, device="meta")
    assert augmented(kind, images, Noise(derive("nowhere"), "meta")).is_meta


@pytest.mark.parametrize("name", ["catoni-trained", "pinsker", "quadratic"])
def test_nothing_of_an_objective_is_left_on_the_cpu(name: str) -> None:
    """The others read the values of their tensors, of which these have none."""
    risk, nats = torch.empty((), device="meta"), torch.empty((), device="meta")
    assert objective_named(name, 1000, 0.05).to("meta")(risk, nats).is_meta
