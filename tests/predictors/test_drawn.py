"""One drawn network: its density against independent ones, its errors, its export."""

from __future__ import annotations

import dataclasses
import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal

from pacbound.bounds.density_ratio import log_density_ratio
from pacbound.bounds.prior_grid import variance
from pacbound.certificate import checker
from pacbound.certificate.format import Certificate, Variance
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.near_ties import TIE
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import POSTERIORS
from pacbound.predictors import PREDICTORS, terms
from pacbound.predictors.divergence import exact_primitives
from pacbound.predictors.drawing import draw_network
from pacbound.predictors.evidence import drawn, exact_kl
from pacbound.predictors.export import description_path, export_network, load_exported
from pacbound.predictors.issuing import Request, certify, posterior_of
from pacbound.predictors.judging import Judged
from pacbound.predictors.risk import is_error, possible_classes
from pacbound.recipes import Settings, recipe
from pacbound.seeds import Noise, derive
from pacbound.training.checkpoints import Checkpoint
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network
from pacbound.training.problem import build_for

NOISY = [name for name, kind in POSTERIORS.items() if kind.has_noise]

change = dataclasses.replace
REQUEST = Request(Decimal("0.035"), predictor="draw")
SEED = "ab" * 32


def with_posterior(settings: Settings, posterior: str) -> Settings:
    if posterior != "k-nonlinear":
        return change(settings, posterior=posterior)
    return change(settings, posterior=posterior, linear_epochs=2, flow_hidden=(6,))


def stirred(
    settings: Settings, data: Dataset, size: float = 0.2
) -> tuple[StochasticNetwork, dict[str, Tensor]]:
    """A network with every parameter moved."""
    problem = build_for(settings, data)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in problem.network.named_parameters():
            parameter.add_(size * torch.randn(parameter.shape, generator=generator))
            if name.endswith("below"):
                parameter.tril_(-1)
    return problem.network, problem.center


def value(entry: Variance) -> float:
    return float(entry.value) if entry.value is not None else variance(entry.index)


def normals(network: StochasticNetwork, center: dict[str, Tensor], seed: str) -> list[Tensor]:
    """The noise of `draw_network`, drawn once more."""
    source = Noise(derive("drawn weights", seed))
    return [source.normal(*q.shape, dtype=torch.float64) for _, q, _ in network.posteriors(center)]


# The density --------------------------------------------------------------------------------


@pytest.mark.parametrize("posterior", NOISY)
def test_the_ratio_is_that_of_the_densities(
    tiny_settings: Settings, tiny_data: Dataset, posterior: str
) -> None:
    """Gaussians by a dense covariance, K-Nonlinear by the change of variables at the draw."""
    settings = with_posterior(change(tiny_settings, hidden=(3,)), posterior)
    network, center = stirred(settings, tiny_data)
    groups = draw_network(network, center, "layer", SEED).groups
    variances, evidence = drawn(groups, "0" * 64)
    precise = network.double()
    expected = 0.0
    noises = normals(precise, center, SEED)
    for (name, q, part), e in zip(precise.posteriors(center), noises, strict=True):
        d = e.numel()
        with torch.no_grad():
            w = q.sample(e).flatten()
        (prior_variance,) = [value(entry) for entry in variances if entry.name == name]
        eye = torch.eye(d, dtype=torch.float64)
        prior = MultivariateNormal(part.double().flatten(), prior_variance * eye)
        jacobian = torch.autograd.functional.jacobian(q.noise, e).reshape(d, d)
        if posterior == "k-nonlinear":
            base = torch.distributions.Normal(0.0, 1.0).log_prob(e).sum()
            log_q = base - torch.linalg.slogdet(jacobian).logabsdet
        else:
            mean = q.mean.detach().flatten()
            log_q = MultivariateNormal(mean, jacobian @ jacobian.T).log_prob(w)
        expected += float(log_q - prior.log_prob(w))
    assert float(evidence.nats) == pytest.approx(expected, rel=1e-9, abs=2e-6)
    assert float(evidence.nats) >= expected - 1e-9 * abs(expected)


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear"])
def test_its_mean_is_the_kl(tiny_settings: Settings, tiny_data: Dataset, posterior: str) -> None:
    settings = change(tiny_settings, posterior=posterior, hidden=(3,))
    network, center = stirred(settings, tiny_data)
    variances, kl = exact_kl(exact_primitives(network, center, "layer"))
    precise = network.double()
    ratios = []
    for draw in range(400):
        groups = draw_network(precise, center, "layer", derive("mean", draw)).groups
        ratios.append(
            sum(
                log_density_ratio(g.distance_sq, g.noise_sq, g.log_det, g.parameters, value(v))
                for g, v in zip(groups, variances, strict=True)
            )
        )
    error = np.std(ratios) / math.sqrt(len(ratios))
    assert abs(np.mean(ratios) - float(kl.nats)) < 5 * error
    assert error < 0.05 * float(kl.nats)  # the test would see a term left out


def test_primitives_are_rounded_outward(tiny_settings: Settings, tiny_data: Dataset) -> None:
    network, center = stirred(change(tiny_settings, posterior="diag"), tiny_data)
    (group,) = draw_network(network, center, "network", SEED).groups
    precise = network.double()
    noises = normals(precise, center, SEED)
    squares, distances = [], []
    for (_, q, part), e in zip(precise.posteriors(center), noises, strict=True):
        squares += [x * x for x in e.flatten().tolist()]
        with torch.no_grad():
            distances += [x * x for x in (q.sample(e) - part).flatten().tolist()]
    assert group.noise_sq <= math.fsum(squares)
    assert group.distance_sq >= math.fsum(distances)
    assert group.noise_sq == pytest.approx(math.fsum(squares), rel=1e-11)
    assert group.distance_sq == pytest.approx(math.fsum(distances), rel=1e-11)
    log_det = sum(float(q.log_det().detach()) for _, q, _ in precise.posteriors(center))
    assert group.log_det <= log_det


def test_the_weights_are_the_draw_rounded(tiny_settings: Settings, tiny_data: Dataset) -> None:
    network, center = stirred(tiny_settings, tiny_data)
    weights = draw_network(network, center, "layer", SEED).weights
    assert all(w.dtype == torch.float32 and w.is_contiguous() for w in weights.values())
    module = plain_network(tiny_settings, tiny_data.input_shape, tiny_data.classes)
    assert list(weights) == list(module.state_dict())
    again = network.double().draw_weights(Noise(derive("drawn weights", SEED)))
    assert all(torch.equal(again[name].float(), weights[name]) for name in weights)


# The certificate ----------------------------------------------------------------------------


@pytest.fixture
def trained(tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "a.pt"
    train(change(tiny_settings, epochs=6), tiny_data, path)
    return path


def exported_errors(path: Path, certificate: Certificate, data: Dataset, target: Path) -> int:
    """Errors of the files that an export leaves, on the raw training inputs."""
    export_network(path, data, certificate, target)
    logits = load_exported(target)(data.train_inputs)
    return int(is_error(logits, torch.from_numpy(data.train_labels)).sum())


@pytest.mark.parametrize("grouping", ["layer", "network"])
@pytest.mark.parametrize("posterior", NOISY)
def test_from_training_to_the_exported_network(
    tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path, posterior: str, grouping: str
) -> None:
    settings = with_posterior(change(tiny_settings, variance_groups=grouping), posterior)
    path = tmp_path / "a.pt"
    train(change(settings, epochs=4), tiny_data, path)
    certificate = certify(path, tiny_data, REQUEST)
    assert checker.verify(certificate.to_json().encode()).accepted
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert certificate.predictor == "draw"
    assert certificate.bound.inequality == "density"
    assert certificate.claims[0].delta == certificate.delta
    target = tmp_path / "net.pt"
    assert exported_errors(path, certificate, tiny_data, target) == certificate.claims[0].errors
    weights = torch.load(target, weights_only=True)
    assert tensors_digest(weights) == certificate.evidence.weights_sha256
    held_out = certificate.held_out
    assert held_out is not None
    assert tiny_data.test_inputs is not None
    assert tiny_data.test_labels is not None
    logits = load_exported(target)(tiny_data.test_inputs)
    wrong = int(is_error(logits, torch.from_numpy(tiny_data.test_labels)).sum())
    assert (held_out.errors, held_out.examples) == (wrong, len(tiny_data.test_labels))
    steps = terms(certificate)
    assert steps[-1].total == pytest.approx(certificate.risk_bound)
    assert [step.name for step in steps][1] == "ln dq/dp of the draw"
    assert "Monte Carlo" not in "".join(step.name for step in steps)


@pytest.mark.parametrize("posterior", ["diag", "k-nonlinear"])
def test_a_convolutional_network(tmp_path: Path, posterior: str) -> None:
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 3, 120)
    inputs = generator.random((120, 16, 16)) * 0.3
    for k, label in enumerate(labels):
        inputs[k, 5 * label : 5 * label + 5] += 0.7
    images = Dataset("stripes", inputs.astype(np.float32), labels, None, None, 3)
    overrides = {"posterior": posterior, "epochs": 1, "batch": 60, "flow_hidden": [4]}
    sizes = {"hidden": [4, 6, 10], "linear_epochs": int(posterior == "k-nonlinear")}
    path = tmp_path / "a.pt"
    train(recipe("lenet-5", {**overrides, **sizes}), images, path)
    certificate = certify(path, images, REQUEST)
    assert checker.verify(certificate.to_json().encode()).accepted
    assert certificate.held_out is None
    errors = exported_errors(path, certificate, images, tmp_path / "net.pt")
    assert errors == certificate.claims[0].errors


def test_the_exported_state_dict_is_an_ordinary_one(
    trained: Path, tiny_settings: Settings, tiny_data: Dataset, tmp_path: Path
) -> None:
    certificate = certify(trained, tiny_data, REQUEST)
    target = tmp_path / "net.pt"
    steps = export_network(trained, tiny_data, certificate, target)
    module = plain_network(tiny_settings, tiny_data.input_shape, tiny_data.classes)
    module.load_state_dict(torch.load(target, weights_only=True))
    with torch.no_grad():
        logits = module(network_inputs(tiny_settings, tiny_data.train_inputs))
    assert torch.equal(logits, load_exported(target)(tiny_data.train_inputs))
    description = json.loads(description_path(target).read_text())
    assert description["inputs"] == steps
    assert any("smoothing" in step for step in steps)
    assert description["claim"] == certificate.sentence


def test_the_onnx_graph_errs_where_the_network_does(
    trained: Path, tiny_data: Dataset, tmp_path: Path
) -> None:
    onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
    pytest.importorskip("onnxscript")
    from onnx.reference import ReferenceEvaluator

    certificate = certify(trained, tiny_data, REQUEST)
    target = tmp_path / "net.onnx"
    steps = export_network(trained, tiny_data, certificate, target)
    assert not any("smoothing" in step or "times" in step for step in steps)
    assert str(Path.cwd()).encode() not in target.read_bytes()
    graph = ReferenceEvaluator(onnx.load(target))
    (logits,) = graph.run(None, {"inputs": tiny_data.train_inputs})
    wrong = is_error(torch.from_numpy(logits), torch.from_numpy(tiny_data.train_labels))
    assert int(wrong.sum()) == certificate.claims[0].errors


def test_only_the_certified_network_is_exported(
    trained: Path, tiny_data: Dataset, tmp_path: Path
) -> None:
    target = tmp_path / "net.pt"
    drawn = certify(trained, tiny_data, REQUEST)
    assert drawn.evidence is not None
    other = change(drawn, evidence=change(drawn.evidence, weights_sha256="0" * 64))
    with pytest.raises(PacboundError, match="do not give the certificate's network"):
        export_network(trained, tiny_data, other, target)
    gibbs = certify(trained, tiny_data, Request(Decimal("0.035"), draws=600))
    with pytest.raises(PacboundError, match="the predictor draw"):
        export_network(trained, tiny_data, gibbs, target)
    with pytest.raises(PacboundError, match=r"\.pt or \.onnx"):
        export_network(trained, tiny_data, drawn, tmp_path / "net.bin")
    assert not target.exists()
    export_network(trained, tiny_data, drawn, target)
    weights = torch.load(target, weights_only=True)
    next(iter(weights.values())).view(-1)[0] += 1
    torch.save(weights, target)
    with pytest.raises(PacboundError, match="is not the network"):
        load_exported(target)


# The draw -----------------------------------------------------------------------------------


def test_there_is_one_draw_for_a_checkpoint_and_its_data(
    trained: Path, tiny_data: Dataset, tmp_path: Path
) -> None:
    first, again = (certify(trained, tiny_data, REQUEST) for _ in range(2))
    other_delta = certify(trained, tiny_data, change(REQUEST, delta=Decimal("0.1")))
    assert change(again, made=first.made) == first
    assert first.claims[0].errors == other_delta.claims[0].errors
    assert first.evidence == other_delta.evidence
    # Neither the file nor what is idle in it has a say.
    change(Checkpoint.load(trained), epoch=99).save(tmp_path / "b.pt")
    assert certify(tmp_path / "b.pt", tiny_data, REQUEST).seeds == first.seeds


def test_no_seed_can_be_asked_for() -> None:
    assert not [field.name for field in dataclasses.fields(Request) if "seed" in field.name]


def test_other_inequalities_are_refused() -> None:
    with pytest.raises(PacboundError, match="choose from binomial, density"):
        change(REQUEST, inequality="mcallester")
    with pytest.raises(PacboundError, match="did you mean 'draw'"):
        Request(Decimal("0.1"), predictor="drawn")
    with pytest.raises(PacboundError, match="did you mean 'maurer'"):
        Request(Decimal("0.1"), inequality="mauer")


def test_the_default_inequality_is_the_predictors(trained: Path, tiny_data: Dataset) -> None:
    gibbs = certify(trained, tiny_data, Request(Decimal("0.035"), draws=600))
    assert (gibbs.bound.inequality, gibbs.bound.selected) == ("xi", "rule")
    drawn = certify(trained, tiny_data, change(REQUEST, inequality="binomial"))
    assert (drawn.bound.inequality, drawn.bound.selected) == ("binomial", "beforehand")
    with pytest.raises(PacboundError, match="candidates=2"):  # before anything is sampled
        change(REQUEST, inequality="binomial", inequality_seen=True)
    with pytest.raises(PacboundError, match="candidates=2"):  # the rule's was kept, after a look
        change(REQUEST, inequality_seen=True)
    both = change(REQUEST, inequality="binomial", inequality_seen=True, candidates=2)
    assert certify(trained, tiny_data, both).bound.selected == "candidate"


def test_certificates_are_paid_for(trained: Path, tiny_data: Dataset) -> None:
    one, many = (certify(trained, tiny_data, change(REQUEST, certificates=n)) for n in (1, 1000))
    gained = float(many.bound.ledger - one.bound.ledger)
    assert gained == pytest.approx(math.log(1000), abs=1e-5)


def failure(certificate: Certificate) -> float:
    """The probability that a certificate's claims are false, at most; by section 8 of SPEC.md."""
    entry, tried = certificate.ledger.certificates, certificate.ledger.candidates
    factor = entry.number if entry.counted == "declared" else math.pi**2 * entry.number**2 / 6
    shares = float(sum(claim.delta for claim in certificate.claims)) / tried
    if not PREDICTORS[certificate.predictor].sampled:
        return shares / factor
    return shares + float(sum(claim.delta_risk or 0 for claim in certificate.claims)) / factor


@pytest.mark.parametrize("counted", ["declared", "place"])
def test_the_better_of_two_predictors_needs_candidates_too(
    trained: Path, tiny_data: Dataset, counted: str
) -> None:
    """`certificates` alone leaves the share of a sampled predictor's inequality as it is."""

    def total(candidates: tuple[int, int]) -> float:
        found = []
        for number, predictor in enumerate(("draw", "gibbs"), 1):
            entry = {"certificates": 2} if counted == "declared" else {"place": number}
            request = change(
                REQUEST, predictor=predictor, candidates=candidates[number - 1], **entry
            )
            found.append(failure(certify(trained, tiny_data, request)))
        return sum(found)

    delta = float(REQUEST.delta)
    assert total((1, 1)) > delta
    assert total((1, 2 if counted == "declared" else 7)) <= delta * (1 + 1e-12)


def test_the_prior_is_made_again(trained: Path, tiny_data: Dataset, tmp_path: Path) -> None:
    change(Checkpoint.load(trained), prior_sha256="0" * 64).save(tmp_path / "b.pt")
    with pytest.raises(PacboundError, match="does not give the prior"):
        certify(tmp_path / "b.pt", tiny_data, REQUEST)
    center = posterior_of(Checkpoint.load(trained), tiny_data).center
    assert tensors_digest(center) == certify(trained, tiny_data, REQUEST).prior.sha256


def test_what_is_surely_right_is_a_member_of_one_predicted_class() -> None:
    """At the edge of a near tie the margin and the least possible logit may round differently."""
    own = torch.linspace(1, 10, 10_000)
    logits = torch.stack([own, own - TIE * own], 1)
    labels = torch.zeros(len(own), dtype=torch.long)
    judged = Judged.of(logits, labels)
    right = ~judged.wrong
    assert 0.2 < right.mean() < 0.8
    assert possible_classes(logits)[torch.from_numpy(right)].all()  # both, by themselves
    assert (judged.possible[right] == [True, False]).all()
    assert judged.possible[judged.wrong].all()
