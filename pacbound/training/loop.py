"""The training loop."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from pacbound.bounds import mcallester
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse
from pacbound.data import Dataset
from pacbound.devices import CPU, Arithmetic
from pacbound.errors import CheckpointError, TrainingDiverged
from pacbound.memory import keeping_memory
from pacbound.networks.digests import tensors_digest
from pacbound.networks.joint_batch_norm import join_batch_norms
from pacbound.networks.share import Share
from pacbound.priors.choices import prior_choices
from pacbound.priors.learned import LearnedPrior
from pacbound.priors.split import Split, split_of
from pacbound.recipes import Settings
from pacbound.seeds import Noise, TrainingNoise, derive
from pacbound.training.augmentation import augmented
from pacbound.training.averaging import PolyakAverage
from pacbound.training.batch_objective import BatchObjective
from pacbound.training.checkpoints import Checkpoint, restore_posterior
from pacbound.training.learned_prior import PriorStep, learn_prior, prior_path
from pacbound.training.log import EpochRecord, TrainingLog, log_path
from pacbound.training.networks import network_inputs, with_structure
from pacbound.training.objectives import objective_of
from pacbound.training.prior_variance import PriorVariance, Tail
from pacbound.training.problem import build
from pacbound.training.ranks import ALONE, Ranks
from pacbound.training.saved_state import restore_module, restore_optimizer
from pacbound.training.schedules import SCHEDULES

__all__ = ["Step", "train"]

WARM_START_LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Step:
    """Where training is, for a progress display."""

    epoch: int
    epochs: int
    step: int
    steps: int
    risk: float
    kl: float
    objective: float
    bound: float


@keeping_memory()
def train(
    settings: Settings,
    data: Dataset,
    path: Path,
    resume: bool = False,
    on_step: Callable[[Step], None] = lambda step: None,
    on_epoch: Callable[[EpochRecord], None] = lambda record: None,
    on_prior: Callable[[PriorStep], None] = lambda step: None,
    module: nn.Module | None = None,
    ranks: Ranks = ALONE,
    arithmetic: Arithmetic = CPU,
) -> Checkpoint:
    """Minimise the objective; leave a checkpoint at `path` after every epoch.

    The randomness of an epoch is derived from the seed and the epoch's number, so a run that
    was stopped and resumed ends with the same weights as one that was not.

    Arguments:
        module: The user's own network, where the settings are for one.
        ranks: The processes that train together. The first writes the files.
        arithmetic: Where to compute. A learned prior is always trained on the CPU, where it can be
            trained again to the same bit.
    """
    settings = with_structure(settings, module)
    prior_choices(settings)  # a prior that no certificate could pay for is refused now
    first, learned = 1, None
    split = split_of(settings, data)
    ranks.refuse_unfit(settings.noise_streams, len(split.counted), settings.batch)
    if settings.prior_fraction:
        part = split.learned_data(data)
        file = prior_path(path, settings, part)

        def learn(still_here: Callable[[], None]) -> LearnedPrior:
            def step(at: PriorStep) -> None:
                still_here()
                on_prior(at)

            return learn_prior(settings, part, file, step, module)

        learned = ranks.from_first(learn)
    run = _Run(settings, data, split, learned, module, ranks, arithmetic)
    if resume:
        saved = Checkpoint.load(path)
        if saved.settings != settings:
            raise CheckpointError(f"{path} has other settings: {_difference(saved, settings)}")
        if saved.data["sha256"] != data.sha256:
            raise CheckpointError(f"{path} was trained on other data than this {data.name}")
        if saved.training is None:
            return saved
        run.restore(saved)
        first = saved.epoch + 1
    log = TrainingLog(log_path(path))
    kept = log.restart(first - 1) if ranks.first else []
    clock = time.monotonic() - (kept[-1].seconds if kept else 0.0)
    checkpoint = None
    before = learned.seconds if learned is not None else 0.0
    for epoch in range(first, run.epochs + 1):
        figures = run.epoch(epoch, on_step)
        checkpoint = run.checkpoint(epoch)
        if not ranks.first:
            continue
        seconds = time.monotonic() - clock
        record = EpochRecord(epoch=epoch, seconds=seconds, prior_seconds=before, **figures)
        # The log first: after a kill between the two the epoch is done, and logged, again.
        log.append(record)
        checkpoint.save(path)
        on_epoch(record)
    assert checkpoint is not None
    return checkpoint


def _difference(saved: Checkpoint, settings: Settings) -> str:
    old, new = saved.settings.everything(), settings.everything()
    return ", ".join(f"{k}={old[k]!r} there, {new[k]!r} now" for k in old if old[k] != new[k])


@dataclass(frozen=True)
class Phase:
    """A stretch of training with a schedule of its own."""

    name: str
    epochs: int
    learning_rate: float
    schedule: str


class _Run:
    """The state of a training run between epochs."""

    def __init__(
        self,
        settings: Settings,
        whole: Dataset,
        split: Split,
        learned: LearnedPrior | None,
        module: nn.Module | None,
        ranks: Ranks,
        arithmetic: Arithmetic,
    ) -> None:
        self.settings, self.whole, self.learned = settings, whole, learned
        self.ranks, self.arithmetic = ranks, arithmetic
        device, dtype = arithmetic.device, arithmetic.dtype
        self.data = data = split.counted_data(whole)
        self.inputs = network_inputs(settings, data.train_inputs).to(device, dtype)
        self.labels = torch.from_numpy(data.train_labels).to(device)
        self.problem = build(settings, data, module, learned)
        self.network = self.problem.network.to(device, dtype)
        if not (
            ranks.alone or self.own_noise or self.network.regular or settings.weight_draws == 1
        ):
            raise CheckpointError(
                "a module that uses a layer twice cannot share weight_draws among processes: use "
                "--rank-noise independent, or --set weight_draws=1"
            )
        variational = settings.objective == "elbo"
        self.prior_variance = PriorVariance(
            self.network,
            {name: value.to(device) for name, value in self.problem.center.items()},
            settings.variance_groups,
            "fixed" if learned else settings.prior_variance,
            settings.initial_scale,
            None if variational else Tail(settings.kl_samples, settings.delta / 5),
            self.problem.variances or (settings.fixed_variance,),
        ).to(device, dtype)
        self.objective = objective_of(settings, data.m, data.classes).to(device, dtype)
        self.modules = torch.nn.ModuleList([self.network, self.prior_variance, self.objective])
        rate, schedule = settings.learning_rate, settings.schedule
        last = settings.flow_learning_rate if settings.posterior == "k-nonlinear" else rate
        self.phases = [
            Phase("warm-start", settings.warm_start_epochs, WARM_START_LEARNING_RATE, "constant"),
            Phase("linear", settings.linear_epochs, rate, schedule),
            Phase("bound", settings.epochs, last, schedule),
        ]
        self.epochs = sum(phase.epochs for phase in self.phases)
        self.steps = math.ceil(data.m / settings.batch)
        self.optimizer = self._new_optimizer()
        self.average = (
            PolyakAverage(self.network, settings.averaging) if settings.averaging else None
        )
        parts = self.network, self.prior_variance, self.objective
        self.batch_objective = BatchObjective(*parts, data.classes, ranks, settings.products)
        self.evaluate: nn.Module = self.batch_objective
        self.joined_for: Phase | None = None
        if not ranks.alone:
            join_batch_norms(self.network)

    def _join(self, phase: Phase) -> None:
        """Let all processes differentiate together what has a gradient in this phase."""
        if self.ranks.alone or phase == self.joined_for:
            return
        self.joined_for = phase
        self.evaluate = self.batch_objective  # which ends the hooks of the phase before
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of a name that is to change
            self.evaluate = DistributedDataParallel(
                self.batch_objective,
                broadcast_buffers=False,
                find_unused_parameters=phase.name != "bound",
            )

    @property
    def own_noise(self) -> bool:
        """Whether each process draws noise of its own."""
        return self.settings.noise_streams > 1

    def phase_at(self, epoch: int) -> tuple[Phase, int]:
        """The phase that an epoch belongs to, and the epochs of that phase before it."""
        before = epoch - 1
        for phase in self.phases:
            if before < phase.epochs:
                return phase, before
            before -= phase.epochs
        raise ValueError(f"there is no epoch {epoch}")

    def _new_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.modules.parameters(), lr=1.0, fused=True)

    def epoch(self, epoch: int, on_step: Callable[[Step], None]) -> dict[str, Any]:
        """One pass over the data; returns the figures of its record."""
        settings = self.settings
        phase, before = self.phase_at(epoch)
        warm = phase.name == "warm-start"
        if epoch == settings.warm_start_epochs + 1:
            self.optimizer = self._new_optimizer()
        self.network.activate(nonlinear=phase.name == "bound")
        self._join(phase)
        source = TrainingNoise(derive("training", settings.seed, epoch), self.arithmetic.device)
        order = source.permutation(self.data.m)
        if self.own_noise:
            seed = derive("training of a rank", settings.seed, epoch, self.ranks.rank)
            source = TrainingNoise(seed, self.arithmetic.device)
        total = torch.zeros(3, dtype=torch.float64)  # surrogate, errors, objective
        seen, kl, rate = 0, 0.0, phase.learning_rate
        for step in range(self.steps):
            chosen = order[step * settings.batch : (step + 1) * settings.batch]
            done = (before + step / self.steps) / phase.epochs
            rate = phase.learning_rate * SCHEDULES[phase.schedule](done)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            surrogate, errors, kl_now, objective = self._step(chosen, source, warm)
            if not math.isfinite(objective):
                raise TrainingDiverged(
                    f"training diverged in epoch {epoch} (the objective is {objective}); "
                    "try a smaller learning_rate"
                )
            total += torch.tensor(
                [surrogate * len(chosen), errors, objective * len(chosen)], dtype=torch.float64
            )
            seen, kl = seen + len(chosen), kl_now
            risk = float(total[1]) / seen
            at = (epoch, self.epochs, step + 1, self.steps)
            on_step(Step(*at, risk, kl, objective, self._bound(risk, kl)))
        surrogate, risk, objective = (total / seen).tolist()
        self._refuse_drift(epoch)
        return self._figures(phase.name, surrogate, risk, objective, rate)

    def _step(self, chosen: Tensor, source: Noise, warm: bool) -> tuple[float, int, float, float]:
        """One step on a batch; its surrogate risk, errors, KL and objective.

        Every process takes its share of the batch, and all take the same step. They also draw the
        same noise, that of the whole batch, unless each has its own.
        """
        self.optimizer.zero_grad(set_to_none=True)
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
        objective.backward()
        self.optimizer.step()
        if self.average is not None and not warm:
            self.average.update()
        return surrogate.item(), int(errors), kl.item(), objective.item()

    def _inputs(self, chosen: Tensor, share: Share, source: Noise) -> Tensor:
        """This process's inputs of a batch, augmented."""
        kind = self.settings.augmentation
        if kind == "none" or self.own_noise:
            return augmented(kind, self.inputs[chosen[share.place]], source)
        return augmented(kind, self.inputs[chosen], source)[share.place]

    def _refuse_drift(self, epoch: int) -> None:
        """Stop processes whose parameters are not the same any more."""
        if self.ranks.alone:
            return
        state = self.modules.state_dict()
        if not self.ranks.same(
            tensors_digest({k: v for k, v in state.items() if isinstance(v, Tensor)})
        ):
            raise CheckpointError(
                f"the processes have different parameters after epoch {epoch}: do all run on the "
                "same kind of machine, with the same versions and data?"
            )

    @torch.no_grad()
    def _figures(
        self, phase: str, surrogate: float, risk: float, objective: float, rate: float
    ) -> dict[str, Any]:
        warm = phase == "warm-start"
        average = self.average if not warm else None
        if average is not None:
            average.swap()
        kl, union = (float(value) for value in self.prior_variance())
        moments = self.prior_variance.second_moments()
        variances = [math.exp(v) for v in self.prior_variance.log_variances(moments)]
        constants = [L for L in self.prior_variance.lipschitz() if L is not None]
        if average is not None:
            average.swap()
        return {
            "phase": phase,
            "surrogate_risk": surrogate,
            "risk": risk,
            "kl": kl,
            "nats": kl + union,
            "bound": self._bound(risk, kl + union),
            "objective": objective,
            "prior_variances": variances,
            "lipschitz": [constant.item() for constant in constants],
            "learning_rate": rate,
            "beta": None if warm else self.objective.beta_at(surrogate, kl + union),
        }

    def _bound(self, risk: float, nats: float) -> float:
        complexity = mcallester.complexity(nats, self.data.m, self.settings.delta)
        return bernoulli_kl_inverse(risk, max(complexity, 0.0))

    def checkpoint(self, epoch: int) -> Checkpoint:
        """The state after an epoch; only the posterior when it was the last one."""
        if self.average is not None:
            self.average.swap()
        posterior = {name: _stored(value) for name, value in self.network.state_dict().items()}
        if self.average is not None:
            self.average.swap()
        finished = epoch == self.epochs
        training = None
        if not finished:
            training = {
                "modules": self.modules.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "average": self.average.state() if self.average else None,
            }
        return Checkpoint(
            settings=self.settings,
            data={
                "name": self.whole.name,
                "sha256": self.whole.sha256,
                "m": self.whole.m,
                "classes": self.data.classes,
                "input_shape": list(self.data.input_shape),
            },
            prior_sha256=self.problem.prior_sha256,
            learned_prior=self.learned,
            epoch=epoch,
            posterior=posterior,
            training=training,
        )

    def restore(self, saved: Checkpoint) -> None:
        """Continue where a checkpoint was written."""
        expected, posterior = self.network.state_dict(), saved.posterior
        if self.arithmetic.dtype == torch.float64:
            posterior = {k: v.to(expected[k].dtype) for k, v in posterior.items() if k in expected}
        restore_posterior(self.network, posterior)
        parts = {"modules", "optimizer", "average"}
        try:
            if not isinstance(saved.training, dict) or set(saved.training) != parts:
                raise ValueError(f"it has other parts than {', '.join(sorted(parts))}")
            if not 1 <= saved.epoch < self.epochs:
                raise ValueError(f"it is of epoch {saved.epoch} of {self.epochs}")
            restore_module(self.modules, saved.training["modules"])
            if flaw := self.network.flaw():
                raise ValueError(flaw)
            restore_optimizer(self.optimizer, saved.training["optimizer"])
            if self.average is not None:
                self.average.restore(saved.training["average"])
        except ValueError as error:
            raise CheckpointError(
                f"the checkpoint's training state does not fit: {error}; train anew with --force"
            ) from error


def _stored(value: Tensor) -> Tensor:
    """A copy as a checkpoint has it, whatever device and type training computed with."""
    dtype = torch.float32 if value.is_floating_point() else value.dtype
    return value.detach().to("cpu", dtype, copy=True)
