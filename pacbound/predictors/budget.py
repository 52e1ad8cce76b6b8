"""The allocation of the failure probability δ: to claims, and to the Monte Carlo limits of each.

The rule, fixed before anything is sampled or counted:

- A sampled KL takes a seventh of δ, once.
- Of the rest, the first claim gets a half and the others share the other half evenly; a single
  claim gets all of it.
- Which true classes and groups occur is known only from the sample. So each of these two families
  has a share that does not depend on it, and divides it evenly among those that occur: true classes
  have the share of all declared classes, groups have half of what the first claim leaves.
- A sampled predictor spends 2/7 of a claim's part on its Monte Carlo limit (1/6 with a sampled KL).

So δ = 0.035 is 0.025 + 0.01, or 0.025 + 0.005 + 0.005. Parts are rounded down to 3 digits, and the
remainder goes to the first claim: all shares are decimals that add up to δ exactly.

Why: given the labels and the groups, the examples of a class or group are independent draws, so
shares inside a family may depend on which ones occur. The share of any other claim may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal, InvalidOperation, localcontext

from pacbound.errors import SettingError

__all__ = ["ClaimShare", "Shares", "divide", "parse_delta"]


@dataclass(frozen=True)
class ClaimShare:
    """The shares of one claim: for the inequality, and for the Monte Carlo limit, if any."""

    delta: Decimal
    risk: Decimal | None


@dataclass(frozen=True)
class Shares:
    """Shares of δ, as exact decimals that add up to it."""

    claims: tuple[ClaimShare, ...]
    kl: Decimal | None

    @property
    def total(self) -> Decimal:
        """δ."""
        parts = [x for claim in self.claims for x in (claim.delta, claim.risk) if x is not None]
        with localcontext() as context:
            context.prec = 60
            return sum(parts, self.kl or Decimal(0))


def parse_delta(text: str) -> Decimal:
    """δ as the user wrote it, without conversion to a binary float."""
    try:
        delta = Decimal(text)
    except InvalidOperation as error:
        raise SettingError(f"delta must be a number between 0 and 0.5, not '{text}'") from error
    if not delta.is_finite() or not 0 < 2 * delta < 1:
        raise SettingError(f"delta must be above 0 and below 0.5, not {text}")
    if delta < Decimal("1e-15") or len(delta.as_tuple().digits) > 15:
        raise SettingError(f"delta must be at least 1e-15 and have at most 15 digits, not {text}")
    return delta


def divide(
    delta: Decimal, subjects: Sequence[str], classes: int, sampled: bool, sampled_kl: bool
) -> Shares:
    """The shares of the claims, by the rule above.

    Arguments:
        subjects: The subject of each claim.
        classes: The number of declared classes.
        sampled: Whether the empirical risks are Monte Carlo estimates.
        sampled_kl: Whether the KL is a Monte Carlo estimate too.
    """
    with localcontext() as context:
        context.prec = 60
        kl = _digits(delta / 7) if sampled_kl else None
        parts = _parts(delta - (kl or 0), subjects, classes)
        if not sampled:
            return Shares(tuple(ClaimShare(part, None) for part in parts), kl)
        shares = []
        for part in parts:
            risk = _digits(part / 6 if sampled_kl else 2 * part / 7)
            shares.append(ClaimShare(part - risk, risk))
        return Shares(tuple(shares), kl)


def _parts(total: Decimal, subjects: Sequence[str], classes: int) -> list[Decimal]:
    """The parts of the claims, which add up to the total."""
    by_class, by_group = subjects.count("true-class"), subjects.count("group")
    plain = len(subjects) - by_class - by_group
    if plain == len(subjects) == 1:
        return [total]
    left = _digits(total / 2) if plain else total  # what the first claim leaves
    others = max(plain - 1, 0) + (classes if by_class else 0)
    of_groups = (_digits(left / 2) if others else left) if by_group else Decimal(0)
    each = _digits((left - of_groups) / others) if others else Decimal(0)
    of_classes = each * classes if by_class else Decimal(0)
    if not plain and by_class:
        of_classes = total - of_groups
    parts = {
        "group": _evenly(of_groups, by_group),
        "true-class": _evenly(of_classes, by_class),
        "": [total - of_groups - of_classes - each * (plain - 1)] + [each] * (plain - 1),
    }
    queues = {name: iter(listed) for name, listed in parts.items()}
    return [next(queues.get(subject, queues[""])) for subject in subjects]


def _evenly(total: Decimal, count: int) -> list[Decimal]:
    """Even parts; the remainder of rounding goes to the first."""
    if not count:
        return []
    each = _digits(total / count)
    return [total - each * (count - 1)] + [each] * (count - 1)


def _digits(x: Decimal) -> Decimal:
    return Context(prec=3, rounding=ROUND_FLOOR).plus(x).normalize()
