"""The priors, and which examples a prior may learn from.

Each kind of prior has a file: what it is, what data it saw, and its wording in certificates.
"""

from __future__ import annotations

from pacbound.priors.base import PriorKind
from pacbound.priors.declared import Initialised, Learned
from pacbound.priors.registry import PRIORS, kind_of, prior_of, register

__all__ = ["PRIORS", "Initialised", "Learned", "PriorKind", "kind_of", "prior_of", "register"]
