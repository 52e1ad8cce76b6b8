"""The threshold of a predictor that abstains: it answers where its confidence is above it.

It is given, or chosen on examples that the certificate does not count: `auto:0.01` is the lowest
threshold whose error among the answered of those examples is at most 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import SettingError

if TYPE_CHECKING:
    from pacbound.data import Dataset
    from pacbound.priors.split import Split
    from pacbound.training.checkpoints import Checkpoint
    from pacbound.training.problem import Problem

__all__ = ["Threshold", "chosen_threshold", "parse_threshold", "prior_threshold"]

AUTO = "auto:"
PLACES = 6  # decimals of a threshold that is chosen


@dataclass(frozen=True)
class Threshold:
    """A request: the threshold itself, or the error that it may have among the answered."""

    given: str = ""
    error: Decimal | None = None

    def __bool__(self) -> bool:
        return bool(self.given) or self.error is not None


def parse_threshold(text: str | float | None) -> Threshold:
    """The request of a threshold: a number inside (0, 1), or `auto:ERROR`; none if empty."""
    written = "" if text is None else str(text).strip()
    if not written:
        return Threshold()
    if written.startswith(AUTO):
        return Threshold(error=_between(written.removeprefix(AUTO), "the error of auto:ERROR"))
    return Threshold(given=format(_between(written, "a threshold of the confidence"), "f"))


def _between(text: str, what: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("nan")
    if not value.is_finite() or not 0 < value < 1:
        raise SettingError(f"{what} must be above 0 and below 1, not '{text:.40}'")
    if len(value.as_tuple().digits) > 15 or value < Decimal("1e-12"):
        raise SettingError(f"{what} must have at most 15 digits and be at least 1e-12")
    return value


def chosen_threshold(
    high: NDArray[np.float64], wrong: NDArray[np.bool_], error: Decimal, where: str
) -> str:
    """The lowest threshold with at most this error among the answered examples.

    Arguments:
        high: The highest confidence of each example that rounding allows, (n,).
        wrong: Which examples are errors, (n,).
        where: The examples, for the error message.
    """
    order = np.argsort(-high, kind="stable")
    falling, errors = -high[order], np.cumsum(wrong[order])
    units = np.clip(np.ceil(high * 10**PLACES), 1, 10**PLACES - 1).astype(np.int64)
    candidates = np.unique(np.append(units, 1))
    answered = np.searchsorted(falling, -candidates / 10**PLACES, side="left")
    for unit, count in zip(candidates.tolist(), answered.tolist(), strict=True):
        if count and int(errors[count - 1]) <= error * count:
            return format(Decimal(unit).scaleb(-PLACES), "f")
    raise SettingError(
        f"no threshold has an error of at most {error} among the answered of {where}: "
        "allow a larger error"
    )


def prior_threshold(
    request: Threshold, checkpoint: Checkpoint, problem: Problem, split: Split, data: Dataset
) -> str:
    """The threshold of a request for a checkpoint; empty if there is none.

    It is chosen by the prior's centre on the validation examples of the prior's part, or on the
    whole part if there are none. So it does not depend on any counted example, also if the
    certificate is of a network that was drawn from the posterior.
    """
    if request.error is None:
        return request.given
    from pacbound.networks.values import take_values
    from pacbound.predictors.risk import outputs_of
    from pacbound.training.networks import network_inputs

    learned = checkpoint.learned_prior
    if learned is None:
        raise SettingError(
            "a threshold can be chosen on the part of a learned prior; this prior did not learn: "
            "give a number, fixed without these examples"
        )
    part = split.learned_data(data)
    count = learned.validation[0] or part.m  # the last of the part are held out
    labels = part.train_labels[-count:]
    take_values(problem.plain, problem.center)
    outputs = outputs_of(
        problem.plain, network_inputs(checkpoint.settings, part.train_inputs[-count:])
    )
    where = f"the {count} examples of the prior's part"
    return chosen_threshold(
        outputs.confidence_range()[1], outputs.judged(labels).wrong, request.error, where
    )
