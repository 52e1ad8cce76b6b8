"""The main Python object: a module with a posterior over its weights."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.data.given import dataset_given
from pacbound.devices import Arithmetic
from pacbound.errors import CheckpointError, DataError, SettingError
from pacbound.networks.digests import tensors_digest
from pacbound.networks.input_map import InputMap
from pacbound.networks.own import prepared
from pacbound.networks.registry import network_named
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.posteriors import posterior_named
from pacbound.predict.predictor import Predictor
from pacbound.predictors import predictor_named
from pacbound.predictors.applied import Applied, network_of, predictions
from pacbound.predictors.budget import parse_delta
from pacbound.predictors.chunks import Sampler, silent
from pacbound.predictors.claims import Costs, Wanted, claims_named
from pacbound.predictors.export import draw_certified
from pacbound.predictors.issuing import Request, issue
from pacbound.predictors.threshold import parse_threshold
from pacbound.priors import kind_of
from pacbound.priors.choices import prior_choices
from pacbound.priors.declared import Elsewhere, Initialised
from pacbound.priors.from_elsewhere import copied_state, elsewhere_prior
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings, candidate_keys, recipe
from pacbound.recipes.commands import GIVEN
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.checkpoints import Checkpoint, described, restored, stored
from pacbound.training.choosing import chosen_network
from pacbound.training.descent import OptimizerFactory, Step
from pacbound.training.given_prior import ensure_unseen, given_prior
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.loop import train
from pacbound.training.networks import constancy, network_inputs, plain_network, with_structure
from pacbound.training.notebook_bar import notebook_bar
from pacbound.training.prior_variance import PriorVariance, Tail
from pacbound.training.problem import Problem, build
from pacbound.training.progress import Callback, training_progress
from pacbound.training.ranks import joined, local_rank
from pacbound.workers.choice import engine_for

__all__ = ["PlainNetwork", "StochasticModule", "certify", "load", "stochastic"]

RECIPE = "module"
FEW = 8  # examples used to trace the layers of a module


class PlainNetwork(nn.Module):
    """An ordinary network behind the fixed map of its inputs.

    Arguments:
        network: The network itself, with weights.
        settings: The settings of the input map.
    """

    def __init__(self, network: nn.Module, settings: Settings) -> None:
        super().__init__()
        self.network, self.settings = network, settings

    def forward(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of raw inputs, as stored in the data set."""
        logits: Tensor = self.network(_mapped(self.settings, inputs))
        return logits


class StochasticModule(nn.Module):
    """A network whose weights have a posterior around a prior.

    It is an `nn.Module` whose parameters are those of the posterior. Train them with `fit`, or in
    your own training loop with `kl` and calls of the module. A certificate is valid for every
    posterior, however it was found.

    Made by `pacbound.stochastic` for a module, `StochasticModule.from_recipe` for a recipe's
    network, or `pacbound.load` from a file.

    Arguments:
        settings: The settings of the prior, the posterior and the training.
        module: The user's own network, if the settings are for one. The values of its parameters
            are used only in a prior from elsewhere.
        weights: The state dict of a prior from elsewhere; by default that of the module.

    Example:
        >>> net = stochastic(nn.Linear(4, 3), posterior="diag")
        >>> net(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        settings: Settings,
        module: nn.Module | None = None,
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.settings = with_structure(settings, module)
        predictor_named(settings.predictor)  # an unknown one fails now
        if module is not None and network_named(settings.network).is_given:
            module = prepared(module, constancy(self.settings))  # later changes have no effect
        if weights is not None:
            weights = copied_state(weights)
        self.history: list[EpochRecord] = []  # the epochs of `fit`
        self.network: StochasticNetwork | None = None
        self._module = (module,)  # in a tuple, so that its parameters are not registered
        self._weights = weights
        self._problem: Problem | None = None
        self._checkpoint: Checkpoint | None = None  # set by `fit` or `load`
        self._file: Path | str = "network.pt"
        self._observed = False
        self._kl: list[PriorVariance] = []  # in a list, so that it is not registered
        self._start = ""  # the posterior's digest before any training
        if module is not None:
            self._assemble(build(self.settings, (), 0, module, self._given()))

    @classmethod
    def from_recipe(
        cls,
        name: str,
        settings: Mapping[str, object] | None = None,
        module: nn.Module | None = None,
    ) -> StochasticModule:
        """The network of a recipe. It is built when it first sees data.

        Arguments:
            name: A name listed by `pacbound recipes`.
            settings: The settings that differ from the recipe's.
            module: The user's own network, for the recipe `module`.
        """
        return cls(recipe(name, settings), module)

    def _given(self) -> StoredPrior | None:
        """The prior from elsewhere of a user's module, before its variances are fitted."""
        if not kind_of(self.settings).keeps_values:
            return None
        plain = plain_network(self.settings, (), 0, self._module[0])
        state = plain.state_dict() if self._weights is None else self._weights
        return elsewhere_prior(self.settings, plain, state)

    def _assemble(self, problem: Problem) -> None:
        self._problem, self.network = problem, problem.network
        self._observed, self._kl = False, []
        self._start = tensors_digest(stored(problem.network))
        self.train(self.training)

    def train(self, mode: bool = True) -> Self:
        """Set the training mode of the posteriors.

        A user's module stays in evaluation mode: the network is trained as it predicts.
        """
        super().train(mode)
        if self.network is not None and self._module[0] is not None:
            ours = {id(m) for layer in self.network.layers.values() for m in layer.modules()}
            for part in self.network.module.modules():
                if id(part) not in ours:
                    part.training = False
        return self

    # Use as a network.

    def forward(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of raw inputs with freshly drawn weights; differentiable in the parameters.

        The weights are drawn with torch's global generator, as set by `torch.manual_seed`.
        """
        network, seen = self._ready(inputs)
        seed = derive("call", int(torch.randint(2**62, ())))
        outputs: Tensor = network(seen, TrainingNoise(seed, seen.device))
        return outputs

    def mean(self, inputs: Tensor | NDArray[Any]) -> Tensor:
        """The logits of the network whose weights are the posterior's means."""
        network, seen = self._ready(inputs)
        outputs: Tensor = network(seen, None)
        return outputs

    def sample(self, count: int = 1, seed: int = 0) -> list[PlainNetwork]:
        """Ordinary networks drawn from the posterior, as many as `count`.

        Network number k depends only on the seed, the posterior and k.
        """
        problem = self._made()
        with torch.no_grad():
            weights = [
                problem.network.draw_weights(Noise(derive("sample", seed, self._digest(), number)))
                for number in range(count)
            ]
        return [self._plain(each) for each in weights]

    def predict_proba(self, inputs: Tensor | ArrayLike, samples: int = 20) -> Tensor:
        """The class probabilities of raw inputs, averaged over networks drawn from the posterior.

        The same posterior gives the same probabilities. No certificate covers them.
        """
        problem = self._made()
        raw = self._raw(inputs)
        plain = self._plain({}).network
        seed = derive("prediction", self._digest())
        predictor = Predictor(self.settings, problem.network, plain, seed)
        return torch.from_numpy(predictor.predict(raw, samples).probabilities)

    def predict(
        self,
        inputs: Tensor | ArrayLike,
        certificate: Certificate,
        *,
        voters: int | None = None,
    ) -> Applied:
        """The classes of raw inputs, by the predictor that a certificate of this module covers.

        `draw` and `fixed` are one network, `gibbs` draws a network for every input, and a vote
        draws an odd number of networks for every input.

        Arguments:
            certificate: From `certify`. It is checked first.
            voters: The number of networks that vote on each input.
        """
        return predictions(
            certificate,
            self._current(None),
            self._raw(inputs),
            voters=voters,
            module=self._module[0],
        )

    def kl(self) -> Tensor:
        """The KL to the prior plus the price of the prior's variances, in nats; differentiable.

        For training without `fit`. The certificate recomputes it in float64.
        """
        problem, settings = self._made(), self.settings
        if not self._kl:
            mode = settings.prior_variance
            self._kl.append(
                PriorVariance(
                    problem.network,
                    dict(problem.center),
                    settings.variance_groups,
                    "fixed" if problem.variances else "profiled" if mode == "trained" else mode,
                    Tail(settings.kl_samples, settings.delta / 5),
                    problem.variances or (settings.fixed_variance,),
                )
            )
        (divergence,) = self._kl
        divergence.move_center(next(problem.network.parameters()))
        kl, union = divergence()
        nats: Tensor = kl + union.to(kl)
        return nats

    def fit(
        self,
        data: object,
        objective: str | None = None,
        epochs: int | None = None,
        *,
        batch: int | None = None,
        learning_rate: float | None = None,
        schedule: str | None = None,
        averaging: float | None = None,
        initial_scale: float | None = None,
        weight_draws: int | None = None,
        seed: int | None = None,
        settings: Mapping[str, object] | None = None,
        label: str = "",
        optimizer: OptimizerFactory | None = None,
        device: str = "cpu",
        dtype: str | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        progress: bool = True,
    ) -> Self:
        """Train the posterior to minimise a bound on the risk, and return the module.

        A further call trains for more epochs, with a new schedule.

        Arguments:
            data: (x, y) as arrays or tensors, a Dataset, a DataLoader, a file, or the name of a
                data set. Examples may be dictionaries. A loader is read once; its order and
                batches are not used.
            objective: kl-inverse, quadratic, catoni, catoni-trained or pinsker.
            epochs: Passes over the data.
            batch: Examples per step.
            learning_rate: The learning rate at the start of the schedule.
            schedule: cosine, constant or one-cycle.
            averaging: The decay of Polyak averaging; 0 for none.
            initial_scale: The standard deviation of every weight at the start.
            weight_draws: Weight draws per batch, when examples must share weights.
            seed: The seed of batches and noise; the prior has its own.
            settings: Other settings, as listed by `pacbound recipes show module`.
            label: The column or key that holds the classes, if there are several.
            optimizer: A function that makes an optimiser from the parameters, such as
                `lambda parameters: torch.optim.SGD(parameters, lr=0.1)`; Adam by default. The
                schedule multiplies its rates.
            device: cpu, cuda or mps.
            dtype: float32, float64, or bfloat16 for matrix products and convolutions;
                by default taken from the settings.
            callbacks: Called after steps and epochs.
            checkpoint: A file to write after every epoch. The command line reads it too. Its log
                is written beside it.
            resume: Continue the run that wrote the checkpoint.
            progress: Show the bound on stderr during training.
        """
        examples = dataset_given(data, label or self.settings.label)
        products = None if dtype is None else "bfloat16" if dtype == "bfloat16" else "float32"
        given = {
            "objective": objective,
            "epochs": epochs,
            "batch": batch,
            "learning_rate": learning_rate,
            "schedule": schedule,
            "averaging": averaging,
            "initial_scale": initial_scale,
            "weight_draws": weight_draws,
            "seed": seed,
            "products": products,
            **(settings or {}),
        }
        chosen = self._chosen(given, examples, label)
        arithmetic = Arithmetic.named(
            device, "float64" if dtype == "float64" else "float32", local_rank()
        )
        path = Path(checkpoint) if checkpoint is not None else None
        start = None if resume else self._trained_before(examples)
        if start is not None:
            before = start.epoch and start.settings.epochs
            chosen = replace(chosen, epochs=before + chosen.epochs, earlier_epochs=before)
        records: list[EpochRecord] = []
        watching = [*callbacks, Callback(on_epoch=records.append)]

        def on_step(step: Step) -> None:
            for watch in watching:
                watch.on_step(step)

        def on_epoch(record: EpochRecord) -> None:
            for watch in watching:
                watch.on_epoch(record)

        with ExitStack() as stack:
            ranks = stack.enter_context(joined(arithmetic.device))
            if progress and ranks.first:
                watching.append(stack.enter_context(training_progress(chosen.objective)))
            saved = Checkpoint.load(path).settings if resume and path is not None else None

            def decide(still_here: Callable[[], None]) -> Settings:
                def step(at: Step) -> None:
                    still_here()
                    on_step(at)

                return chosen_network(chosen, examples, saved, step)

            made = train(
                ranks.from_first(decide),
                examples,
                path,
                resume,
                on_step,
                on_epoch,
                self._module[0],
                ranks,
                arithmetic,
                optimizer,
                start,
                self._weights,
            )
        if path is not None:
            self._file, records = path, TrainingLog(log_path(path)).records()
        self.history = records if path is not None or start is None else [*self.history, *records]
        self._adopt(made)
        return self

    def certify(
        self,
        data: object,
        delta: float | str | Decimal = 0.035,
        *,
        predictor: str | None = None,
        claims: Sequence[str] | None = None,
        groups: Sequence[object] = (),
        costs: Costs | Sequence[Sequence[float]] | None = None,
        answer_above: float | str | None = None,
        candidates: int = 1,
        looks: int = 0,
        certificates: int = 1,
        place: int | None = None,
        copies: str = "counted",
        inequality: str = "",
        inequality_seen: bool = False,
        tail: str = "gaussian",
        limit: str = "betting",
        draws: int = 5_000_000,
        weights: int = 10_000,
        samples: int = 10_000,
        allow_other_data: bool = False,
        replay_prior: bool = False,
        label: str = "",
        device: str = "cpu",
        workers: int = 1,
        sampler: Sampler | None = None,
        command: str = "pacbound.certify",
    ) -> Certificate:
        """The risk certificate of the current posterior, on the data it was trained on.

        Arguments:
            data: The training data, as given to `fit`.
            delta: The probability of being wrong.
            predictor: gibbs, draw, vote-gibbs, vote-tandem or fixed; by default the one that the
                settings name: fixed for tables with a learned prior, otherwise gibbs.
            claims: Any of overall, answered, per-class and predicted-class; by default overall, or
                answered if the predictor abstains.
            groups: The group of every example, to claim the error in each group.
            costs: A matrix of costs in [0, 1] by true and predicted class, to claim the mean cost.
            answer_above: Abstain where the largest softmax is not above this threshold, which was
                fixed without these examples; or "auto:0.01" for the lowest threshold whose error
                among the answered of the prior's part is at most 1 %. For draw and fixed.
            candidates: The number of modules or priors listed before the first look at a result on
                these examples, this one included.
            looks: Results on these examples that led to another module or prior.
            certificates: The number of certificates to choose from, declared before the first one.
            place: The position of this certificate in order of making, if no number was declared.
            copies: `independent` declares that equal examples are independent draws.
            inequality: An inequality other than the default, chosen before anything is sampled.
            inequality_seen: It was chosen after both bounds were seen; declare the candidates.
            tail: The tail bound of a sampled KL: gaussian or theorem3.
            limit: The limit of a risk from sampled weights: betting or chernoff.
            draws: The least number of draws of single examples, in whole passes over the data.
            weights: Draws of whole weights, when examples must share weights.
            samples: Samples of the KL, when it is not exact.
            allow_other_data: Certify on data that the posterior was not trained on.
            replay_prior: Train a learned prior again and compare.
            label: The column or key that holds the classes, if there are several.
            device: The device on which the risk is sampled.
            workers: Worker processes for sampling. They cannot see a module defined in `__main__`.
            sampler: How the sampling is run, instead of `workers`.
            command: The command to record.
        """
        examples = dataset_given(data, label or self.settings.label)
        if self._checkpoint is None and self._digest() == self._start:
            raise SettingError(
                "the network is not trained yet: call fit, or train its parameters yourself"
            )
        if costs is not None and not isinstance(costs, Costs):
            rows = tuple(tuple(Decimal(repr(float(cost))) for cost in row) for row in costs)
            costs = Costs("cost", rows)
        request = Request(
            parse_delta(str(delta)),
            predictor=predictor or self.settings.predictor,
            wanted=Wanted(
                claims_named(claims, bool(parse_threshold(answer_above))),
                tuple(map(str, groups)),
                costs,
            ),
            answer_above=str(answer_above or ""),
            inequality=inequality,
            inequality_seen=inequality_seen,
            candidates=candidates,
            looks=looks,
            certificates=certificates,
            place=place,
            copies=copies,
            tail=tail,
            limit=limit,
            draws=draws,
            weights=weights,
            samples=samples,
            allow_other_data=allow_other_data,
            replay_prior=replay_prior,
            device=device,
            command=command,
        )
        seconds = self.history[-1].seconds if self.history else None
        with engine_for(workers) if sampler is None else nullcontext() as engine:
            where = sampler if engine is None else Sampler(engine, notebook_bar() or silent)
            assert where is not None
            return issue(
                self._current(examples),
                examples,
                request,
                where,
                self._module[0],
                self._file,
                seconds,
            )

    def draw(self, data: object, *, label: str = "") -> PlainNetwork:
        """The one network that `certify(data, predictor="draw")` covers."""
        examples = dataset_given(data, label or self.settings.label)
        network = draw_certified(self._current(examples), examples, self._module[0])
        return PlainNetwork(network.eval(), self.settings)

    def covered(self, certificate: Certificate) -> PlainNetwork:
        """The one network that a certificate of this module covers: a draw, or a fixed centre."""
        network = network_of(certificate, self._current(None), self._module[0])
        return PlainNetwork(network, self.settings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint that `load` and the command line can read."""
        if self._checkpoint is None:
            raise SettingError(
                "there is no training to save: call fit; if you trained the parameters "
                "yourself, save the state_dict"
            )
        self._current(None).save(Path(path))
        self._file = Path(path)

    # State.

    def _chosen(self, given: Mapping[str, object], data: Dataset, label: str) -> Settings:
        """The settings of a run, with the name that the command gives the data, if any."""
        now = self.settings
        values = now.everything() | {"epochs": now.epochs - now.earlier_epochs}
        given = {key: value for key, value in given.items() if value is not None}
        if now.prior_choice != "none" and set(given) & candidate_keys(now.recipe):
            given = {"prior_choice": "none"} | given  # what is given is not chosen
        values |= given
        values |= {"data": data.origin or GIVEN, "earlier_epochs": 0}
        return Settings.from_mapping(values | ({"label": label} if label else {}))

    def _trained_before(self, data: Dataset) -> Checkpoint | None:
        """The posterior to continue from; None if it is still at the prior."""
        before = self._checkpoint
        if before is None:
            trained = self._problem is not None and self._digest() != self._start
            return self._current(data) if trained and not kind_of(self.settings).learns else None
        ensure_unseen(before.stored_prior, data)
        if before.learned_prior is not None and before.data["sha256"] != data.sha256:
            raise CheckpointError(
                f"the prior learned from a part of other data than {data.name}: "
                "make another stochastic module"
            )
        return self._current(data)

    def _current(self, data: Dataset | None) -> Checkpoint:
        """The current posterior."""
        problem = self._made()
        if self._checkpoint is not None:
            return replace(self._checkpoint, posterior=stored(problem.network), training=None)
        if data is None:
            raise SettingError("the network has not seen data yet: call fit first")
        if kind_of(self.settings).learns:
            raise SettingError("the prior has not learned yet: call fit first")
        settings = replace(self.settings, data=data.origin or GIVEN)
        return Checkpoint(
            settings,
            described(data),
            problem.prior_sha256,
            0,
            stored(problem.network),
            None,
            given_prior(settings, data, self._module[0], self._weights)
            if kind_of(settings).keeps_values
            else None,
        )

    def _adopt(self, made: Checkpoint) -> None:
        """Take the state of a checkpoint."""
        where = next(iter(self.parameters()), None)
        problem = restored(made, self._module[0])
        self.settings, self._checkpoint = made.settings, replace(made, training=None)
        self._assemble(problem)
        if where is not None:
            self.to(where)

    def _made(self) -> Problem:
        if self._problem is None:
            raise SettingError("the network of a recipe is built when it sees data: call fit first")
        return self._problem

    def _raw(self, inputs: Tensor | ArrayLike) -> NDArray[Any]:
        """Inputs as an array, of the shape that the network was trained on."""
        array = inputs.detach().cpu().numpy() if isinstance(inputs, Tensor) else np.asarray(inputs)
        known = self._checkpoint.data["input_shape"] if self._checkpoint is not None else None
        if known is not None and array.shape[1:] != tuple(known):
            raise DataError(
                f"inputs of shape {array.shape[1:]} do not fit: the network was trained on inputs "
                f"of shape {tuple(known)}; give an array with one row for each input"
            )
        return _as_raw(array)

    def _digest(self) -> str:
        return tensors_digest(stored(self._made().network))

    def _plain(self, weights: Mapping[str, Tensor]) -> PlainNetwork:
        """The plain network with these weights, and with the statistics that are not drawn."""
        problem = self._made()
        plain = copy.deepcopy(problem.plain).eval()
        buffers = dict(problem.network.module.named_buffers())
        own = {name: value for name, value in plain.state_dict().items() if name in buffers}
        plain.load_state_dict({**{name: buffers[name] for name in own}, **weights}, strict=False)
        return PlainNetwork(plain, self.settings)

    def _ready(self, inputs: Tensor | NDArray[Any]) -> tuple[StochasticNetwork, Tensor]:
        """The network, and its inputs for raw inputs."""
        network = self._made().network
        where = next(network.parameters())
        seen = _mapped(self.settings, inputs).to(where.device)
        if seen.is_floating_point():
            seen = seen.to(where.dtype)
        if network_named(self.settings.network).is_observed and not self._observed:
            few = seen[:FEW]
            network.observe(few if len(few) > 1 else torch.cat([few, few]))
            self._observed = True
        return network, seen


def _as_raw(array: NDArray[Any]) -> NDArray[Any]:
    """Bytes unchanged; other numbers as float32."""
    return array if array.dtype == np.uint8 else np.asarray(array, np.float32)


def _mapped(settings: Settings, inputs: Tensor | NDArray[Any]) -> Tensor:
    """The network's inputs for raw inputs; a tensor keeps its device and its graph."""
    if not isinstance(inputs, Tensor):
        return network_inputs(settings, _as_raw(np.asarray(inputs)))
    if settings.alignment != "none":
        return network_inputs(settings, _as_raw(inputs.detach().cpu().numpy()))
    floats = inputs.float() / 255 if inputs.dtype == torch.uint8 else inputs
    mapped: Tensor = InputMap(inputs.shape[1:], settings.input_scale, settings.smoothing)(floats)
    return mapped


def stochastic(
    module: nn.Module,
    posterior: str = "k-linear",
    prior: Initialised | Elsewhere | None = None,
    *,
    settings: Mapping[str, object] | None = None,
) -> StochasticModule:
    """A stochastic network with the architecture of the module.

    Arguments:
        module: A module of supported layers. It is copied; its parameters' values are used only
            in a prior from elsewhere.
        posterior: diag, k-diag, k-linear or k-nonlinear.
        prior: `pacbound.priors.Initialised`, the default, `pacbound.priors.Learned`, or
            `pacbound.priors.elsewhere(state_dict, origin=…)`.
        settings: Other settings, as listed by `pacbound recipes show module`.
    """
    prior = prior or Initialised()
    given = {"posterior": posterior, **prior.settings(), **(settings or {})}
    chosen = with_structure(recipe(RECIPE, given), module)
    posterior_named(chosen.posterior)  # an unknown posterior, or one without a price, fails now
    prior_choices(chosen)
    weights = prior.state if isinstance(prior, Elsewhere) else None
    return StochasticModule(chosen, module, weights)


def load(path: str | os.PathLike[str], module: nn.Module | None = None) -> StochasticModule:
    """Load a stochastic network from a checkpoint of `fit`, `save` or the command line.

    Arguments:
        module: The user's own network, if the checkpoint is of one: a file holds no code.
    """
    made = Checkpoint.load(Path(path))
    net = StochasticModule(made.settings, module)
    net._adopt(made)
    net.history, net._file = TrainingLog(log_path(Path(path))).records(), Path(path)
    return net


certify = StochasticModule.certify
