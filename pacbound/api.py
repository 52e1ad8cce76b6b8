"""Training and certifying a module in Python: stochastic, fit, certify, draw."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from pacbound.certificate.format import Certificate
from pacbound.data.given import dataset_given
from pacbound.errors import SettingError
from pacbound.networks.own import prepared, structure_digest
from pacbound.posteriors import posterior_named
from pacbound.predictors.budget import parse_delta
from pacbound.predictors.chunks import Sampler
from pacbound.predictors.claims import Costs, Wanted
from pacbound.predictors.export import network_drawn
from pacbound.predictors.issuing import Request
from pacbound.predictors.issuing import certify as issue
from pacbound.priors.choices import prior_choices
from pacbound.recipes import Settings, recipe
from pacbound.recipes.commands import GIVEN
from pacbound.training.loop import train
from pacbound.training.networks import network_inputs
from pacbound.training.progress import SILENT, training_progress
from pacbound.workers.choice import engine_for

__all__ = ["DrawnNetwork", "StochasticModule", "certify", "draw", "fit", "stochastic"]

RECIPE = "module"
# Fields of a request that `certify` has arguments for.
_NAMED = {"delta", "predictor", "wanted", "inequality", "candidates", "looks", "certificates"}
_NAMED |= {"place", "copies"}


@dataclass
class StochasticModule:
    """A module whose weights have a posterior around a prior that a seed determines.

    Arguments:
        module: The network's form; the values of its parameters are not used.
        settings: Those of the recipe `module` that are not its own.
        checkpoint: What training left, as the bytes of a checkpoint; None before it.
    """

    module: nn.Module
    settings: dict[str, Any]
    checkpoint: bytes | None = field(default=None, repr=False)

    @contextmanager
    def checkpoint_file(self) -> Iterator[Path]:
        """The checkpoint as a file, for as long as it is used."""
        if self.checkpoint is None:
            raise SettingError("the network is not trained yet: call pacbound.fit first")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "network.pt"
            path.write_bytes(self.checkpoint)
            yield path


def stochastic(
    module: nn.Module,
    posterior: str = "k-linear",
    seed: int = 0,
    initializer: str = "fan-in-uniform",
    **settings: Any,
) -> StochasticModule:
    """A stochastic network of the module's form.

    Arguments:
        module: Of supported layers; it is copied, and its parameters' values are not used.
        posterior: diag, k-diag, k-linear or k-nonlinear.
        seed: Of the prior's centre: seed k costs 2 ln(k + 1) nats more than seed 0.
        initializer: What the centre is drawn by.
        settings: Others of the prior, as listed by `pacbound recipes show module`.
    """
    given = {"posterior": posterior, "prior_seed": seed, "initializer": initializer, **settings}
    net = StochasticModule(prepared(module), given)
    chosen = _settings(net)
    posterior_named(chosen.posterior)  # what has no name or no price is refused at once
    prior_choices(chosen)
    return net


def _settings(net: StochasticModule) -> Settings:
    return recipe(RECIPE, {"structure": structure_digest(net.module), **net.settings})


def fit(
    net: StochasticModule,
    data: Any,
    objective: str = "kl-inverse",
    epochs: int = 20,
    *,
    label: str = "",
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **settings: Any,
) -> StochasticModule:
    """Train the posterior to minimise a bound on the risk; returns the network.

    Arguments:
        net: From `stochastic`. Training starts anew at the prior each time.
        data: (x, y) as arrays or tensors, a map-style Dataset, a file, or a data set's name.
        objective: kl-inverse, quadratic, catoni, catoni-trained or pinsker.
        epochs: Passes over the data.
        label: The column that holds the classes, where the data is a table.
        checkpoint: A file to keep, for the command line; its log stands beside it.
        progress: Show the bound while training, on stderr.
        settings: Others, as listed by `pacbound recipes show module`.
    """
    examples = dataset_given(data, label)
    given = {"objective": objective, "epochs": epochs, **settings}
    given |= {"data": str(data) if isinstance(data, str | Path) else GIVEN, "label": label}
    trained = StochasticModule(net.module, {**net.settings, **given})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(checkpoint) if checkpoint is not None else Path(folder) / "network.pt"
        with training_progress(objective) if progress else nullcontext(SILENT) as callbacks:
            chosen = _settings(trained)
            train(chosen, examples, path, False, *callbacks, net.module)
        net.settings, net.checkpoint = trained.settings, path.read_bytes()
    return net


def certify(
    net: StochasticModule,
    data: Any,
    delta: float = 0.035,
    *,
    predictor: str = "gibbs",
    claims: Sequence[str] = ("overall",),
    groups: Sequence[Any] = (),
    costs: Sequence[Sequence[float]] | None = None,
    candidates: int = 1,
    looks: int = 0,
    certificates: int = 1,
    place: int | None = None,
    copies: str = "counted",
    inequality: str = "",
    label: str = "",
    workers: int = 1,
    **options: Any,
) -> Certificate:
    """The risk certificate of a trained network, on the data that it was trained on.

    Arguments:
        net: After `fit`.
        data: The training data, as given to `fit`.
        delta: The probability of being wrong.
        predictor: gibbs, draw, vote-gibbs, vote-tandem or fixed.
        claims: Of overall, per-class and predicted-class.
        groups: The group of every example, to claim the error in each of them.
        costs: A matrix of costs in [0, 1] by true and predicted class, to claim the mean cost.
        candidates: Modules or priors that were listed before the first look at a result on these
            examples, this one included.
        looks: Results on these examples that led to another module or prior.
        certificates: How many there are to choose from, declared before the first was made.
        place: This one's place in the order of making, where no number was declared.
        copies: `independent` declares that equal examples are independent draws.
        inequality: Another than that of the rule, selected before anything is sampled.
        label: The column that holds the classes, where the data is a table.
        workers: Processes to sample with; they cannot see a module that `__main__` defines.
        options: draws, weights, samples, and what else a `pacbound.predictors.issuing.Request` has.
    """
    known = [name for name in Request.__dataclass_fields__ if name not in _NAMED]
    for name in options:
        if name not in known:
            raise SettingError(f"certify has no option '{name}'; it has {', '.join(known)}")
    matrix = None
    if costs is not None:
        rows = tuple(tuple(Decimal(repr(float(cost))) for cost in row) for row in costs)
        matrix = Costs("cost", rows)
    request = Request(
        parse_delta(repr(delta)),
        predictor=predictor,
        wanted=Wanted(tuple(claims), tuple(map(str, groups)), matrix),
        inequality=inequality,
        candidates=candidates,
        looks=looks,
        certificates=certificates,
        place=place,
        copies=copies,
        **{"command": "pacbound.certify", **options},
    )
    with net.checkpoint_file() as path, engine_for(workers) as engine:
        return issue(path, dataset_given(data, label), request, Sampler(engine), net.module)


@dataclass(frozen=True)
class DrawnNetwork:
    """One network drawn from a posterior, in front of it the fixed map of its inputs."""

    network: nn.Module
    settings: Settings

    @torch.inference_mode()
    def logits(self, inputs: NDArray[Any]) -> NDArray[np.float32]:
        """The outputs for raw inputs, as they are in the data set."""
        outputs: NDArray[np.float32] = self.network(network_inputs(self.settings, inputs)).numpy()
        return outputs


def draw(net: StochasticModule, data: Any, *, label: str = "") -> DrawnNetwork:
    """The one network that `certify(net, data, predictor="draw")` speaks of."""
    with net.checkpoint_file() as path:
        return DrawnNetwork(*network_drawn(path, dataset_given(data, label), net.module))
