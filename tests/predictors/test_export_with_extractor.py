"""A head on features of a frozen extractor: what is exported contains both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.extractors import extract
from pacbound.predictors.export import export_network, load_exported

M = 120


def extractor(seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten()).eval()


@pytest.fixture
def images() -> Dataset:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, M)
    pixels = generator.integers(0, 150, (M, 1, 6, 6)) + 100 * labels[:, None, None, None]
    return Dataset("images", pixels.astype(np.uint8), labels, None, None, 2)


@pytest.fixture
def features(images: Dataset, tmp_path: Path) -> Dataset:
    return extract(extractor(), images, "other images", tmp_path / "chunks").data


@pytest.mark.parametrize("suffix", [".pt", ".onnx"])
def test_the_exported_network_takes_images(
    images: Dataset, features: Dataset, tmp_path: Path, suffix: str
) -> None:
    if suffix == ".onnx":
        pytest.importorskip("onnxscript")
    net = pacbound.stochastic(nn.Linear(48, 2), "diag")
    checkpoint, target = tmp_path / "head.pt", tmp_path / f"whole{suffix}"
    net.fit(features, epochs=2, batch=30, progress=False, checkpoint=checkpoint)
    certificate = net.certify(features, predictor="draw")
    (declared,) = certificate.model.extractors
    assert declared.sha256 == features.extractor_sha256
    assert declared.origin == "other images"
    assert "extractors of its inputs (number: 1) are declared to be free" in certificate.sentence
    steps = export_network(
        checkpoint, features, certificate, target, nn.Sequential(nn.Linear(48, 2)), extractor()
    )
    assert steps[0] == "as float32; bytes (uint8) divided by 255"
    expected = net.draw(features)(features.train_inputs).detach().numpy()
    found = run(target, images, nn.Sequential(nn.Linear(48, 2)))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def run(target: Path, images: Dataset, module: nn.Module) -> np.ndarray:
    if target.suffix == ".pt":
        return load_exported(target, module, extractor(1))(images.train_inputs).numpy()
    reference = pytest.importorskip("onnx.reference")
    evaluator = reference.ReferenceEvaluator(str(target))
    pixels = images.train_inputs.astype(np.float32) / 255
    (logits,) = evaluator.run(None, {"inputs": pixels})
    return np.asarray(logits)


def test_without_the_extractor_the_description_names_it(features: Dataset, tmp_path: Path) -> None:
    checkpoint = tmp_path / "head.pt"
    module = nn.Sequential(nn.Linear(48, 2))
    net = pacbound.stochastic(module, "diag")
    net.fit(features, epochs=1, batch=30, progress=False, checkpoint=checkpoint)
    certificate = net.certify(features, predictor="draw")
    target = tmp_path / "head-only.pt"
    steps = export_network(checkpoint, features, certificate, target, module)
    assert features.extractor_sha256[:12] in steps[1]
    assert "other images" in steps[1]
    with pytest.raises(PacboundError, match="another one than that of"):
        export_network(checkpoint, features, certificate, target, module, extractor(3))


def test_features_in_a_file_know_the_shape_of_the_inputs(features: Dataset, tmp_path: Path) -> None:
    from pacbound.data import load
    from pacbound.extractors import save_features

    save_features(features, tmp_path / "f.npz")
    read = load(str(tmp_path / "f.npz"))
    assert read.extractor_inputs == (1, 6, 6)
    assert read.extractor_sha256 == features.extractor_sha256


def test_an_extractor_inside_the_module_is_exported_with_it(
    images: Dataset, tmp_path: Path
) -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.front = extractor()
            self.head = nn.Linear(48, 2)

        def forward(self, x: Tensor) -> Tensor:
            return self.head(self.front(x))  # type: ignore[no-any-return]

    prior = pacbound.priors.elsewhere(origin="other images", frozen=["front.*"], fresh=["head.*"])
    module = Both()
    checkpoint, target = tmp_path / "both.pt", tmp_path / "whole.pt"
    net = pacbound.stochastic(module, "diag", prior)
    net.fit(images, epochs=2, batch=30, progress=False, checkpoint=checkpoint)
    certificate = net.certify(images, predictor="draw")
    export_network(checkpoint, images, certificate, target, module)
    weights = torch.load(target, weights_only=True)
    assert torch.equal(weights["front.1.running_var"], module.front[1].running_var)  # type: ignore[index]
    found = load_exported(target, Both())(images.train_inputs)
    torch.testing.assert_close(found, net.draw(images)(images.train_inputs).detach())
