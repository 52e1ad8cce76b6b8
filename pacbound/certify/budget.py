"""How the failure probability δ is spent."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext

from pacbound.errors import BadInput

__all__ = ["Shares", "parse_delta", "split", "undivided"]


@dataclass(frozen=True)
class Shares:
    """Shares of δ, as exact decimals that add up to it."""

    pac_bayes: Decimal
    risk: Decimal
    kl: Decimal


def parse_delta(text: str) -> Decimal:
    """δ as the user wrote it, without going through a binary float."""
    try:
        delta = Decimal(text)
    except InvalidOperation as error:
        raise BadInput(f"delta must be a number between 0 and 1, not '{text}'") from error
    if not delta.is_finite() or not 0 < delta < 1:
        raise BadInput(f"delta must be between 0 and 1, not {text}")
    if not Decimal("1e-50") < delta or len(delta.as_tuple().digits) > 15:
        raise BadInput(f"delta must be above 1e-50 and have at most 15 digits, not {text}")
    return delta


def undivided(delta: Decimal) -> Shares:
    """All of δ for the inequality, where nothing is sampled."""
    return Shares(pac_bayes=delta, risk=Decimal(0), kl=Decimal(0))


def split(delta: Decimal, exact_kl: bool) -> Shares:
    """The default split: 0.035 is 0.025 + 0.01, or 0.025 + 0.005 + 0.005 with a sampled KL.

    The split is fixed before anything is sampled.
    """
    with localcontext() as context:
        context.prec = 3
        seventh = +(delta / 7)
    risk, kl = (2 * seventh, Decimal(0)) if exact_kl else (seventh, seventh)
    with localcontext() as context:
        context.prec = 60
        return Shares(pac_bayes=delta - risk - kl, risk=risk, kl=kl)
