"""What a posterior is measured against, and which examples a prior may learn from.

Each kind of prior has a file, with what it is, what it saw and how certificates put it in words.
"""

from __future__ import annotations

from pacbound.priors.base import PriorKind
from pacbound.priors.declared import Initialised, Learned
from pacbound.priors.registry import PRIORS, kind_of, prior_of, register

__all__ = ["PRIORS", "Initialised", "Learned", "PriorKind", "kind_of", "prior_of", "register"]
