"""The optimisers that train a learned prior, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["PRIOR_OPTIMIZERS", "Muon", "orthogonalised"]

MOMENTUM = 0.9
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam
POLYNOMIAL = (3.4445, -4.7750, 2.0315)  # maps singular values in (0, 1] close to 1
ITERATIONS = 5
TINY = 1e-7  # a gradient of zero gives an update of zero
LIKE_ADAM = 0.2  # the root mean square of an update of Adam at rate 1, by experience


def orthogonalised(matrix: Tensor) -> Tensor:
    """The nearest matrix with singular values of about 1, by a Newton–Schulz iteration.

    They end between 0.7 and 1.2, except those that are tiny beside the largest.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.T if tall else matrix
    wide = wide.div(torch.linalg.vector_norm(wide) + TINY)
    first, third, fifth = POLYNOMIAL
    for _ in range(ITERATIONS):
        square = wide @ wide.T
        wide = first * wide + (third * square + fifth * square @ square) @ wide
    return wide.T if tall else wide


class Muon(torch.optim.Optimizer):
    """Orthogonalised momentum for the kernels and matrices of hidden layers, Adam for the rest.

    K. Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024). The updates
    have the size of Adam's (J. Liu et al., "Muon is scalable for LLM training", 2025), so rates of
    Adam can be used. A kernel of shape (out, in, height, width) counts as a matrix with `out` rows.

    Arguments:
        parameters: In the network's order. The last one of two or more dimensions is the output
            layer, which Adam trains.
        weight_decay: For the orthogonalised parameters; the others have none.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float = 0.01, weight_decay: float = 0.0
    ) -> None:
        listed = list(parameters)
        hidden = [value for value in listed if value.dim() >= 2][:-1]
        chosen = {id(value) for value in hidden}
        others = [value for value in listed if id(value) not in chosen]
        groups = [{"params": hidden, "hidden": True}, {"params": others, "hidden": False}]
        defaults = {"lr": lr, "weight_decay": weight_decay}
        super().__init__([group for group in groups if group["params"]], defaults)

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """One step for every parameter that has a gradient. A closure is not called."""
        for group in self.param_groups:
            update = self._orthogonal if group["hidden"] else self._adam
            for parameter in group["params"]:
                if parameter.grad is not None:
                    update(parameter, parameter.grad, self.state[parameter], group)

    def _orthogonal(
        self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        momentum = state.setdefault("momentum", torch.zeros_like(parameter))
        momentum.lerp_(gradient, 1 - MOMENTUM)
        ahead = gradient.lerp(momentum, MOMENTUM).flatten(1)  # Nesterov's
        size = LIKE_ADAM * math.sqrt(max(ahead.shape))
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(orthogonalised(ahead).view_as(parameter), alpha=-group["lr"] * size)

    def _adam(
        self, parameter: Tensor, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]
    ) -> None:
        first = state.setdefault("exp_avg", torch.zeros_like(parameter))
        second = state.setdefault("exp_avg_sq", torch.zeros_like(parameter))
        steps = state.setdefault("step", torch.zeros(()))
        steps += 1
        first.lerp_(gradient, 1 - BETAS[0])
        second.lerp_(gradient.square(), 1 - BETAS[1])
        corrections = [1 - beta ** float(steps) for beta in BETAS]
        deviation = (second / corrections[1]).sqrt_().add_(EPSILON)
        parameter.addcdiv_(first, deviation, value=-group["lr"] / corrections[0])


def _adamw(network: nn.Module, weight_decay: float) -> torch.optim.Optimizer:
    return torch.optim.AdamW(network.parameters(), lr=1.0, weight_decay=weight_decay, fused=True)


def _muon(network: nn.Module, weight_decay: float) -> torch.optim.Optimizer:
    return Muon(network.parameters(), lr=1.0, weight_decay=weight_decay)


# By the name in the settings: made from a network and the weight decay. The loop sets the rates.
PRIOR_OPTIMIZERS: dict[str, Callable[[nn.Module, float], torch.optim.Optimizer]] = {
    "adamw": _adamw,
    "muon": _muon,
}
