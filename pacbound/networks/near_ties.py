"""Which predictions are errors. Near ties count as errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor  # predictions in files are judged without torch

__all__ = ["TIE", "is_error"]

TIE = 1e-4  # logits this close, relative to the largest, are a near tie in float32


def is_error(logits: Tensor, labels: Tensor) -> Tensor:
    """Which rows are not certainly right.

    The label's logit must exceed every other by more than float32 rounding could add. Ties, near
    ties and NaN count as errors, so rounding never lowers the risk.
    """
    own = logits.gather(1, labels[:, None]).squeeze(1)
    others = logits.scatter(1, labels[:, None], -math.inf)
    margin = own - others.max(1).values
    return ~(margin > TIE * logits.abs().max(1).values)
