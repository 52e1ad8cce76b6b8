"""Claims of predictors with counted errors: one network on every counted example."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Claim
from pacbound.predictors.budget import ClaimShare
from pacbound.predictors.claims import Asked
from pacbound.predictors.judging import Judged

__all__ = ["counted_claims"]

Places = NDArray[np.int64]
# Whose members depend on the predictor, and which claims get the share of one without members.
HEIRS = {"predicted-class": "predicted-class", "answered": "all"}


def _members(claims: Sequence[Asked], judged: Judged) -> list[Places]:
    """The counted examples that each claim is about."""
    order = np.argsort(judged.classes, kind="stable")
    ends = np.searchsorted(judged.classes[order], np.arange(judged.count + 1))
    found = []
    for asked in claims:
        if asked.members is not None:
            found.append(asked.members)
        elif asked.class_ is not None:
            chosen = order[ends[asked.class_] : ends[asked.class_ + 1]]
            found.append(judged.rows[chosen])
        else:
            found.append(np.flatnonzero(judged.answered))
    return found


def _shares(
    claims: Sequence[Asked], shares: Sequence[ClaimShare], members: Sequence[Places]
) -> list[Decimal]:
    """The share of δ of each claim; 0 for one without members, which is not made.

    A class that is never predicted has no claim. The other predicted classes get its share. For one
    predictor, the members of each predicted class are independent draws given which examples
    belong to it, so the shares inside this family may depend on that. If nothing is answered, the
    claim on the rate of abstention gets the share: its bound is 1 at any level.
    """
    found = [share.delta for share in shares]
    present = [bool(len(each)) for each in members]
    for place, asked in enumerate(claims):
        if present[place]:
            continue
        heir = next(
            i
            for i, other in enumerate(claims)
            if present[i] and other.subject == HEIRS[asked.subject] and other.inherits
        )
        with localcontext() as context:
            context.prec = 60
            found[heir] += found[place]
        found[place] = Decimal(0)
    return found


def _counts(asked: Asked, members: Places, labels: Places, judged: Judged) -> dict[str, object]:
    """The errors or the total cost among the members of a claim."""
    if asked.loss == "abstention":
        return {"errors": int(judged.abstained[members].sum())}
    unclear = judged.unclear & (asked.subject == "answered")
    if asked.loss != "cost":
        return {"errors": int((judged.wrong | unclear)[members].sum())}
    costs = asked.costs or asked.example_costs
    assert costs is not None
    lost = np.where(unclear, costs.unit, costs.lost(judged, labels))
    return {"total": Decimal(int(lost[members].sum())) / costs.unit}


def counted_claims(
    claims: Sequence[Asked],
    shares: Sequence[ClaimShare],
    labels: Places,
    judged: Judged,
) -> tuple[Claim, ...]:
    """The claims with their counts; a claim about no example is not made."""
    members = _members(claims, judged)
    deltas = _shares(claims, shares, members)
    return tuple(
        asked.draft(len(own), delta, **_counts(asked, own, labels, judged))
        for asked, own, delta in zip(claims, members, deltas, strict=True)
        if len(own)
    )
