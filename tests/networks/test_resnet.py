"""The residual network: whitened inputs, mirrored images, certificates around learned priors."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch

from pacbound.certificate.checker import verify
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.residual import ResNet
from pacbound.predictors.issuing import Request, certify
from pacbound.priors.split import split_of
from pacbound.recipes import Settings, recipe
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.learned_prior import learn_prior
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs
from pacbound.training.problem import build_for

change = dataclasses.replace
M = 240


@pytest.fixture(scope="module")
def images() -> Dataset:
    """Images with a bright upper or lower half."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, M)
    inputs = generator.uniform(0, 120, (M, 3, 16, 16))
    inputs[labels == 0, :, :8] += 100
    inputs[labels == 1, :, 8:] += 100
    pixels = inputs.astype(np.uint8)
    return Dataset("halves", pixels, labels, pixels[:20], labels[:20], 2)


@pytest.fixture(scope="module")
def settings() -> Settings:
    return change(
        recipe("cifar-10-resnet-learned"),
        hidden=(4, 8, 8),
        prior_fraction=0.5,
        prior_epochs=5,
        prior_batch=20,
        products="float32",
        prior_products="float32",
    )


def test_the_first_kernels_whiten_patches() -> None:
    generator = torch.Generator().manual_seed(0)
    rough = torch.rand(60, 3, 18, 18, generator=generator)
    smooth = 20 * torch.nn.functional.avg_pool2d(rough, 3, 1)
    network = ResNet((3, 16, 16), [4, 4, 4], 2)
    network.start(smooth)
    outputs = network.whitening(smooth - smooth.mean()).transpose(0, 1).flatten(1).double()
    half = len(outputs) // 2
    assert torch.allclose(outputs[:half], -outputs[half:], atol=1e-3)
    assert torch.allclose(outputs[:half].cov(), torch.eye(half).double(), atol=0.01)
    assert not network.whitening.weight.requires_grad  # a constant of the prior


@pytest.mark.parametrize("shape", [(16, 18), (1, 16, 18), (3, 20, 16)])
def test_an_image_and_its_mirror_image_have_the_same_logits(shape: tuple[int, ...]) -> None:
    network = ResNet(shape, [4, 4, 4], 3, mirrors=True).eval()
    inputs = torch.rand(5, *shape)
    torch.testing.assert_close(network(inputs), network(inputs.flip(-1)))
    plain = ResNet(shape, [4, 4, 4], 3).eval()
    plain.load_state_dict(network.state_dict())
    both = (plain(inputs) + plain(inputs.flip(-1))) / 2
    torch.testing.assert_close(network(inputs), both)
    network.train()  # in training, images are mirrored at random instead
    assert not torch.allclose(network(inputs), network(inputs.flip(-1)))


def test_it_learns_and_is_certified(settings: Settings, images: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "net.pt"
    train(settings, images, path)
    for predictor in ("draw", "fixed", "gibbs"):
        certificate = certify(path, images, Request(Decimal("0.05"), predictor, weights=300))
        certificate.save(tmp_path / "c.json")
        assert verify((tmp_path / "c.json").read_bytes()).accepted
        assert certificate.overall.bound < 0.4


def test_a_draw_has_the_same_weights_for_both_images(settings: Settings, images: Dataset) -> None:
    prior = learn_prior(settings, split_of(settings, images).learned_data(images))
    network = build_for(settings, images, stored=prior).network
    inputs = network_inputs(settings, images.train_inputs[:6])
    for draws in (1, 3):
        first = network(inputs, TrainingNoise(derive("a")), draws)
        torch.testing.assert_close(
            first, network(inputs.flip(-1), TrainingNoise(derive("a")), draws)
        )
        assert not torch.allclose(first, network(inputs, TrainingNoise(derive("b")), draws))


def test_it_needs_a_prior_with_statistics(settings: Settings) -> None:
    with pytest.raises(PacboundError, match="has statistics of the data"):
        change(settings, prior_fraction=0.0)
    with pytest.raises(PacboundError, match="three sizes for resnet"):
        change(settings, hidden=(4, 4))


def test_it_needs_images(settings: Settings) -> None:
    with pytest.raises(PacboundError, match="16×16 or more"):
        ResNet((3, 8, 8), [4, 4, 4], 2)


def test_settings_of_the_priors_training_have_an_effect(
    settings: Settings, images: Dataset
) -> None:
    part = split_of(settings, images).learned_data(images)
    base = learn_prior(settings, part)
    for name, value in (
        ("prior_optimizer", "adamw"),
        ("prior_schedule", "constant"),
        ("prior_smoothing", 0.3),
        ("prior_products", "bfloat16"),
        ("prior_augmentation", "flip-crop"),
    ):
        assert learn_prior(change(settings, **{name: value}), part).sha256 != base.sha256, name
