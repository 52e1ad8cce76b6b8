"""A certificate in five lines, and its figures as people read them."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import TYPE_CHECKING

from pacbound.printable import printable

if TYPE_CHECKING:
    from pacbound.certificate.format import Certificate

__all__ = ["confidence", "in_five_lines", "percent"]


def percent(rate: Decimal) -> str:
    """A rate in per cent, rounded up to 2 decimals, or to 6 if it is below 0.1 %."""
    places = Decimal("0.01") if rate >= Decimal("0.001") else Decimal("0.000001")
    return format((100 * rate).quantize(places, rounding=ROUND_CEILING), "f")


def confidence(delta: Decimal) -> str:
    """1 − δ in per cent, rounded down to 6 decimals."""
    with localcontext() as context:
        context.prec = 60
        failing = (100 * delta).quantize(Decimal("0.000001"), rounding=ROUND_CEILING)
        shown = format(100 - failing, "f")
    return shown.rstrip("0").rstrip(".")


def in_five_lines(certificate: Certificate) -> str:
    """What a file claims, about what, and what was paid for. The checker says whether it holds."""
    return "\n    ".join(map(printable, _lines(certificate)))


def _lines(certificate: Certificate) -> Iterator[str]:
    data, model, ledger = certificate.data, certificate.model, certificate.ledger
    errors = [claim for claim in certificate.claims if claim.loss != "abstention"]
    claim = certificate.overall or [*errors, *certificate.claims][0]
    what = {"zero-one": "an error", "abstention": "abstention", "cost": f"a cost “{claim.cost}”"}
    scope = "" if claim.subject == "all" else f" ({claim.scope})"
    others = len(certificate.claims) - 1
    more = f"; {others} more claim{'s' if others > 1 else ''}" if others else ""
    yield (
        f"Certificate of {what[claim.loss]}{scope} of at most {percent(claim.bound)} %, with "
        f"probability at least {confidence(certificate.delta)} %{more}"
    )
    yield f"predictor: {certificate.predictor}, by the inequality {certificate.bound.inequality}"
    yield f"data: {data.name}, {data.m} of {data.examples} examples counted"
    parts = [model.source, model.recipe, model.posterior]
    weights = [] if model.parameters is None else [f"{model.parameters} weights"]
    yield f"model: {', '.join([part for part in parts if part] + weights)}"
    made = ledger.certificates
    counted = "certificates" if made.counted == "declared" else "certificate number"
    yield (
        f"prior: {certificate.prior.kind}; paid for: candidates {ledger.candidates}, looks "
        f"{ledger.looks}, {counted} {made.number}"
    )
