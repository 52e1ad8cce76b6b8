"""One run of training: its phases, and its state between epochs."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from pacbound.bounds import mcallester
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.data import Dataset
from pacbound.devices import Arithmetic
from pacbound.errors import CheckpointError, SettingError, WorkerError, by_caller
from pacbound.networks.digests import tensors_digest
from pacbound.networks.joint_batch_norm import join_batch_norms
from pacbound.networks.near_ties import is_error
from pacbound.networks.share import Share
from pacbound.posteriors import posterior_kind
from pacbound.priors.split import Split
from pacbound.priors.stored import StoredPrior
from pacbound.recipes import Settings
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.augmentation import augmented
from pacbound.training.averaging import PolyakAverage
from pacbound.training.batch_objective import BatchObjective
from pacbound.training.checkpoints import Checkpoint, described, restore_posterior, stored
from pacbound.training.descent import Descent, Evaluated, OptimizerFactory, Step, Totals
from pacbound.training.networks import network_inputs
from pacbound.training.objectives import objective_of
from pacbound.training.prior_variance import PriorVariance, Tail
from pacbound.training.problem import build_for
from pacbound.training.ranks import Ranks
from pacbound.training.saved_state import restore_module
from pacbound.training.schedules import SCHEDULES

__all__ = ["TrainingRun"]

WARM_START_LEARNING_RATE = 1e-3
AVERAGED = 0.1  # the largest part of all steps: longer averages still hold a short run's start
EVALUATED = 10_000  # examples evaluated after every epoch; the last epoch evaluates all


@dataclass(frozen=True)
class Phase:
    """A part of training with its own schedule."""

    name: str
    epochs: int
    learning_rate: float
    schedule: str
    share: float = 1.0  # of the rates


def phases_of(settings: Settings) -> list[Phase]:
    """The phases of a run. A continued run has a single phase after the earlier epochs.

    Its schedule starts at the share of the rate that its epochs have in all epochs: a full rate
    would undo more than a few epochs can mend.
    """
    rate, schedule = settings.learning_rate, settings.schedule
    nonlinear = bool(posterior_kind(settings.posterior).starts_as)
    last = settings.flow_learning_rate if nonlinear else rate
    warm, linear = settings.warm_start_epochs, settings.linear_epochs
    if settings.earlier_epochs:
        more = settings.epochs - settings.earlier_epochs
        return [
            Phase("earlier", settings.earlier_epochs + warm + linear, 0.0, "constant"),
            Phase("bound", more, last, schedule, share=more / settings.epochs),
        ]
    return [
        Phase("warm-start", warm, WARM_START_LEARNING_RATE, "constant"),
        Phase("linear", linear, rate, schedule),
        Phase("bound", settings.epochs, last, schedule),
    ]


class TrainingRun:
    """The state of a training run between epochs."""

    def __init__(
        self,
        settings: Settings,
        whole: Dataset,
        split: Split,
        prior: StoredPrior | None,
        module: nn.Module | None,
        ranks: Ranks,
        arithmetic: Arithmetic,
        optimizer: OptimizerFactory | None,
    ) -> None:
        self.settings, self.whole, self.prior = settings, whole, prior
        self.ranks, self.arithmetic = ranks, arithmetic
        device, dtype = arithmetic.device, arithmetic.dtype
        self.data = data = split.counted_data(whole)
        self.inputs = network_inputs(settings, data.train_inputs).to(device, dtype)
        self.labels = torch.from_numpy(data.train_labels).to(device)
        self.problem = build_for(settings, data, module, prior)
        self.network = self.problem.network.to(device, dtype)
        # A prior with variances of its own is a posterior too, and its KL is 0.
        self.stay = copy.deepcopy(self.network.state_dict()) if self.problem.variances else None
        if not (
            ranks.alone or self.own_noise or self.network.regular or settings.weight_draws == 1
        ):
            raise SettingError(
                "a module that uses a layer twice, or has attention or recurrent layers, cannot "
                "share weight_draws among processes: use "
                f"{by_caller('--rank-noise independent', 'noise_streams')}, or weight_draws=1"
            )
        variational = settings.objective == "elbo"
        self.prior_variance = PriorVariance(
            self.network,
            {name: value.to(device) for name, value in self.problem.center.items()},
            settings.variance_groups,
            "fixed" if self.problem.variances else settings.prior_variance,
            None if variational else Tail(settings.kl_samples, settings.delta / 5),
            self.problem.variances or (settings.fixed_variance,),
        ).to(device, dtype)
        self.objective = objective_of(settings, data.m, data.classes).to(device, dtype)
        self.modules = torch.nn.ModuleList([self.network, self.prior_variance, self.objective])
        self.phases = phases_of(settings)
        self.epochs = sum(phase.epochs for phase in self.phases)
        if optimizer is not None and settings.scale_rate != 1:
            raise SettingError("setting scale_rate is for the default optimiser, not for your own")
        self.factory, self.shares = optimizer, [1.0]
        self.average = self._new_average(self.phase_at(1)[0])
        self.descent = self._new_descent()
        self.shown_bound: float | None = None
        parts = self.network, self.prior_variance, self.objective
        self.batch_objective = BatchObjective(*parts, data.classes, ranks, settings.products)
        self.evaluate: nn.Module = self.batch_objective
        self.joined_for: Phase | None = None
        if not ranks.alone:
            join_batch_norms(self.network)

    def _join(self, phase: Phase) -> None:
        """Let all processes differentiate together the parameters of this phase."""
        if self.ranks.alone or phase == self.joined_for:
            return
        self.joined_for = phase
        self.evaluate = self.batch_objective  # this removes the hooks of the previous phase
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about a name that will change
            self.evaluate = DistributedDataParallel(
                self.batch_objective,
                broadcast_buffers=False,
                find_unused_parameters=phase.name != "bound",
            )

    @property
    def own_noise(self) -> bool:
        """Whether each process draws its own noise."""
        return self.settings.noise_streams > 1

    def phase_at(self, epoch: int) -> tuple[Phase, int]:
        """The phase of an epoch, and the number of earlier epochs in that phase."""
        before = epoch - 1
        for phase in self.phases:
            if before < phase.epochs:
                return phase, before
            before -= phase.epochs
        raise ValueError(f"there is no epoch {epoch}")

    def _begin(self, phase: Phase) -> None:
        """Begin a phase after another one, at the weights that a run of that alone would save."""
        if self.average is not None and self.average.steps:
            self.average.swap()
        self.average = self._new_average(phase)
        self.descent = self._new_descent()

    def _new_average(self, phase: Phase) -> PolyakAverage | None:
        if not self.settings.averaging:
            return None
        steps = math.ceil(self.data.m / self.settings.batch) * phase.epochs
        decay = min(self.settings.averaging, 1 - 1 / max(1.0, AVERAGED * steps))
        return PolyakAverage(self.network, decay)

    def _new_descent(self) -> Descent:
        if self.factory is None:
            groups, self.shares = self._groups()
            optimizer: torch.optim.Optimizer = torch.optim.Adam(groups, lr=1.0, fused=True)
            self.base_rates = None
        else:
            optimizer = self.factory(list(self.modules.parameters()))
            self.base_rates = [float(group["lr"]) for group in optimizer.param_groups]
        m, batch = self.data.m, self.settings.batch
        return Descent(optimizer, self.average, m, batch, "training", "learning_rate")

    def _groups(self) -> tuple[list[dict[str, list[Tensor]]], list[float]]:
        """The parameters by their rate, and each group's share of the learning rate."""
        parameters: list[Tensor] = list(self.modules.parameters())
        if self.settings.scale_rate == 1:
            return [{"params": parameters}], [1.0]
        scales = {id(parameter) for parameter in self.network.scale_parameters()}
        groups: list[dict[str, list[Tensor]]] = [{"params": []}, {"params": []}]
        for parameter in parameters:
            groups[id(parameter) in scales]["params"].append(parameter)
        return groups, [1.0, self.settings.scale_rate]

    def epoch(self, epoch: int, on_step: Callable[[Step], None]) -> dict[str, Any]:
        """One pass over the data; return the figures of its record."""
        settings = self.settings
        phase, before = self.phase_at(epoch)
        warm = phase.name == "warm-start"
        if not before:
            self._begin(phase)
        self.network.activate(nonlinear=phase.name == "bound")
        self._join(phase)
        source = TrainingNoise(derive("training", settings.seed, epoch), self.arithmetic.device)
        order = source.permutation(self.data.m)
        if self.own_noise:
            seed = derive("training of a rank", settings.seed, epoch, self.ranks.rank)
            source = TrainingNoise(seed, self.arithmetic.device)

        def rates(done: float) -> list[float]:
            factor = phase.share * SCHEDULES[phase.schedule]((before + done) / phase.epochs)
            own = [share * phase.learning_rate for share in self.shares]
            return [rate * factor for rate in self.base_rates or own]

        def shown(step: int, objective: float, totals: Totals) -> None:
            at = phase.name, epoch, self.epochs, step, self.descent.steps
            on_step(Step(*at, totals.risk, totals.kl, objective, self.shown_bound))

        def evaluate(chosen: Tensor) -> Evaluated:
            return self._evaluate(chosen, source, warm)

        totals = self.descent.epoch(epoch, order, rates, evaluate, shown, averaged=not warm)
        self._refuse_drift(epoch)
        if epoch == self.epochs and self.stay is not None:
            self._stay_if_better(self.stay)
        return self._figures(phase.name, epoch, totals)

    def _evaluate(self, chosen: Tensor, source: Noise, warm: bool) -> Evaluated:
        """The objective on a batch.

        Every process takes its share of the batch, and all take the same step. They also draw the
        same noise, that of the whole batch, unless each process has its own.
        """
        share, draws = self.ranks.share(len(chosen)), self.settings.weight_draws
        if self.own_noise:
            draws = math.ceil(draws / self.ranks.count)
        objective, (surrogate, errors, kl) = self.evaluate(
            self._inputs(chosen, share, source),
            self.labels[chosen[share.place]],
            None if warm else source,
            draws,
            share,
            None if self.own_noise else share,
        )
        return Evaluated(objective, surrogate.item(), int(errors), kl.item())

    def _inputs(self, chosen: Tensor, share: Share, source: Noise) -> Tensor:
        """This process's inputs of a batch, augmented."""
        kind = self.settings.augmentation
        if kind == "none" or self.own_noise:
            return augmented(kind, self.inputs[chosen[share.place]], source)
        return augmented(kind, self.inputs[chosen], source)[share.place]

    def _refuse_drift(self, epoch: int) -> None:
        """Stop if the processes no longer have the same parameters."""
        if self.ranks.alone:
            return
        state = self.modules.state_dict()
        if not self.ranks.same(
            tensors_digest({k: v for k, v in state.items() if isinstance(v, Tensor)})
        ):
            raise WorkerError(
                f"the processes have different parameters after epoch {epoch}: do all run on the "
                "same kind of machine, with the same versions and data?"
            )

    @torch.no_grad()
    def _stay_if_better(self, prior: dict[str, Tensor]) -> None:
        """Return to the prior if moving away from it gained nothing.

        The bound holds for every posterior, so the choice is free.
        """
        with self._averaged():
            moved, posterior = self._saved_bound(), copy.deepcopy(self.network.state_dict())
            self.network.load_state_dict(prior)
            if moved < self._saved_bound():
                self.network.load_state_dict(posterior)

    def _saved_bound(self) -> float:
        """The bound of the current weights after the last epoch."""
        kl, union = (float(value) for value in self.prior_variance())
        return self._bound(self._measured_risk(self.epochs)[0], kl + union)

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The network with the weights that are saved."""
        if self.average is not None:
            self.average.swap()
        try:
            yield
        finally:
            if self.average is not None:
                self.average.swap()

    @torch.no_grad()
    def _figures(self, phase: str, epoch: int, totals: Totals) -> dict[str, Any]:
        """The figures of the saved weights."""
        warm = phase == "warm-start"
        average = self.average if not warm else None
        if average is not None:
            average.swap()
        kl, union = (float(value) for value in self.prior_variance())
        moments = self.prior_variance.second_moments()
        variances = [math.exp(v) for v in self.prior_variance.log_variances(moments)]
        constants = [L for L in self.prior_variance.lipschitz() if L is not None]
        risk, error = self._saved_risk(epoch, totals)
        if average is not None:
            average.swap()
        surrogate = totals.surrogate / totals.seen
        self.shown_bound = self._bound(risk, kl + union)
        return {
            "phase": phase,
            "surrogate_risk": surrogate,
            "risk": risk,
            "kl": kl,
            "nats": kl + union,
            "bound": self.shown_bound,
            "bound_error": self._bound(min(1.0, risk + error), kl + union) - self.shown_bound,
            "objective": totals.objective / totals.seen,
            "prior_variances": variances,
            "lipschitz": [constant.item() for constant in constants],
            "learning_rate": self.descent.optimizer.param_groups[0]["lr"],
            "beta": None if warm else self.objective.beta_at(surrogate, kl + union),
        }

    def _saved_risk(self, epoch: int, totals: Totals) -> tuple[float, float]:
        """The risk of the current weights with fresh noise, and its standard error.

        It is measured on evenly spread examples. Variational inference, which has no bound to
        show, and processes that write nothing use the mean over the epoch.
        """
        if self.settings.objective == "elbo" or not self.ranks.first:
            return totals.risk, 0.0
        return self._measured_risk(epoch)

    def _measured_risk(self, epoch: int) -> tuple[float, float]:
        """The same, measured by every process."""
        m, device = self.data.m, self.arithmetic.device
        count = m if epoch == self.epochs else min(m, EVALUATED)
        places = torch.arange(count, device=device) * m // count
        source = TrainingNoise(derive("live bound", self.settings.seed, epoch), device)
        parts = torch.split(places, self.settings.batch)
        wrong = [
            is_error(
                self.network(self.inputs[part], source, self.settings.weight_draws),
                self.labels[part],
            )
            for part in parts
        ]
        risk = torch.cat(wrong).double().mean().item()
        # Examples that share weights err together: the variance is between parts, not examples.
        means = torch.stack([part.double().mean() for part in wrong])
        if len(means) > 1:
            return risk, means.std().item() / math.sqrt(len(means))
        return risk, math.sqrt(risk * (1 - risk) / count)

    def _bound(self, risk: float, nats: float) -> float:
        complexity = mcallester.complexity(nats, self.data.m, self.settings.delta)
        return bernoulli_kl_inverse(risk, max(complexity, 0.0))

    def checkpoint(self, epoch: int) -> Checkpoint:
        """The state after an epoch; only the posterior after the last one."""
        with self._averaged():
            posterior = stored(self.network)
        finished = epoch == self.epochs
        training = None
        if not finished:
            training = {"modules": self.modules.state_dict(), **self.descent.state()}
        return Checkpoint(
            settings=self.settings,
            data=described(self.whole),
            prior_sha256=self.problem.prior_sha256,
            stored_prior=self.prior,
            epoch=epoch,
            posterior=posterior,
            training=training,
        )

    def begin_at(self, start: Checkpoint) -> None:
        """Start from another posterior than the prior."""
        self._restore_posterior(start)

    def _restore_posterior(self, saved: Checkpoint) -> None:
        if saved.prior_sha256 != self.problem.prior_sha256:
            raise CheckpointError(
                "the prior is another one than the checkpoint's: its digest begins "
                f"{self.problem.prior_sha256[:12]}, not {saved.prior_sha256[:12]}"
            )
        expected, posterior = self.network.state_dict(), saved.posterior
        if self.arithmetic.dtype == torch.float64:
            posterior = {k: v.to(expected[k].dtype) for k, v in posterior.items() if k in expected}
        restore_posterior(self.network, posterior)

    def restore(self, saved: Checkpoint) -> None:
        """Continue from a checkpoint."""
        self._restore_posterior(saved)
        parts = {"modules", "optimizer", "average"}
        try:
            if not isinstance(saved.training, dict) or set(saved.training) != parts:
                raise ValueError(f"it has other parts than {', '.join(sorted(parts))}")
            if not 1 <= saved.epoch < self.epochs:
                raise ValueError(f"it is of epoch {saved.epoch} of {self.epochs}")
            self.average = self._new_average(self.phase_at(saved.epoch)[0])
            self.descent = self._new_descent()
            restore_module(self.modules, saved.training["modules"])
            if flaw := self.network.flaw():
                raise ValueError(flaw)
            self.descent.restore(saved.training["optimizer"], saved.training["average"])
        except ValueError as error:
            raise CheckpointError(
                f"the checkpoint's training state does not fit: {error}; train again"
                + by_caller(" with --force", "")
            ) from error
