"""Claims of predictors with counted errors: one network on every counted example."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Claim
from pacbound.predictors.budget import ClaimShare
from pacbound.predictors.claims import DECIMALS, Asked

__all__ = ["counted_claims"]

Booleans = NDArray[np.bool_]


def _members(asked: Asked, possible: Booleans) -> NDArray[np.int64]:
    if asked.members is not None:
        return asked.members
    return np.flatnonzero(possible[:, asked.class_])


def _present(
    claims: Sequence[Asked], shares: Sequence[ClaimShare], possible: Booleans
) -> list[tuple[Asked, ClaimShare]]:
    """The claims with at least one example, and their shares of δ.

    A class that is never predicted has no claim. The other predicted classes get its share. For one
    predictor, the members of each predicted class are independent draws given which examples
    belong to it, so the shares inside this family may depend on that.
    """
    pairs = list(zip(claims, shares, strict=True))
    found = [(asked, share) for asked, share in pairs if len(_members(asked, possible))]
    left = [share.delta for asked, share in pairs if not len(_members(asked, possible))]
    if not left:
        return found
    first = next(i for i, (asked, _) in enumerate(found) if asked.subject == "predicted-class")
    with localcontext() as context:
        context.prec = 60
        more = ClaimShare(sum(left, found[first][1].delta), None)
    found[first] = found[first][0], more
    return found


def counted_claims(
    claims: Sequence[Asked],
    shares: Sequence[ClaimShare],
    labels: NDArray[np.int64],
    wrong: Booleans,
    possible: Booleans,
) -> tuple[Claim, ...]:
    """The claims with their counts.

    Arguments:
        wrong: Which examples are not certainly right, (n,).
        possible: The classes that each example may be predicted as, (n, classes). There are several
            in a near tie, which counts as an error and as a member of every tied class.
    """
    drafts = []
    for asked, share in _present(claims, shares, possible):
        members = _members(asked, possible)
        if asked.costs is None:
            draft = asked.draft(len(members), share.delta, errors=int(wrong[members].sum()))
        else:
            costs = np.where(possible[members], asked.costs.units[labels[members]], 0).max(1)
            # If nothing is predicted: the largest cost of any class.
            nothing = ~possible[members].any(1)
            costs[nothing] = asked.costs.units[labels[members][nothing]].max(1)
            total = Decimal(int(costs.sum())).scaleb(-DECIMALS)
            draft = asked.draft(len(members), share.delta, total=total)
        drafts.append(draft)
    return tuple(drafts)
