"""The priors, and which examples a prior may learn from.

Each kind of prior has a file: what it is, what data it saw, and its wording in certificates.
"""

from __future__ import annotations

from pacbound.priors.base import PriorKind
from pacbound.priors.declared import Elsewhere, Initialised, Learned, elsewhere
from pacbound.priors.registry import PRIORS, kind_of, prior_of, register

__all__ = [
    "PRIORS",
    "Elsewhere",
    "Initialised",
    "Learned",
    "PriorKind",
    "elsewhere",
    "kind_of",
    "prior_of",
    "register",
]
