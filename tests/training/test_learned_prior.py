"""A prior that learned: from its part alone, again the same, and with as much noise as it bears."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pacbound
from pacbound.data import Dataset
from pacbound.errors import PacboundError
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.priors.learned import LearnedPrior
from pacbound.priors.split import Split, split_of
from pacbound.recipes import Settings, recipe
from pacbound.seeds import TrainingNoise, derive
from pacbound.training.descent import Step
from pacbound.training.learned_prior import learn_prior, prior_path
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs, plain_network, with_structure
from pacbound.training.problem import build_for

change = dataclasses.replace
M = 200


class _Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def vectors() -> Dataset:
    """Two clouds in eight dimensions, and tests."""
    generator = np.random.default_rng(3)
    labels = generator.integers(0, 2, M + 50)
    inputs = generator.normal(size=(M + 50, 8)) + 1.2 * labels[:, None]
    inputs = inputs.astype(np.float32)
    return Dataset("vectors", inputs[:M], labels[:M], inputs[M:], labels[M:], 2)


@pytest.fixture
def settings(tiny_settings: Settings) -> Settings:
    return change(
        tiny_settings,
        smoothing=0.0,
        hidden=(6,),
        prior_fraction=0.5,
        prior_epochs=2,
        prior_batch=20,
        prior_learning_rate=0.02,
        epochs=1,
        learning_rate=0.001,
    )


def learned(
    settings: Settings, data: Dataset, split: Split | None = None, **options: Any
) -> LearnedPrior:
    part = (split or split_of(settings, data)).learned_data(data)
    return learn_prior(settings, part, **options)


def same(a: LearnedPrior, b: LearnedPrior) -> bool:
    """Bit for bit."""
    equal = all(torch.equal(a.center[name], b.center[name]) for name in a.center)
    assert (a.sha256 == b.sha256) == equal
    return equal and a.variances == b.variances


def with_example(data: Dataset, place: int, kind: str) -> Dataset:
    """The data with one label or one pixel of one example changed."""
    inputs, labels = data.train_inputs.copy(), data.train_labels.copy()
    if kind == "label":
        labels[place] = 1 - labels[place]
    else:
        inputs[place, 3] += 1
    return change(data, train_inputs=inputs, train_labels=labels)


@pytest.mark.parametrize("kind", ["label", "pixel"])
def test_every_example_of_its_part_has_a_say_and_no_other(
    settings: Settings, vectors: Dataset, kind: str
) -> None:
    split = split_of(settings, vectors)
    first = learned(settings, vectors)
    digest = split.learned_data(vectors).sha256
    for place in split.learned[::33]:
        other = with_example(vectors, int(place), kind)
        assert not same(first, learned(settings, other, split))
        assert split.learned_data(other).sha256 != digest
    for place in split.counted[::33]:
        other = with_example(vectors, int(place), kind)
        assert other.sha256 != vectors.sha256
        assert same(first, learned(settings, other, split))
        assert split.learned_data(other).sha256 == digest


@pytest.mark.parametrize("poison", [np.nan, np.inf, 1e30])
def test_poison_in_what_is_counted_or_tested_is_not_noticed(
    settings: Settings, vectors: Dataset, poison: float
) -> None:
    split = split_of(settings, vectors)
    inputs, labels = vectors.train_inputs.copy(), vectors.train_labels.copy()
    inputs[split.counted], labels[split.counted] = poison, 1 - labels[split.counted]
    tests = np.full_like(vectors.test_inputs, poison)
    assert vectors.test_labels is not None
    poisoned = change(
        vectors,
        train_inputs=inputs,
        train_labels=labels,
        test_inputs=tests,
        test_labels=1 - vectors.test_labels,
    )
    assert same(learned(settings, vectors), learned(settings, poisoned, split))
    inputs = vectors.train_inputs.copy()
    inputs[split.learned[0]] = poison
    if not np.isfinite(poison):
        with pytest.raises(PacboundError, match="diverged"):
            learned(settings, change(vectors, train_inputs=inputs), split)


def test_the_posterior_that_is_trained_around_it_does_not_change_it(
    settings: Settings, vectors: Dataset, tmp_path: Path
) -> None:
    prior = learned(settings, vectors)
    for number, posterior in enumerate(("diag", "k-linear")):
        used = change(settings, posterior=posterior, seed=number, epochs=number + 1)
        checkpoint = train(used, vectors, tmp_path / f"{posterior}.pt")
        assert checkpoint.learned_prior is not None
        assert same(prior, checkpoint.learned_prior)
        assert checkpoint.prior_sha256 == prior.sha256
        assert checkpoint.data["m"] == M
    assert len(list(tmp_path.glob("prior-*.pt"))) == 1  # both share it


@pytest.mark.parametrize(
    "changes", [{}, {"prior_averaging": 0.9, "prior_dropout": 0.3, "prior_weight_decay": 0.1}]
)
@pytest.mark.parametrize("stop_in", [1, 2])
def test_a_prior_that_was_stopped_is_the_one_that_was_not(
    settings: Settings, vectors: Dataset, tmp_path: Path, changes: dict[str, Any], stop_in: int
) -> None:
    settings = change(settings, prior_epochs=3, **changes)
    whole, path = learned(settings, vectors), tmp_path / "prior.pt"

    def stop(step: Step) -> None:
        if step.epoch == stop_in and step.step == 2:
            raise _Stopped

    with pytest.raises(_Stopped):
        learned(settings, vectors, path=path, on_step=stop)
    assert path.exists() == (stop_in > 1)
    epochs: list[int] = []
    again = learned(settings, vectors, path=path, on_step=lambda step: epochs.append(step.epoch))
    assert epochs[0] == stop_in
    assert same(whole, again)
    assert same(whole, learned(settings, vectors, path=path, on_step=stop))  # it is finished


def test_it_continues_with_the_threads_it_began_with(
    settings: Settings, vectors: Dataset, tmp_path: Path
) -> None:
    def stop(step: Step) -> None:
        if step.epoch == 2:
            raise _Stopped

    seen: list[int] = []
    before = torch.get_num_threads()
    path = tmp_path / "prior.pt"
    with pytest.raises(_Stopped):
        learned(settings, vectors, path=path, on_step=stop, threads=2)
    watch = lambda step: seen.append(torch.get_num_threads())  # noqa: E731
    assert learned(settings, vectors, path=path, on_step=watch).threads == 2
    assert set(seen) == {2}
    assert torch.get_num_threads() == before


def test_a_damaged_prior_file_is_said_in_one_line(
    settings: Settings, vectors: Dataset, tmp_path: Path
) -> None:
    part = split_of(settings, vectors).learned_data(vectors)
    path = prior_path(tmp_path / "a.pt", settings, part)
    learned(settings, vectors, path=path)
    content = path.read_bytes()
    for damaged in (b"", b"hello", content[: len(content) // 2], content[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(PacboundError, match="delete it and retrain") as refusal:
            train(settings, vectors, tmp_path / "a.pt")
        assert "\n" not in str(refusal.value)
    torch.save({"format": "other"}, path)
    with pytest.raises(PacboundError, match=r"delete it|is not the prior"):
        train(settings, vectors, tmp_path / "a.pt")
    path.write_bytes(content)
    with pytest.raises(PacboundError, match="is not the prior of these settings"):
        learned(change(settings, prior_seed=1), vectors, path=path)
    assert not (tmp_path / "a.pt").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"prior_dropout": 0.5},
        {"prior_augmentation": "distort"},
        {"prior_augmentation": "flip-crop"},
        {"prior_averaging": 0.9},
        {"prior_weight_decay": 10.0},
        {"prior_seed": 1},
        {"prior_epochs": 3},
        {"prior_learning_rate": 0.01},
        {"split_seed": 1},
    ],
)
def test_how_it_is_trained_takes_effect_and_is_reproducible(
    settings: Settings, tiny_data: Dataset, tmp_path: Path, changes: dict[str, Any]
) -> None:
    first = learned(settings, tiny_data)
    changed = change(settings, **changes)
    other = learned(changed, tiny_data)
    assert not same(first, other)
    assert same(other, learned(changed, tiny_data))
    parts = [split_of(used, tiny_data).learned_data(tiny_data) for used in (settings, changed)]
    path = tmp_path / "a.pt"
    assert prior_path(path, settings, parts[0]) != prior_path(path, changed, parts[1])


def test_nothing_of_it_is_left_on_the_network_by_dropout(
    settings: Settings, vectors: Dataset
) -> None:
    """Units are left out while it trains, and not while its variances are fitted."""
    from pacbound.training.learned_prior import _dropout

    network = plain_network(settings, vectors.input_shape, vectors.classes)
    inputs = network_inputs(settings, vectors.train_inputs)
    with torch.no_grad():
        before = network(inputs)
        with _dropout(network, 0.5, TrainingNoise(derive("test"))):
            assert not torch.equal(network(inputs), before)
        assert torch.equal(network(inputs), before)


@pytest.mark.parametrize("grouping", ["layer", "network"])
@pytest.mark.parametrize("tolerance", [0.001, 0.05, 0.3])
def test_its_noise_costs_no_more_risk_than_the_tolerance(
    settings: Settings, vectors: Dataset, grouping: str, tolerance: float
) -> None:
    """The Gibbs risk on the prior's part, by many more draws than the fit has used."""
    settings = change(
        settings, variance_groups=grouping, prior_tolerance=tolerance, prior_epochs=10
    )
    part = split_of(settings, vectors).learned_data(vectors)
    prior = learn_prior(settings, part)
    inputs = network_inputs(settings, part.train_inputs)
    labels = torch.from_numpy(part.train_labels)
    scales = [variance**0.5 for variance in prior.variances]
    module = plain_network(settings, part.input_shape, part.classes)
    network = StochasticNetwork(module, prior.center, posterior_named("diag"), scales)
    noise = TrainingNoise(derive("many draws"))
    with torch.no_grad():
        calm = (network(inputs, None).argmax(1) != labels).double().mean()
        draws = [(network(inputs, noise).argmax(1) != labels).double().mean() for _ in range(300)]
    noisy = torch.stack(draws).mean()
    # The fit has looked at one draw for each example, and cannot know the risk better than that.
    deviation = float((noisy * (1 - noisy) / part.m).sqrt())
    assert noisy <= calm + tolerance + 3 * deviation
    assert len(prior.variances) == (2 if grouping == "layer" else 1)


def test_more_tolerance_is_more_noise(settings: Settings, vectors: Dataset) -> None:
    small, large = (
        learned(change(settings, prior_tolerance=x, prior_epochs=10), vectors) for x in (0.001, 0.3)
    )
    assert all(a < b for a, b in zip(small.variances, large.variances, strict=True))


@pytest.mark.parametrize("posterior", ["diag", "k-diag", "k-linear", "k-nonlinear"])
def test_the_posterior_starts_as_the_prior(
    settings: Settings, vectors: Dataset, posterior: str
) -> None:
    prior = learned(settings, vectors)
    problem = build_for(change(settings, posterior=posterior), vectors, stored=prior)
    for name, q, part in problem.network.posteriors(prior.center):
        with torch.no_grad():
            noise = torch.randn(q.shape, generator=torch.Generator().manual_seed(0))
            variance = dict(zip(problem.network.layers, prior.variances, strict=True))[name]
            expected = part + variance**0.5 * noise
            assert torch.allclose(q.sample(noise), expected, rtol=1e-5, atol=1e-6)


def test_a_center_that_learned_nothing_is_refused(settings: Settings, vectors: Dataset) -> None:
    with pytest.raises(PacboundError, match="learned nothing"):
        learned(change(settings, initializer="zeros", hidden_bias=0.0), vectors)


def test_divergence_is_said_in_one_line(settings: Settings, vectors: Dataset) -> None:
    with pytest.raises(PacboundError, match="the prior's training diverged"):
        learned(change(settings, prior_learning_rate=1e20), vectors)


class Normalised(torch.nn.Module):
    """Batch normalisation, dropout, and a table of constants."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(8, 6)
        self.norm = torch.nn.BatchNorm1d(6)
        self.drop = torch.nn.Dropout(0.2)
        self.last = torch.nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.drop(self.norm(self.first(x)).relu())
        return self.last(hidden)  # type: ignore[no-any-return]


@pytest.fixture
def normalised(settings: Settings) -> Settings:
    module = recipe("module", {"prior_fraction": 0.5, "prior_epochs": 3, "prior_batch": 20})
    return change(module, posterior="diag", epochs=1, prior_averaging=0.5, data="vectors")


def test_statistics_of_batch_normalisation_are_of_the_priors_part(
    normalised: Settings, vectors: Dataset
) -> None:
    """They are those of the averaged centre, over its part, and nothing else moves them."""
    torch.manual_seed(5)
    module = Normalised()
    chosen = with_structure(normalised, module)
    part = split_of(chosen, vectors).learned_data(vectors)
    prior = learn_prior(chosen, part, module=module)
    inputs = torch.from_numpy(part.train_inputs)
    hidden = inputs @ prior.center["first.weight"].T + prior.center["first.bias"]
    torch.testing.assert_close(prior.center["norm.running_mean"], hidden.mean(0))
    between = prior.center["norm.running_var"] / hidden.var(0)
    assert ((between > 0.5) & (between < 1.2)).all()  # the mean of variances within batches
    # What the module brings along is not used: neither its weights nor its statistics.
    other = Normalised()
    other.norm.running_mean.fill_(1e3)  # type: ignore[union-attr, operator]
    assert same(prior, learn_prior(chosen, part, module=other))
    assert {"norm.weight", "norm.running_var", "last.bias"} < set(prior.center)
    assert "norm.num_batches_tracked" not in prior.center


def test_a_network_with_batch_normalisation_is_trained_resumed_and_certified(
    normalised: Settings, vectors: Dataset, tmp_path: Path
) -> None:
    other = tmp_path / "other" / "b.pt"  # with a file of the prior of its own
    other.parent.mkdir()
    whole = train(normalised, vectors, tmp_path / "a.pt", module=Normalised())

    def stop(at: Step) -> None:
        if at.phase == "prior" and at.epoch == 2:
            raise _Stopped

    with pytest.raises(_Stopped):
        train(normalised, vectors, other, on_step=stop, module=Normalised())
    again = train(normalised, vectors, other, module=Normalised())
    assert again.prior_sha256 == whole.prior_sha256
    assert all(torch.equal(again.posterior[k], v) for k, v in whole.posterior.items())
    loaded = pacbound.load(tmp_path / "a.pt", Normalised())
    certificate = loaded.certify(vectors, predictor="draw")
    assert certificate.model.parameters == 8 * 6 + 6 + 6 * 2 + 2
    assert certificate.model.frozen == 4 * 6  # scale, shift, mean, variance
    network = loaded.draw(vectors)
    counted = split_of(loaded.settings, vectors).counted_data(vectors)
    wrong = network(counted.train_inputs).argmax(1).numpy() != counted.train_labels
    assert certificate.overall.errors == wrong.sum()
    certificate.save(tmp_path / "c.json")
    assert pacbound.verify(tmp_path / "c.json").accepted


@pytest.mark.parametrize("batch", [1, 33])
def test_a_batch_of_one_example_is_refused(
    normalised: Settings, vectors: Dataset, batch: int
) -> None:
    with pytest.raises(PacboundError, match=f"another prior_batch than {batch}"):
        train(change(normalised, prior_batch=batch), vectors, module=Normalised())


def test_outputs_in_training_mode_must_be_logits(normalised: Settings, vectors: Dataset) -> None:
    class Two(Normalised):
        def forward(self, x: torch.Tensor) -> Any:
            logits = super().forward(x)
            return (logits, x) if self.training else logits

    with pytest.raises(PacboundError, match="a tuple in training mode"):
        train(normalised, vectors, module=Two())


def test_declared_constants_are_part_of_the_prior(
    normalised: Settings, vectors: Dataset, tmp_path: Path
) -> None:
    """Two modules with other constants do not share the file of a prior."""

    class Shifted(Normalised):
        def __init__(self, shift: float) -> None:
            super().__init__()
            self.register_buffer("shift", torch.full((8,), shift))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x + self.shift)

    settings = change(normalised, constants=("shift",))
    for number, shift in enumerate((0.0, 3.0)):
        made = train(settings, vectors, tmp_path / f"{number}.pt", module=Shifted(shift))
        assert made.stored_prior is not None
        assert made.stored_prior.center["shift"].unique().tolist() == [shift]


@pytest.mark.parametrize("averaging", [0.0, 0.9])
@pytest.mark.parametrize("posterior", ["diag", "k-linear"])
def test_a_posterior_that_gains_nothing_returns_to_its_prior(
    settings: Settings, vectors: Dataset, posterior: str, averaging: float
) -> None:
    """Any posterior may be chosen, so also the prior, whose KL is 0."""
    wild = change(settings, posterior=posterior, learning_rate=0.5, averaging=averaging)
    shown: list[Any] = []
    checkpoint = train(wild, vectors, on_epoch=shown.append)
    assert shown[-1].kl == pytest.approx(0, abs=1e-3)
    fresh = build_for(wild, vectors, stored=checkpoint.stored_prior).network.state_dict()
    for name, value in checkpoint.posterior.items():
        assert torch.equal(value, fresh[name]), name


def test_a_posterior_that_gains_moves(settings: Settings, vectors: Dataset) -> None:
    """A prior that learned next to nothing is left behind."""
    poor = change(
        settings, prior_learning_rate=1e-6, prior_tolerance=0.3, epochs=60, learning_rate=0.02
    )
    shown: list[Any] = []
    train(poor, vectors, on_epoch=shown.append)
    assert shown[-1].kl > 1
