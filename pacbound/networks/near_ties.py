"""Which predictions are errors, with near ties among them."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["TIE", "is_error"]

TIE = 1e-4  # logits this close, relative to the largest, are too close to call in float32


def is_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Which rows are not surely right.

    The label's logit must beat every other by more than what float32 arithmetic could have
    added; a tie, a near tie and a NaN count as errors, so rounding never flatters the risk.
    """
    own = logits.gather(1, labels[:, None]).squeeze(1)
    others = logits.scatter(1, labels[:, None], -torch.inf)
    margin = own - others.max(1).values
    return ~(margin > TIE * logits.abs().max(1).values)
