"""The allocation of the failure probability δ: to claims, and to the Monte Carlo limits of each.

The rule, fixed before anything is sampled or counted:

- A sampled KL takes a seventh of δ, once.
- Of the rest, the first claim gets a half and the others share the other half evenly; a single
  claim gets all of it.
- A sampled predictor spends 2/7 of a claim's part on its Monte Carlo limit (1/6 with a sampled KL).

So δ = 0.035 is 0.025 + 0.01, or 0.025 + 0.005 + 0.005. Parts are rounded down to 3 digits, and the
remainder goes to the first claim: all shares are decimals that add up to δ exactly.
"""

from __future__ import annotations

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


def divide(delta: Decimal, claims: int, sampled: bool, sampled_kl: bool) -> Shares:
    """The shares for a number of claims, by the rule above.

    Arguments:
        sampled: Whether the empirical risks are Monte Carlo estimates.
        sampled_kl: Whether the KL is a Monte Carlo estimate too.
    """
    with localcontext() as context:
        context.prec = 60
        kl = _digits(delta / 7) if sampled_kl else None
        rest = delta - (kl or 0)
        other = _digits(rest / 2 / (claims - 1)) if claims > 1 else Decimal(0)
        parts = [rest - other * (claims - 1)] + [other] * (claims - 1)
        if not sampled:
            return Shares(tuple(ClaimShare(part, None) for part in parts), kl)
        shares = []
        for part in parts:
            risk = _digits(part / 6 if sampled_kl else 2 * part / 7)
            shares.append(ClaimShare(part - risk, risk))
        return Shares(tuple(shares), kl)


def _digits(x: Decimal) -> Decimal:
    return Context(prec=3, rounding=ROUND_FLOOR).plus(x).normalize()
