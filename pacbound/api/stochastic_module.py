"""A network with a posterior over its weights: trained, certified and saved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Self

from numpy.typing import ArrayLike
from torch import Tensor, nn

from pacbound.api.fitting import Run, run_settings
from pacbound.api.plain_network import PlainNetwork
from pacbound.api.posterior_network import PosteriorNetwork
from pacbound.certificate.format import Certificate
from pacbound.data import Dataset
from pacbound.data.given import dataset_given
from pacbound.devices import Arithmetic
from pacbound.errors import CheckpointError, SettingError
from pacbound.predictors import predictor_named
from pacbound.predictors.applied import Applied, network_of, predictions
from pacbound.predictors.budget import parse_delta
from pacbound.predictors.chunks import Sampler, silent
from pacbound.predictors.claims import Costs, Wanted, claims_named
from pacbound.predictors.export import draw_certified
from pacbound.predictors.issuing import Request, issue
from pacbound.predictors.threshold import parse_threshold
from pacbound.priors import kind_of
from pacbound.recipes import Settings, recipe
from pacbound.recipes.commands import GIVEN
from pacbound.training.checkpoints import Checkpoint, described, restored, stored
from pacbound.training.descent import OptimizerFactory
from pacbound.training.given_prior import ensure_unseen, given_prior
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.notebook_bar import notebook_bar
from pacbound.training.progress import Callback
from pacbound.training.ranks import local_rank
from pacbound.workers.choice import engine_for

__all__ = ["StochasticModule", "certify"]


class StochasticModule(PosteriorNetwork):
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
        >>> import pacbound, torch
        >>> net = pacbound.stochastic(torch.nn.Linear(4, 3), posterior="diag")
        >>> net(torch.zeros(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(
        self,
        settings: Settings,
        module: nn.Module | None = None,
        weights: Mapping[str, Tensor] | None = None,
    ) -> None:
        predictor_named(settings.predictor)  # an unknown one fails now
        super().__init__(settings, module, weights)
        self.history: list[EpochRecord] = []  # the epochs of `fit`
        self._checkpoint: Checkpoint | None = None  # set by `fit` or `load`
        self._certified_on: Dataset | None = None  # without a `fit`, the data that are known
        self._file: Path | str = "network.pt"

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

    @classmethod
    def _of(cls, made: Checkpoint, path: Path, module: nn.Module | None = None) -> StochasticModule:
        """The network of a checkpoint that was read from a file."""
        net = cls(made.settings, module)
        net._adopt(made)
        net.history, net._file = TrainingLog(log_path(path)).records(), path
        return net

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
        chosen = run_settings(self.settings, given, examples, label)
        arithmetic = Arithmetic.named(
            device, "float64" if dtype == "float64" else "float32", local_rank()
        )
        path = Path(checkpoint) if checkpoint is not None else None
        start = None if resume else self._trained_before(examples)
        if start is not None:
            before = start.epoch and start.settings.epochs
            chosen = replace(chosen, epochs=before + chosen.epochs, earlier_epochs=before)
        run = Run(
            chosen,
            examples,
            path,
            resume,
            self._module[0],
            self._weights,
            arithmetic,
            optimizer,
            start,
            callbacks,
            progress,
        )
        made, records = run.train()
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
                If they are of different predictors, gibbs and votes need as many `candidates`.
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
        if self._checkpoint is None:
            self._certified_on = examples
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

    @property
    def _input_shape(self) -> tuple[int, ...] | None:
        return None if self._checkpoint is None else tuple(self._checkpoint.data["input_shape"])

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
        data = self._certified_on if data is None else data
        if data is None:
            raise SettingError("the network has not seen data yet: call fit or certify first")
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


certify = StochasticModule.certify
