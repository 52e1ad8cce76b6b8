"""Batch normalisation over a batch that is split between several processes."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

__all__ = ["join_batch_norms"]


class _JointBatchNorm(nn.BatchNorm2d):
    """The mean and variance of the whole batch, differentiated through all processes.

    torch's SyncBatchNorm does the same, but only on GPUs.
    """

    def forward(self, input: Tensor) -> Tensor:
        if not self.training:
            return super().forward(input)
        here = torch.full((), input.numel() // input.shape[1], device=input.device)
        dist.all_reduce(here)
        count = int(here)
        mean = _total(input.sum((0, 2, 3))) / count  # (channels,)
        centered = input - mean[:, None, None]
        # From the centred values: E x² − (E x)² would cancel.
        variance = _total(centered.square().sum((0, 2, 3))) / count
        self._remember(mean.detach(), variance.detach() * (count / max(count - 1, 1)))
        return centered * (variance + self.eps).rsqrt()[:, None, None]

    @torch.no_grad()
    def _remember(self, mean: Tensor, variance: Tensor) -> None:
        assert self.running_mean is not None and self.running_var is not None
        assert self.num_batches_tracked is not None and self.momentum is not None
        self.num_batches_tracked.add_(1)
        self.running_mean.lerp_(mean.to(self.running_mean), self.momentum)
        self.running_var.lerp_(variance.to(self.running_var), self.momentum)


class _Total(torch.autograd.Function):
    """The sum over all processes. Each process's use of it adds to the gradient of every term."""

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].clone()
        dist.all_reduce(total)
        return total


def _total(values: Tensor) -> Tensor:
    total: Tensor = _Total.apply(values)  # type: ignore[no-untyped-call]
    return total


def join_batch_norms(network: nn.Module) -> None:
    """Replace every batch normalisation of the network, all without weights, by a joint one."""
    for layer in network.modules():
        if type(layer) is nn.BatchNorm2d and not layer.affine:
            layer.__class__ = _JointBatchNorm
