"""The result of a minimisation over a family of posteriors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from pacbound.posteriors import Posterior, posterior_named

__all__ = ["Fit"]


@dataclass(frozen=True, eq=False)
class Fit:
    """The best posterior found in a family, for each target.

    The mean is not included: all targets are centred at zero, and so is the best posterior.
    """

    family: str
    shape: tuple[int, ...]
    kl: Tensor  # (trials,), KL(q‖p) in nats
    converged: Tensor  # (trials,), whether it is a strict local minimum
    parameters: Mapping[str, Tensor]  # (trials, …), named as in the posterior's module

    def posterior(self, trial: int) -> Posterior:
        """The posterior of one trial, as the module that networks are trained with."""
        center = torch.zeros(self.shape, dtype=torch.float64)
        posterior = posterior_named(self.family)(center, 1.0).double()
        values = {name: value[trial] for name, value in self.parameters.items()}
        posterior.load_state_dict({"mean": center, **values})
        return posterior
