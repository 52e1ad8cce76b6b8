"""What is not in the package is registered from outside: it trains, certifies, and is refused."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import pacbound
from pacbound.bounds import inequalities
from pacbound.bounds.arithmetic import Real, log, sqrt
from pacbound.bounds.inequality import KLForm
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset, catalogue, load
from pacbound.data import register as register_data
from pacbound.data.entry import Entry
from pacbound.errors import SettingError
from pacbound.flows.lipschitz import Norm, T
from pacbound.networks import registry as networks
from pacbound.networks.network import Network
from pacbound.posteriors import POSTERIORS, Posterior, PosteriorKind
from pacbound.posteriors import register as register_posterior
from pacbound.posteriors.base import largest
from pacbound.predictors.issuing import Request, certify
from pacbound.recipes import Settings
from pacbound.report.explanation import explain
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train

REQUEST = Request(Decimal("0.05"), draws=600, weights=40, samples=40)


class Isotropic(Posterior):
    """W = M + sE: one scale for all entries."""

    def __init__(self, center: Tensor, scale: float) -> None:
        super().__init__(center)
        self.log_scale = nn.Parameter(center.new_full((), math.log(scale)))

    def noise(self, standard_normal: Tensor) -> Tensor:
        return self.log_scale.exp() * standard_normal

    def log_det(self) -> Tensor:
        return self.mean.numel() * self.log_scale

    def trace(self) -> Tensor:
        return self.mean.numel() * (2 * self.log_scale).exp()

    def lipschitz(self, norm: Norm[T]) -> T:
        return largest(self.log_scale, norm)

    def scales(self) -> list[Tensor]:
        return [self.log_scale.exp()]

    def local_deviation(self, inputs: Tensor) -> Tensor:
        length: Tensor = torch.linalg.vector_norm(inputs, dim=1, keepdim=True)
        return length * self.log_scale.exp()


def complexity(nats: Real, m: Real, delta: Real) -> Real:
    """Looser than Maurer's, so it holds too."""
    return (nats + log(3 * sqrt(m) / delta)) / m


def narrow(input_shape: tuple[int, ...], hidden: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Flatten(), nn.Linear(math.prod(input_shape), 5), nn.Tanh(), nn.Linear(5, classes)
    )


def few(hidden: tuple[int, ...]) -> str | None:
    return "must be empty for narrow" if hidden else None


def assemble(files: Mapping[str, bytes]) -> Dataset:
    generator = np.random.default_rng(5)
    labels = generator.integers(0, 3, 500)
    centers = generator.random((3, 4, 4))
    inputs = (centers[labels] + 0.35 * generator.normal(size=(500, 4, 4))).astype(np.float32)
    return Dataset("toy-blobs", inputs[:300], labels[:300], inputs[300:], labels[300:], 3)


TOY_DATA = Entry("toy-blobs", "made", 300, 200, 3, files=(), sources=(), assemble=assemble)
TOY_INEQUALITY = KLForm(
    name="loose", title="Loose", possessive="the loose one", complexity=complexity
)


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """The toys, for the length of a test."""
    known: list[dict[Any, Any]] = [
        POSTERIORS,
        inequalities.INEQUALITIES,
        networks.NETWORKS,
        catalogue(),
    ]
    before = [dict(each) for each in known]
    register_posterior(PosteriorKind("isotropic", Isotropic))
    inequalities.register(TOY_INEQUALITY)
    networks.register(Network("narrow", narrow, flaw=few))
    register_data(TOY_DATA)
    yield
    for each, content in zip(known, before, strict=True):
        each.clear()
        each.update(content)


def trained(settings: Settings, path: Path, **changes: Any) -> Dataset:
    short: dict[str, Any] = {"epochs": 1, "data": "toy-blobs"}
    data = load("toy-blobs")
    train(dataclasses.replace(settings, **(short | changes)), data, path)
    return data


def refused(certificate: Certificate, tmp_path: Path) -> str:
    """The number of the check that refuses a certificate."""
    path = tmp_path / "c.json"
    certificate.save(path)
    verdict = pacbound.verify(path)
    assert not verdict.accepted
    return verdict.check


def test_a_toy_posterior(tiny_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    data = trained(tiny_settings, path, posterior="isotropic")
    assert "log_scale" in " ".join(Checkpoint.load(path).posterior)
    for predictor in ("gibbs", "draw"):
        request = dataclasses.replace(REQUEST, predictor=predictor)
        with pytest.warns(UserWarning, match="knows no posterior 'isotropic'"):
            certificate = certify(path, data, request)
        assert certificate.model.posterior == "isotropic"
        assert 0 < certificate.risk_bound <= 1
        assert explain(certificate).terms[-1].total == certificate.risk_bound
        assert refused(certificate, tmp_path) == "2.8"


def test_a_toy_inequality(tiny_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    data = trained(tiny_settings, path)
    with pytest.warns(UserWarning, match="knows no inequality 'loose'"):
        certificate = certify(path, data, dataclasses.replace(REQUEST, inequality="loose"))
    ruled = certify(path, data, REQUEST)
    assert ruled.bound.inequality == "xi"
    assert "loose" not in [entry.name for entry in ruled.also]
    assert certificate.bound.inequality == "loose"
    assert ruled.risk_bound < certificate.risk_bound <= 1
    explained = explain(certificate)
    assert explained.terms[-1].total == certificate.risk_bound
    assert any("instead of the loose one" in remedy.change for remedy in explained.remedies)
    assert refused(certificate, tmp_path) == "2.8"
    with pytest.raises(SettingError, match="inequality loose is not for draw"):
        Request(Decimal("0.05"), predictor="draw", inequality="loose")


def test_a_toy_network(tiny_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    with pytest.raises(SettingError, match="setting hidden must be empty for narrow"):
        dataclasses.replace(tiny_settings, network="narrow")
    with pytest.raises(SettingError, match="network narrow is not on its list"):
        trained(tiny_settings, path, network="narrow", hidden=())
    # Only an initialised prior pays for the network, as a word of a list that is frozen.
    learned = {"prior_fraction": 0.5, "prior_epochs": 1}
    data = trained(tiny_settings, path, network="narrow", hidden=(), **learned)
    with pytest.warns(UserWarning, match="knows no network 'narrow'"):
        certificate = certify(path, data, REQUEST)
    assert certificate.model.parameters == 16 * 5 + 5 + 5 * 3 + 3
    assert refused(certificate, tmp_path) == "2.8"


def test_a_toy_data_set_is_accepted(tiny_settings: Settings, tmp_path: Path) -> None:
    data = trained(tiny_settings, tmp_path / "a.pt")
    certificate = certify(tmp_path / "a.pt", data, REQUEST)
    assert certificate.data.name == "toy-blobs"
    certificate.save(tmp_path / "c.json")
    assert pacbound.verify(tmp_path / "c.json").accepted


def test_all_toys_together(tiny_settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    changes = {"posterior": "isotropic", "network": "narrow", "hidden": ()}
    changes |= {"prior_fraction": 0.5, "prior_epochs": 1}
    data = trained(tiny_settings, path, **changes)
    unknown = "posterior 'isotropic', network 'narrow', inequality 'loose'"
    with pytest.warns(UserWarning, match=unknown):
        certificate = certify(path, data, dataclasses.replace(REQUEST, inequality="loose"))
    assert refused(certificate, tmp_path) == "2.8"


def test_names_are_forgotten_where_they_are_not_registered(tiny_settings: Settings) -> None:
    del POSTERIORS["isotropic"], networks.NETWORKS["narrow"]
    for changes in ({"posterior": "isotropic"}, {"network": "narrow"}):
        with pytest.raises(SettingError):
            dataclasses.replace(tiny_settings, **changes)  # type: ignore[arg-type]
