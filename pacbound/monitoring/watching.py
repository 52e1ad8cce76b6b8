"""Which claims of a certificate are watched, and the losses that they bet on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pacbound.certificate.format import Certificate, Claim
from pacbound.errors import DataError, SettingError, by_caller, unknown_name
from pacbound.monitoring.outcomes import NONE, Outcomes, group_numbers, with_error
from pacbound.monitoring.sequential import SCALE

__all__ = ["FAMILIES", "Bets", "bets", "family", "missing_columns", "watched"]

FAMILIES = ("overall", "per-class", "predicted-class", "groups", "answered", "cost")

# The column that tells the members of a subject, and the value of a claim's members in it.
_MEMBERS: dict[str, tuple[str, Callable[[Claim, Certificate], int]]] = {
    "answered": ("answered", lambda claim, certificate: 1),
    "true-class": ("label", lambda claim, certificate: claim.class_ or 0),
    "predicted-class": ("prediction", lambda claim, certificate: claim.class_ or 0),
    "group": ("group", lambda claim, certificate: group_numbers(certificate)[claim.group or ""]),
}


@dataclass(frozen=True, eq=False)
class Bets:
    """The losses of a claim's members, in units of 1/SCALE, and their rows, from 0."""

    rows: NDArray[np.int64]
    losses: NDArray[np.int64]


def family(claim: Claim) -> str:
    """The name under which users select a claim."""
    if claim.loss == "cost":
        return "cost"
    if claim.loss == "abstention":
        return "answered"
    subjects = ("all", "true-class", "predicted-class", "group", "answered")
    return FAMILIES[subjects.index(claim.subject)]


def missing_columns(claim: Claim, columns: Collection[str]) -> list[str]:
    """The columns that a claim needs, and that are not among these."""
    known = with_error(columns)
    losses = {"zero-one": "error", "abstention": "answered"}
    loss = losses.get(claim.loss) or ("cost" if "cost" in known else f"cost:{claim.cost}")
    members = {_MEMBERS[claim.subject][0]} if claim.subject in _MEMBERS else set()
    return sorted(({loss} | members) - known)


def watched(
    certificate: Certificate, outcomes: Outcomes, families: Sequence[str] | None
) -> tuple[list[Claim], dict[str, str]]:
    """The claims to watch, and why others are not.

    A bound of 1 cannot be refuted. Without `families`, claims whose columns are missing are left
    out; with them, a missing column is an error.
    """
    for name in families or ():
        if name not in FAMILIES:
            raise unknown_name("claim", name, FAMILIES)
    chosen: list[Claim] = []
    left: dict[str, str] = {}
    has_one_cost = len({claim.cost for claim in certificate.claims} - {None}) == 1
    for claim in certificate.claims:
        missing = missing_columns(claim, outcomes.columns)
        if families is not None and family(claim) not in families:
            left[family(claim)] = "not selected"
        elif claim.bound >= 1:
            left.setdefault(f"{claim.loss}, {claim.scope}", "a bound of 1 cannot be refuted")
        elif missing:
            # The reader of outcomes knows the column of a single cost by this name alone.
            names = ["cost" if has_one_cost and "cost:" in name else name for name in missing]
            if "error" in names and "label" in outcomes.columns:
                names.insert(names.index("error"), "prediction")
            lacks = f"no column {' or '.join(names)}"
            if families is not None:
                raise DataError(f"{outcomes.where}: {lacks}, which the claim {family(claim)} needs")
            left[family(claim)] = lacks
        else:
            chosen.append(claim)
    for name in families or ():
        if not any(family(claim) == name for claim in certificate.claims):
            raise SettingError(f"the certificate makes no claim of the kind {name}")
    if not chosen:
        why = "; ".join(f"{name}: {reason}" for name, reason in left.items())
        raise DataError(f"{outcomes.where}: no claim can be watched ({why})")
    return chosen, left


def bets(
    claim: Claim, certificate: Certificate, outcomes: Outcomes, start: int, before: int
) -> Bets:
    """What a claim bets on, from the row `start` of the outcomes on.

    Arguments:
        before: How many rows the stream had before that one.
    """
    losses = _losses(claim, outcomes)[start:]
    rows = np.arange(before, before + len(losses))
    if claim.subject in _MEMBERS:
        column, member = _MEMBERS[claim.subject]
        values = outcomes.columns[column][start:]
        if column == "prediction":
            _refuse_unknown(values, rows, "prediction", claim, outcomes)
        members = values == member(claim, certificate)
        rows, losses = rows[members], losses[members]
    _refuse_unknown(losses, rows, "error", claim, outcomes)
    return Bets(rows, losses)


def _refuse_unknown(
    values: NDArray[np.int64],
    rows: NDArray[np.int64],
    name: str,
    claim: Claim,
    outcomes: Outcomes,
) -> None:
    """Rows that are left out because they were not answered would be a selection."""
    if (values == NONE).any():
        row = int(rows[np.argmax(values == NONE)])
        raise DataError(
            f"{outcomes.where}, outcome {row + 1} has no {name}, which the claim {family(claim)} "
            "needs also where the predictor does not answer; give it, or watch "
            + by_caller("--claims answered", 'claims=["answered"]')
        )


def _losses(claim: Claim, outcomes: Outcomes) -> NDArray[np.int64]:
    """The loss of every row in units of 1/SCALE; negative where it is not known."""
    if claim.loss == "cost":
        name = "cost" if "cost" in outcomes.columns else f"cost:{claim.cost}"
        return outcomes.columns[name]
    if claim.loss == "abstention":
        return (1 - outcomes.columns["answered"]) * SCALE
    return np.where(outcomes.errors == NONE, NONE, outcomes.errors * SCALE)
