"""KL to the prior in training, with the prior's variance trained or profiled out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pacbound.bounds.gaussian_kl import gaussian_kl
from pacbound.bounds.gaussian_tail import second_moment_limit
from pacbound.bounds.prior_grid import B, C, index_cost
from pacbound.flows import EstimatedNorm
from pacbound.networks.stochastic import StochasticNetwork

__all__ = ["PriorVariance", "Tail"]

LARGEST = math.log(C) - 1 / B  # log λ_1, the largest variance on the grid


@dataclass(frozen=True)
class Tail:
    """The Monte Carlo KL that the certificate will use, as predicted in training."""

    samples: int
    delta: float


class PriorVariance(nn.Module):
    """KL(q‖p) and the price of the prior's variance, differentiable.

    For a posterior that is not Gaussian, the second moment is the certificate's upper limit of it.
    Its tail grows with the Lipschitz constant, so training keeps that constant small.

    Arguments:
        network: The stochastic network.
        center: The prior's centre, by parameter name.
        grouping: "layer" or "network": the layers that share one variance.
        mode: "profiled": λ = T/d, which minimises the KL; "trained", from the mean square of the
            posterior's initial scales; or "fixed", off the grid.
        fixed: λ if it is fixed: one for all groups, or one for each.
        tail: How the certificate will sample the KL; None to omit its allowance.
    """

    def __init__(
        self,
        network: StochasticNetwork,
        center: dict[str, Tensor],
        grouping: str,
        mode: str,
        tail: Tail | None,
        fixed: Sequence[float] = (1.0,),
    ) -> None:
        super().__init__()
        posteriors = list(network.posteriors(center))
        groups = network.variance_groups(grouping)
        self._groups = [
            [(q, part) for name, q, part in posteriors if name in layers] for layers in groups
        ]
        self.sizes = [sum(q.dimensions for q, _ in group) for group in self._groups]
        self.log_variance: nn.Parameter | None = None
        each = [*fixed] * (len(groups) if len(fixed) == 1 else 1)
        self._fixed = [math.log(value) for value in each] if mode == "fixed" else None
        if mode == "trained":
            squares = {name: scale**2 for name, scale in network.scales.items()}
            starts = [sum(squares[name] for name in names) / len(names) for names in groups]
            self.log_variance = nn.Parameter(torch.tensor(starts).log())
        self._tail = tail
        self._norms = [[EstimatedNorm() for _ in group] for group in self._groups]

    def move_center(self, like: Tensor) -> None:
        """Move the prior's centre to the device and type of the posterior's parameters."""
        self._groups = [[(q, part.to(like)) for q, part in group] for group in self._groups]

    def second_moments(self) -> list[Tensor]:
        """T = E‖W − Θ0‖² of every group, or the certificate's upper limit of it."""
        moments = [
            torch.stack([q.second_moment(center) for q, center in group]).sum()
            for group in self._groups
        ]
        if self._tail is None:
            return moments
        share = self._tail.delta / len(self._groups)
        return [
            moment if L is None else second_moment_limit(moment, L, self._tail.samples, share)
            for moment, L in zip(moments, self.lipschitz(), strict=True)
        ]

    def lipschitz(self) -> list[Tensor | None]:
        """The estimated Lipschitz constant of every group; None for a Gaussian group."""
        constants: list[Tensor | None] = []
        for group, norms in zip(self._groups, self._norms, strict=True):
            if all(q.is_gaussian for q, _ in group):
                constants.append(None)
            else:
                each = [norm.of(q.lipschitz) for (q, _), norm in zip(group, norms, strict=True)]
                constants.append(torch.stack(each).max())
        return constants

    def log_variances(self, second_moments: Sequence[Tensor]) -> list[Tensor]:
        """log λ of every group, no larger than the grid allows."""
        if self._fixed is not None:
            pairs = zip(second_moments, self._fixed, strict=True)
            return [torch.full_like(moment, value) for moment, value in pairs]
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
        if self._fixed is not None:  # no variance was chosen
            return kl, torch.zeros(())
        # λ is at most λ_1; the clamp removes rounding of its logarithm.
        indices = [(B * (math.log(C) - value)).clamp(min=1) for value in log_variances]
        return kl, torch.stack([index_cost(index) for index in indices]).sum()

    def get_extra_state(self) -> Any:
        """The singular vectors used to estimate Lipschitz constants."""
        return [[norm.state_dict() for norm in norms] for norms in self._norms]

    def set_extra_state(self, state: Any) -> None:
        lists = isinstance(state, list) and all(isinstance(saved, list) for saved in state)
        if not lists or [len(saved) for saved in state] != [len(norms) for norms in self._norms]:
            raise ValueError("its singular vectors are of other groups")
        for norms, saved in zip(self._norms, state, strict=True):
            for norm, vectors in zip(norms, saved, strict=True):
                norm.load_state_dict(vectors)
