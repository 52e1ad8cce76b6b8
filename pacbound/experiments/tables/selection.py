"""The selection of a table's cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pacbound.errors import SettingError, unknown_name

__all__ = ["BANDITS_ONLY", "KEEL_ONLY", "Selection", "chosen", "refuse_overrides"]

BANDITS_ONLY = ("problem", "agent", "seeds", "first_seed", "steps")
KEEL_ONLY = ("place",)


@dataclass(frozen=True)
class Selection:
    """The selected cells and their options. An empty selection means all."""

    networks: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    posteriors: tuple[str, ...] = ()
    overrides: Mapping[str, Any] | None = None  # settings for every cell
    sampling: Mapping[str, Any] | None = None  # draws, weights, samples, place
    problems: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    playing: Mapping[str, int] | None = None  # seeds, first_seed, steps

    def refuse(self, *options: str) -> None:
        """PacboundError for selected options that the table does not have."""
        given = {
            "network": self.networks,
            "objective": self.objectives,
            "posterior": self.posteriors,
            "problem": self.problems,
            "agent": self.agents,
            **dict.fromkeys((*(self.sampling or {}), *(self.playing or {})), True),
        }
        for option in options:
            if given.get(option):
                raise SettingError(f"this table has no --{option.replace('_', '-')}")


def chosen(kind: str, names: Sequence[str], valid: Iterable[str]) -> list[str]:
    """The requested names, or all, in the table's order."""
    valid = list(valid)
    for name in names:
        if name not in valid:
            raise unknown_name(kind, name, valid)
    return [name for name in valid if not names or name in names]


def refuse_overrides(overrides: Mapping[str, Any]) -> None:
    """Refuse overrides of settings that distinguish the cells: they are selected, not set."""
    for name in ("posterior", "objective", "recipe"):
        if name in overrides:
            option = "network" if name == "recipe" else name
            raise SettingError(f"the table's cells differ in {name}; choose with --{option}")
