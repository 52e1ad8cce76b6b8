"""The prior's variance in training: followed by gradient, or profiled out."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.prior_grid import B, C, index_cost
from pacbound.networks.stochastic import StochasticNetwork

__all__ = ["PriorVariance"]

LARGEST = math.log(C) - 1 / B  # log λ_1, the largest variance on the grid


class PriorVariance(nn.Module):
    """KL(q‖p) and the price of the prior's variance, differentiable.

    Arguments:
        network: The stochastic network.
        center: The prior's centre, by parameter name.
        grouping: "layer" or "network": what shares one variance.
        profiled: With λ = T/d, where KL is smallest, instead of a trained λ.
        start: The variance that training starts with (when not profiled).
    """

    def __init__(
        self,
        network: StochasticNetwork,
        center: dict[str, Tensor],
        grouping: str,
        profiled: bool,
        start: float,
    ) -> None:
        super().__init__()
        posteriors = list(network.posteriors(center))
        self._groups = [
            [(q, part) for name, q, part in posteriors if name in layers]
            for layers in network.variance_groups(grouping)
        ]
        self.sizes = [sum(q.mean.numel() for q, _ in group) for group in self._groups]
        self.log_variance: nn.Parameter | None = None
        if not profiled:
            self.log_variance = nn.Parameter(torch.full((len(self._groups),), math.log(start)))

    def second_moments(self) -> list[Tensor]:
        """T = E‖W − Θ0‖² of every group."""
        return [
            torch.stack([q.trace() + _squared_norm(q.mean - center) for q, center in group]).sum()
            for group in self._groups
        ]

    def log_variances(self, second_moments: Sequence[Tensor]) -> list[Tensor]:
        """log λ of every group, no larger than the grid allows."""
        if self.log_variance is None:
            free = [(t / d).log() for t, d in zip(second_moments, self.sizes, strict=True)]
        else:
            free = list(self.log_variance)
        return [value.clamp(max=LARGEST) for value in free]

    def forward(self) -> tuple[Tensor, Tensor]:
        """KL(q‖p), and the nats that the union bound over the grid costs."""
        moments = self.second_moments()
        log_variances = self.log_variances(moments)
        kl = torch.stack(
            [
                gaussian_kl(
                    moment, torch.stack([q.log_det() for q, _ in group]).sum(), d, value.exp()
                )
                for group, moment, value, d in zip(
                    self._groups, moments, log_variances, self.sizes, strict=True
                )
            ]
        ).sum()
        # λ is at most λ_1; the clamp is for the rounding of its logarithm.
        indices = [(B * (math.log(C) - value)).clamp(min=1) for value in log_variances]
        return kl, torch.stack([index_cost(index) for index in indices]).sum()


def _squared_norm(tensor: Tensor) -> Tensor:
    # A dot product reads the tensor once and writes nothing.
    flat = tensor.flatten()
    return flat @ flat
