"""What a monitor found, in words and figures for people to read."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal

from pacbound.monitoring import Monitored, WatchedClaim
from pacbound.report.amounts import percent_up
from pacbound.report.explanation import claim_line

__all__ = ["claim_name", "conclusion", "evidence", "paths", "percent_down", "progress"]


def evidence(log_evidence: float) -> str:
    """An evidence value with two digits, rounded down.

    Example:
        >>> evidence(math.log(12.39)), evidence(0.0), evidence(-3.0), evidence(900.0)
        ('12', '1.0', '0.049', '10^390')
    """
    power = log_evidence / math.log(10)
    if abs(power) >= 6:
        return f"10^{math.floor(power)}"
    places = max(1 - math.floor(power), 0)
    value = math.exp(log_evidence)
    down = Decimal(value).quantize(Decimal(1).scaleb(-places), ROUND_FLOOR)
    return f"{down:f}"


def percent_down(rate: Decimal) -> str:
    """Per cent, rounded down: a lower limit is never shown larger than it is.

    Example:
        >>> percent_down(Decimal("0.02259")), percent_down(Decimal("0.0000051"))
        ('2.25', '0.000510')
    """
    places = 6 if 0 < rate < Decimal("0.001") else 2
    return f"{(100 * rate).quantize(Decimal(1).scaleb(-places), ROUND_FLOOR):f}"


def claim_name(each: WatchedClaim) -> str:
    """What a claim is about, in a few words."""
    line = claim_line(each.claim)
    return f"{line.loss}, {line.subject}"


def progress(each: WatchedClaim) -> float:
    """How far the evidence is on the way to an alarm, from 0 to 1, on a logarithmic scale."""
    if each.refuted_at is not None:
        return 1.0
    return min(max(each.log_evidence / math.log(1 / each.share), 0.0), 1.0)


def paths(result: Monitored, each: WatchedClaim) -> list[tuple[int, float]]:
    """The evidence of a claim over the stream: outcomes, and log10 of the evidence."""
    kept = zip(result.points, each.history, strict=True)
    found = [(0, 0.0), *((row, point.log_evidence) for row, point in kept)]
    if found[-1][0] < result.rows:
        found.append((result.rows, each.log_evidence))
    return [(row, value / math.log(10)) for row, value in found]


def conclusion(result: Monitored) -> list[str]:
    """One line for each refuted claim, or one that says that there is none."""
    number = len(result.claims)
    among = f"alpha {result.alpha}" + (f", divided among {number} claims" if number > 1 else "")
    refuted = [
        f"REFUTED at outcome {each.refuted_at}: {claim_name(each)}: the bound of "
        f"{percent_up(each.claim.bound)} % does not hold for this stream ({among})"
        for each in sorted(result.claims, key=lambda each: each.refuted_at or 0)
        if each.refuted_at is not None
    ]
    return refuted or [f"No claim is refuted after {result.rows} outcomes ({among})."]
