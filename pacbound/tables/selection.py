"""Which cells of a table are meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pacbound.errors import BadInput, unknown_name

__all__ = ["Selection", "chosen", "refuse_overrides"]


@dataclass(frozen=True)
class Selection:
    """Which cells of a table, and what is asked of each. Nothing chosen means all."""

    networks: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    posteriors: tuple[str, ...] = ()
    overrides: Mapping[str, Any] | None = None  # settings, for every cell
    sampling: Mapping[str, Any] | None = None  # draws, weights, samples


def chosen(kind: str, names: Sequence[str], valid: Iterable[str]) -> list[str]:
    """The names that were asked for, or all, in the table's own order."""
    valid = list(valid)
    for name in names:
        if name not in valid:
            raise unknown_name(kind, name, valid)
    return [name for name in valid if not names or name in names]


def refuse_overrides(overrides: Mapping[str, Any]) -> None:
    """Settings in which a table's cells differ are chosen, not set."""
    for name in ("posterior", "objective", "recipe"):
        if name in overrides:
            option = "network" if name == "recipe" else name
            raise BadInput(f"the table's cells differ in {name}; choose with --{option}")
