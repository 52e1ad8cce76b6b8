"""The objective of one batch, as a module that several processes differentiate together."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn import functional

from pacbound.networks.share import Share
from pacbound.networks.stochastic import StochasticNetwork
from pacbound.products import products_in
from pacbound.seeds import Noise
from pacbound.training.objectives import Objective
from pacbound.training.prior_variance import PriorVariance
from pacbound.training.ranks import Ranks

__all__ = ["BatchObjective"]


class BatchObjective(nn.Module):
    """A bound at the surrogate risk of a batch and at the KL.

    A bound is not linear in risk and KL, so the mean of the processes' bounds is another function.
    Instead, risk and KL are averaged over the processes, and the bound is evaluated at the means.

    Arguments:
        ranks: The processes that share the batch.
        products: The number type of the network's matrix products and convolutions.
    """

    def __init__(
        self,
        network: StochasticNetwork,
        prior_variance: PriorVariance,
        objective: Objective,
        classes: int,
        ranks: Ranks,
        products: str = "float32",
    ) -> None:
        super().__init__()
        self.network, self.prior_variance, self.objective = network, prior_variance, objective
        self.nats_of_guessing = math.log(classes)
        self.ranks = ranks
        self.products = products

    def forward(
        self,
        inputs: Tensor,
        labels: Tensor,
        source: Noise | None,
        draws: int,
        share: Share,
        noise_share: Share | None,
    ) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """The objective to differentiate, and the surrogate risk, errors and KL of the whole batch.

        Arguments:
            inputs: The rows of this process.
            source: None in a warm start, which has no noise and no KL.
            draws: Weight draws, when examples share weights.
            share: The position of the rows in the batch.
            noise_share: Their position in the source's batch: the same if processes share the
                noise; None (the whole batch) if each process has its own.
        """
        with products_in(self.products, inputs.device):
            logits = self.network(inputs, source, draws, noise_share)
        logits = logits.to(inputs.dtype)
        surrogate = functional.cross_entropy(logits, labels) / self.nats_of_guessing
        errors = (logits.detach().argmax(1) != labels).sum().to(surrogate.dtype)
        if source is None:
            kl = nats = surrogate.new_zeros(())
        else:
            kl, union = self.prior_variance()
            nats = kl + union
        if not self.ranks.alone:
            # With this weight, the mean over the processes is the mean over the batch's examples.
            surrogate = surrogate * (self.ranks.count * share.rows / share.batch)
            errors = errors * self.ranks.count
            surrogate, nats, kl, errors = self.ranks.means([surrogate, nats, kl, errors])
        objective = surrogate if source is None else self.objective(surrogate, nats)
        return objective, (surrogate.detach(), errors, kl.detach())
