"""What the propensities of a log say about its policy, and whether its actions can be true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pacbound.errors import DataError, SettingError
from pacbound.experiments.bandit.logged.limits import mean_lower_limit
from pacbound.experiments.bandit.logged.log import Log

__all__ = ["refuse_wrong_propensities", "smallest_propensity"]

ROUNDING = 1e-9  # of sums and products
DECIMALS = 2e-3  # the relative rounding of chances that were written as 0.333 or 0.167
REFUSED = 1e-3  # the probability that a right log is refused


def smallest_propensity(log: Log, declared: float | None) -> float | None:
    """The declared one, or that of a log with uniform choices; None if nobody knows.

    Chances of all arms sum to 1, so the declared one is at most 1/arms, and no arm has more than
    what that leaves to it. A log that shows more refutes the declaration.
    """
    uniform, found = 1 / log.arms, log.propensities
    if declared is None:
        alike = np.allclose(found, uniform, rtol=DECIMALS, atol=0)
        return float(min(uniform, found.min())) if alike else None
    if declared > uniform * (1 + ROUNDING):
        raise SettingError(
            f"--min-propensity cannot be {declared:g}: one of {log.arms} arms has {uniform:g} or "
            "less"
        )
    row = int(found.argmin())
    if found[row] < declared * (1 - ROUNDING):
        raise DataError(
            f"{log.name}, example {row + 1}: the propensity {found[row]:g} is below the smallest "
            f"one of --min-propensity, {declared:g}"
        )
    row, others = int(found.argmax()), (log.arms - 1) * declared
    if 1 - found[row] < others * (1 - DECIMALS):
        raise DataError(
            f"{log.name}, example {row + 1}: with the propensity {found[row]:g} another arm had "
            f"less than the {declared:g} of --min-propensity"
        )
    return float(min(declared, found.min()))


def refuse_wrong_propensities(log: Log, least: float | None) -> None:
    """DataError if an arm was chosen more or less often than its propensities allow.

    The mean of 1{a = k}/p is 1 for an arm k that can be chosen in every context, and less for
    others, also while the logging policy learns. So a lower limit above 1 refutes the propensities,
    and so does an upper limit below 1 if every arm has some smallest propensity.
    """
    delta = REFUSED / (2 * log.arms)
    for arm, name in enumerate(log.names):
        chosen: NDArray[np.float64] = np.where(log.actions == arm, 1 / log.propensities, 0.0)
        often = mean_lower_limit(chosen, 0.0, delta) > 1
        seldom = least is not None and _mean_below_1(chosen, 1 / least, delta)
        if often or seldom:
            raise DataError(
                f"{log.name}: arm {name} was chosen too {'often' if often else 'seldom'} for the "
                f"propensities: one over them, summed over its rows, is {chosen.sum():.4g}, which "
                f"should be near the {len(log)} of all rows; give the probability with which "
                "each action was chosen"
            )


def _mean_below_1(terms: NDArray[np.float64], most: float, delta: float) -> bool:
    """Whether an upper limit of the mean is below 1; no term is above `most`."""
    return mean_lower_limit(most - terms, 0.0, delta) > most - 1
