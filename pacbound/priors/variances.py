"""The prior's variances: on the grid at a price, or those of a learned prior."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeAlias

from pacbound.bounds.figures import decimal_up
from pacbound.bounds.prior_grid import best_index, variance
from pacbound.bounds.rounding import exact
from pacbound.certificate.format import Variance

__all__ = ["Fixed", "prior_variance", "prior_variances"]

LAST_INDEX = 10_000  # the last index on the grid

Fixed: TypeAlias = Sequence[float] | None  # a learned prior's variance of every group


class _Group(Protocol):
    """The layers that share a variance."""

    @property
    def layers(self) -> tuple[str, ...]: ...

    @property
    def parameters(self) -> int: ...


def prior_variances(
    groups: Sequence[_Group], moments: Sequence[Decimal], fixed: Fixed
) -> tuple[Variance, ...]:
    """The prior variances on the grid that minimise every group's divergence plus its cost.

    A learned prior's variances were fixed before the counted examples were seen. They are free.
    """
    found = []
    for number, group in enumerate(groups, 1):
        name = " ".join(group.layers).strip()
        if not name or len(name) > 200:
            name = f"group {number}"
        if fixed is not None:
            value = decimal_up(fixed[number - 1])
            found.append(Variance(name=name, parameters=group.parameters, by="given", value=value))
            continue
        index = min(best_index(float(moments[number - 1]), group.parameters), LAST_INDEX)
        found.append(Variance(name=name, parameters=group.parameters, by="grid", index=index))
    return tuple(found)


def prior_variance(place: Variance) -> Any:
    """λ itself, in `precise`."""
    return exact(place.value) if place.value is not None else variance(exact(place.index or 0))
