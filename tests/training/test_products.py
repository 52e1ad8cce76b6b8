"""Training with products in bfloat16, and the ways that make it fast, against float64."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.initializers import prior_center
from pacbound.networks.lenet import lenet
from pacbound.networks.mlp import mlp
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.networks.vgg import vgg
from pacbound.posteriors import posterior_named
from pacbound.products import operands, product, products_in
from pacbound.recipes import recipe
from pacbound.seeds import Noise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train

POSTERIORS = ["point", "diag", "k-diag", "k-linear", "k-nonlinear"]
CPU = torch.device("cpu")
MODULES = {
    "mlp": (lambda: mlp((14, 14), [210], 10), (14, 14)),  # wide enough for products in blocks
    "lenet": (lambda: lenet((16, 16), [3, 4, 10], 10), (16, 16)),
    "vgg": (lambda: vgg((3, 32, 32), [4, 4, 6, 6, 8], 10, False), (3, 32, 32)),
}


class Recorded(Noise):
    """Noise of float64 for every type, so that all types see the same."""

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        return super().normal(*shape, dtype=torch.float64).to(dtype)


def gradients(name: str, posterior: str, dtype: torch.dtype, products: str) -> Tensor:
    """Of the cross-entropy and the second moments by all parameters, in one vector of float64."""
    make, shape = MODULES[name]
    module = make()
    center = prior_center(module, "he-normal", 0)
    flow = {"kind": "realnvp", "hidden": [6], "steps": 1, "seed": "0"}
    network = StochasticNetwork(module, center, posterior_named(posterior, **flow), [0.1])
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for key, parameter in network.named_parameters():
            shaken = parameter + 0.02 * torch.randn(parameter.shape, generator=generator)
            parameter.copy_(shaken.tril(-1) if key.endswith("below") else shaken)
    network.to(dtype)
    inputs = torch.randn(12, *shape, generator=generator).to(dtype)
    labels = torch.randint(10, (12,), generator=generator)
    with products_in(products, CPU):
        logits = network(inputs, Recorded(derive("products")), 3)
    loss = torch.nn.functional.cross_entropy(logits.to(dtype), labels)
    moments = [q.second_moment(part.to(dtype)) for _, q, part in network.posteriors(center)]
    (loss + 1e-3 * torch.stack(moments).sum()).backward()
    found = [p.grad.flatten().double() for p in network.parameters() if p.grad is not None]
    return torch.cat(found)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("posterior", POSTERIORS)
def test_gradients_are_those_of_float64(name: str, posterior: str) -> None:
    exact = gradients(name, posterior, torch.float64, "float32")
    single = gradients(name, posterior, torch.float32, "float32")
    short = gradients(name, posterior, torch.float32, "bfloat16")
    assert (single - exact).norm() <= 1e-4 * exact.norm()
    # 8 bits; and rounding may decide which of four values is the largest of a pool.
    assert (short - exact).norm() <= (0.05 if name == "mlp" else 0.2) * exact.norm()
    assert not torch.equal(short, single)


def test_products_are_rounded_only_where_that_is_asked_for() -> None:
    left, right = torch.rand(3, 4), torch.rand(4, 5)
    plain = product(*operands(left, right))
    assert torch.equal(plain, left @ right)
    with products_in("bfloat16", CPU):
        short = product(*operands(left, right))
        double = product(*operands(left.double(), right.double()))
    assert short.dtype == torch.float32 and double.dtype == torch.float64
    assert not torch.equal(short, plain)
    assert (short - plain).norm() < 0.01 * plain.norm()
    assert torch.equal(double, left.double() @ right.double())


@pytest.fixture
def digits() -> Dataset:
    """Images of two kinds that a small network can tell apart."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 2, 400)
    images = generator.integers(0, 100, (400, 8, 8), dtype=np.uint8)
    images[labels == 1, :4] += 100
    return Dataset("made", images, labels, None, None, 2)


@pytest.mark.parametrize("posterior", ["diag", "k-linear", "k-nonlinear"])
def test_a_run_in_bfloat16_learns_the_same(digits: Dataset, tmp_path: Path, posterior: str) -> None:
    flow = {"linear_epochs": 1, "flow_hidden": [6]} if posterior == "k-nonlinear" else {}
    changes = {"posterior": posterior, "epochs": 4, "hidden": [12], "batch": 50, **flow}
    bounds = []
    for products in ("float32", "bfloat16"):
        settings = recipe("mlp-600", {**changes, "products": products, "data": "made"})
        records = []
        path = tmp_path / f"{products}.pt"
        train(settings, digits, path, on_epoch=records.append)
        assert Checkpoint.load(path).settings.products == products
        bounds.append(records[-1].bound)
    assert bounds[1] == pytest.approx(bounds[0], abs=0.02)


def test_a_run_is_continued_in_its_own_arithmetic(digits: Dataset, tmp_path: Path) -> None:
    changes = {"epochs": 2, "hidden": [4], "data": "made", "posterior": "diag"}
    path = tmp_path / "run.pt"

    class Stopped(Exception):
        pass

    def stop(record: object) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        train(recipe("mlp-600", {**changes, "products": "bfloat16"}), digits, path, on_epoch=stop)
    with pytest.raises(PacboundError, match="products"):
        train(recipe("mlp-600", changes), digits, path, resume=True)


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(PacboundError, match="float32 or bfloat16"):
        recipe("mlp-600", {"products": "float16"})
