"""The objectives of training: bounds as functions of the surrogate risk and the nats."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from pacbound.bounds import catoni, maurer, pinsker, quadratic
from pacbound.bounds.bernoulli_kl import bernoulli_kl_inverse, bernoulli_kl_inverse_derivatives
from pacbound.errors import unknown_name
from pacbound.recipes import Settings

__all__ = ["OBJECTIVES", "Elbo", "Objective", "objective_named", "objective_of"]


class Objective(nn.Module, ABC):
    """A bound on the risk, minimised over the posterior."""

    is_trained: ClassVar[bool] = False  # whether it has parameters of its own

    def __init__(self, m: int, delta: float) -> None:
        super().__init__()
        self.m = m
        self.delta = delta

    @abstractmethod
    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        """The bound at this surrogate risk and this many nats (KL and union bound)."""

    def beta_at(self, risk: float, nats: float) -> float | None:
        """The trade-off β in use, if the objective has one."""
        return None


class Catoni(Objective):
    """Catoni's bound with β profiled out: the best β at every step."""

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        beta = catoni.best_beta(risk.detach(), nats.detach(), self.m, self.delta)
        value: Tensor = catoni.bound(risk, nats, self.m, self.delta, beta)
        return value

    def beta_at(self, risk: float, nats: float) -> float:
        return float(catoni.best_beta(risk, nats, self.m, self.delta))


class CatoniTrained(Objective):
    """Catoni's bound with β trained by gradient, as in the paper."""

    is_trained = True

    def __init__(self, m: int, delta: float) -> None:
        super().__init__(m, delta)
        # β = ½ + exp(·) stays above ½; it starts at β = 1.5.
        self.log_excess = nn.Parameter(torch.zeros(()))

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        value: Tensor = catoni.bound(risk, nats, self.m, self.delta, 0.5 + self.log_excess.exp())
        return value

    def beta_at(self, risk: float, nats: float) -> float:
        return 0.5 + math.exp(self.log_excess.item())


class Pinsker(Objective):
    """McAllester's bound relaxed by Pinsker's inequality."""

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        value: Tensor = pinsker.bound(risk, nats, self.m, self.delta)
        return value


class Quadratic(Objective):
    """The quadratic bound of "PAC-Bayes with Backprop"."""

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        value: Tensor = quadratic.bound(risk, nats, self.m, self.delta)
        return value


class Elbo(Objective):
    """Variational inference: the negative evidence lower bound per example, in nats.

    Arguments:
        beta: The weight of the KL.
        annealing: The number of steps in which the weight grows linearly from 0; 0 for the full
            weight from the start.
    """

    steps: Tensor

    def __init__(self, m: int, delta: float, classes: int, beta: float, annealing: int) -> None:
        super().__init__(m, delta)
        self.nats_of_guessing = math.log(classes)  # the unit of the surrogate risk
        self.beta = beta
        self.annealing = annealing
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        weight = self._weight()
        if torch.is_grad_enabled():
            self.steps += 1
        return risk * self.nats_of_guessing + weight * nats / self.m

    def beta_at(self, risk: float, nats: float) -> float:
        return self._weight()

    def _weight(self) -> float:
        grown = min(1.0, self.steps.item() / self.annealing) if self.annealing else 1.0
        return self.beta * grown


class _BernoulliKLInverse(torch.autograd.Function):
    """p = kl⁻¹(risk, complexity), differentiated implicitly."""

    @staticmethod
    def forward(ctx: Any, risk: Tensor, complexity: Tensor) -> Tensor:
        q = min(max(risk.item(), 1e-9), 1 - 1e-6)
        p = bernoulli_kl_inverse(q, complexity.item())
        ctx.derivatives = bernoulli_kl_inverse_derivatives(q, p)
        return risk.new_tensor(p)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        by_risk, by_complexity = ctx.derivatives
        return gradients[0] * by_risk, gradients[0] * by_complexity


class KLInverse(Objective):
    """The certificate's own bound: the Bernoulli-KL inverse with Maurer's complexity."""

    def forward(self, risk: Tensor, nats: Tensor) -> Tensor:
        complexity = maurer.complexity(nats, self.m, self.delta)
        # Where the inverse is vacuous, it is flat. The relaxation keeps a slope to small risks.
        if not (risk.item() < 1 and 0 <= complexity.item() < 10):
            relaxed: Tensor = risk + complexity
            return relaxed
        inverse: Tensor = _BernoulliKLInverse.apply(risk, complexity)  # type: ignore[no-untyped-call]
        return inverse


OBJECTIVES: dict[str, type[Objective]] = {
    "catoni": Catoni,
    "catoni-trained": CatoniTrained,
    "pinsker": Pinsker,
    "quadratic": Quadratic,
    "kl-inverse": KLInverse,
}


def objective_named(name: str, m: int, delta: float) -> Objective:
    """The bound of this name."""
    if name not in OBJECTIVES:
        raise unknown_name("objective", name, OBJECTIVES)
    return OBJECTIVES[name](m, delta)


def objective_of(settings: Settings, m: int, classes: int) -> Objective:
    """The objective of a training run: a bound, or the negative ELBO."""
    if settings.objective == "elbo":
        # A continued run has the whole weight: it grew in the earlier epochs.
        epochs = 0 if settings.earlier_epochs else settings.linear_epochs + settings.epochs
        steps = round(settings.beta_annealing * epochs * math.ceil(m / settings.batch))
        return Elbo(m, settings.delta, classes, settings.beta, steps)
    return objective_named(settings.objective, m, settings.delta)
